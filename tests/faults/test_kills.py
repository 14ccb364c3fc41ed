"""A server that is killed at any moment loses nothing that was acknowledged."""

import asyncio
import os

import aiohttp
import pytest

from replay_contract_server.fixture import running_contract_server
from tests.browser.upstream import calls, opening, reply, says
from tests.faults.campaign import CONVERSATIONS, FAST_LEASES, KillCampaign
from tests.faults.questions import Question
from tests.faults.site import DoomedSite
from tests.faults.visitor import Visitor
from tests.server import empty_database, manage

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


async def test_call_that_waits_when_its_server_is_killed_waits_on_as_soon_as_it_is_back(tmp_path, model):
    """A lease of an hour would otherwise have to expire first."""
    leases = {"LEASE_EXPIRY_S": "3600", "LEASE_HEARTBEAT_S": "1"}
    own = {"OPENAI_BASE_URL": model.base_url, "TOOLS_REQUIRING_APPROVAL": "readPassage", **leases}
    site = DoomedSite(tmp_path, conversations=1, **own)
    question = Question("x", site.conversations[0])
    model.script([reply(calls("readPassage", '{"url": "/filings/none/#x"}')), reply(says(opening(), "It was read."))])
    site.start()
    token = manage(site.environment, "create_token", "alice").split()[-1]
    async with Visitor(site, [question.conversation_id]) as visitor:
        await visitor.send(question)
        await visitor.until_sees("data-approval")
        site.kill()
    await asyncio.to_thread(site.start)
    try:
        [(call, digest)] = site.rows("SELECT waiting_call, waiting_digest FROM chat_turn WHERE status = 'running'")
        url = f"{site.base_url}/api/chats/{question.conversation_id}/approvals/{call}/"
        headers = {"Authorization": f"Bearer {token}"}
        async with Visitor(site, [question.conversation_id]) as visitor, aiohttp.ClientSession(headers=headers) as http:
            async with http.post(url, json={"decision": "allow", "digest": digest}) as answer:
                assert answer.status == 204
            await visitor.until_sees("It was read.")
    finally:
        site.stop()
