"""A server that is asked to end sends every page and every script the end of its turn."""

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from replay_contract_server.fixture import ContractHandle, running_contract_server
from tests.browser.upstream import opening, reply, says, waits
from tests.faults.campaign import until
from tests.faults.questions import Question
from tests.faults.site import DoomedSite
from tests.faults.visitor import Visitor
from tests.server import manage

pytestmark = pytest.mark.slow  # the server gives running turns 10 s
SERVICE_RESTART = 1012
PAGES = 3


@pytest.fixture
def model():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
def site(tmp_path, model):
    site = DoomedSite(tmp_path, conversations=3, OPENAI_BASE_URL=model.base_url)
    site.start()
    yield site
    site.stop()


def script(model: ContractHandle, *questions: Question) -> None:
    """Answer each with a text that is held in its middle."""
    model.script(
        [
            reply(
                says(opening(), f"Started with {one.name}, and there is more of it in here.\n\n"),
                waits(one.name),
                says("And done."),
                match={"last_user_contains": one.text},
            )
            for one in questions
        ]
    )


async def post(site: DoomedSite, question: Question, token: str) -> dict[str, Any]:
    """Ask over the API; return the envelope."""
    url = f"{site.base_url}/api/chats/{question.conversation_id}/messages/"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http,
        http.post(url, json={"text": question.text}) as answer,
    ):
        assert answer.status == 200
        form: dict[str, Any] = await answer.json()
        return form


def refuses_connections(site: DoomedSite) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.port)) != 0


async def test_end_of_a_turn_is_sent_before_the_server_ends(site, model):
    ends, stopped, posted = (Question(name, chat) for name, chat in zip("xyz", site.conversations, strict=True))
    script(model, ends, stopped, posted)
    token = manage(site.environment, "create_token", "alice").split()[-1]
    async with AsyncExitStack() as stack:
        pages = {
            question: [await stack.enter_async_context(Visitor(site, [question.conversation_id])) for _ in range(PAGES)]
            for question in (ends, stopped)
        }
        envelope = asyncio.create_task(post(site, posted, token))
        for question, visitors in pages.items():
            await visitors[0].send(question)
            await visitors[-1].until_sees(f"Started with {question.name}")
        await asyncio.to_thread(model.wait_for, held=posted.name)
        turns = dict(site.rows("SELECT conversation_id, id FROM chat_turn"))

        stopping = asyncio.create_task(asyncio.to_thread(site.stop))
        await until(lambda: refuses_connections(site), site)
        model.release(ends.name)
        for visitor in (*pages[ends], *pages[stopped]):
            await visitor.until_closed()
        await stopping

        for question, status in ((ends, "complete"), (stopped, "stopped")):
            turn_id = turns[UUID(question.conversation_id).hex]
            assert [visitor.has_seen_end(turn_id, status) for visitor in pages[question]] == [True] * PAGES
            assert [visitor.close_codes() for visitor in pages[question]] == [[SERVICE_RESTART]] * PAGES
        assert (await envelope)["status"] == "stopped"
        assert "Started with z" in (await envelope)["answer"]
