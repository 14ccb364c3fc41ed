"""A server that is killed at any moment loses nothing that was acknowledged."""

import os

import pytest

from replay_contract_server.fixture import running_contract_server
from tests.faults.campaign import CONVERSATIONS, FAST_LEASES, KillCampaign
from tests.faults.site import DoomedSite
from tests.server import empty_database

pytestmark = pytest.mark.slow


@pytest.fixture
def model():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
def database_url():
    with empty_database("faults") as url:
        yield url


def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path, model):
    site = DoomedSite(tmp_path, conversations=CONVERSATIONS, OPENAI_BASE_URL=model.base_url)
    campaign = KillCampaign([site], model, seed=20261)

    campaign.run(kills=3)

    assert campaign.interrupted > 0


@pytest.mark.postgres
def test_nothing_acknowledged_is_lost_to_a_kill_over_postgres(tmp_path, model, database_url):
    own = {"database_url": database_url, "OPENAI_BASE_URL": model.base_url}
    campaign = KillCampaign([DoomedSite(tmp_path, conversations=CONVERSATIONS, **own)], model, seed=20262)

    campaign.run(kills=2)

    assert campaign.interrupted > 0


@pytest.mark.postgres
@pytest.mark.redis
def test_nothing_acknowledged_is_lost_where_one_of_two_processes_is_killed(tmp_path, model, database_url):
    own = {"OPENAI_BASE_URL": model.base_url, "REDIS_URL": os.environ["TEST_REDIS_URL"], **FAST_LEASES}
    site = DoomedSite(tmp_path, conversations=CONVERSATIONS, database_url=database_url, **own)
    # Leases depend on the database's clock, not on that of a server.
    campaign = KillCampaign([site, site.second(tmp_path / "second", clock_ahead_s=600)], model, seed=20263)

    campaign.run(kills=3)

    assert campaign.interrupted > 0
