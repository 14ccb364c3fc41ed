"""A server that is killed at any moment loses nothing that was acknowledged. Replay 2.11; product, Durable turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.faults.campaign import CONVERSATIONS, Campaign
from tests.faults.site import DoomedSite
from tests.faults.talk import PAD, THOUGHT

pytestmark = pytest.mark.slow

SEED = 20261
KILLS = 3


@pytest.fixture
def model() -> Iterator[ContractHandle]:
    with running_contract_server() as handle:
        yield handle


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path, model: ContractHandle) -> None:
    site = DoomedSite(tmp_path, conversations=CONVERSATIONS, OPENAI_BASE_URL=model.base_url)
    try:
        tally = Campaign(site, model, SEED).run(KILLS)
        site.audit(PAD, THOUGHT)
    finally:
        site.stop()

    assert tally.kills == KILLS
    assert tally.interrupted > 0
