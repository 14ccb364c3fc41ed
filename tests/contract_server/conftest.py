"""One server for all self tests, empty at the start of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract_server.fixture import ContractHandle, running_contract_server


@pytest.fixture(scope="module")
def _running() -> Iterator[ContractHandle]:
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
def upstream(_running: ContractHandle) -> ContractHandle:
    _running.reset()
    return _running
