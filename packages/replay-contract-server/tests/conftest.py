"""One server for all self tests, empty at the start of each."""

import pytest

from replay_contract_server.fixture import running_contract_server


@pytest.fixture(scope="module")
def _running():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
def upstream(_running):
    _running.reset()
    return _running
