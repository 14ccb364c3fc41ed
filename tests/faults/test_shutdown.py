"""A server that is asked to end tells every page and every script how its turn ended before it goes. Replay 2.12."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.browser.upstream import opening, reply, says, waits
from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.faults.site import DoomedSite
from tests.faults.talk import Question
from tests.faults.visitor import Visitor
from tests.server import manage

SERVICE_RESTART = 1012
PAGES = 12
LOOK_AGAIN_S = 0.02


@pytest.fixture
def model() -> Iterator[ContractHandle]:
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
def site(tmp_path: Path, model: ContractHandle) -> Iterator[DoomedSite]:
    site = DoomedSite(tmp_path, conversations=3, OPENAI_BASE_URL=model.base_url)
    site.start()
    yield site
    site.stop()


def script(model: ContractHandle, *questions: Question) -> None:
    """Have each answered with a text that is held in its middle."""
    model.script(
        [
            reply(
                says(opening(), f"Begun with {one.name}, and there is more of it in here.\n\n"),
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


async def until_deaf(site: DoomedSite) -> None:
    """Wait until the server takes no connection any more: it has begun to end."""
    async with asyncio.timeout(30):
        while await asyncio.to_thread(listens, site):  # noqa: ASYNC110 - nobody outside is told
            await asyncio.sleep(LOOK_AGAIN_S)


def listens(site: DoomedSite) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.port)) == 0


async def test_end_of_a_turn_is_told_before_the_server_goes(site: DoomedSite, model: ContractHandle) -> None:
    ends, stopped, asked = (Question(name, chat) for name, chat in zip("xyz", site.conversations, strict=True))
    script(model, ends, stopped, asked)
    token = manage(site.environment, "create_token", "alice").split()[-1]
    async with AsyncExitStack() as stack:
        rooms = [
            [await stack.enter_async_context(Visitor(site, [one.conversation_id])) for _ in range(PAGES)]
            for one in (ends, stopped)
        ]
        envelope = asyncio.create_task(post(site, asked, token))
        for pages, one in zip(rooms, (ends, stopped), strict=True):
            await pages[0].send(one)
            await pages[-1].until_heard(f"Begun with {one.name}")
        await asyncio.to_thread(model.wait_for, held=asked.name)

        going = asyncio.create_task(asyncio.to_thread(site.stop))
        await until_deaf(site)
        model.release(ends.name)
        for page in [page for pages in rooms for page in pages]:
            await page.until_gone()
        await going

        finished = [['"status":"complete"' in page.heard() for page in rooms[0]]]
        finished += [['"status":"stopped"' in page.heard() for page in rooms[1]]]
        assert finished == [[True] * PAGES] * 2
        assert [page.close_codes() for page in rooms[0]] == [[SERVICE_RESTART]] * PAGES
        assert (await envelope)["status"] == "stopped"
        assert "Begun with z" in (await envelope)["answer"]
