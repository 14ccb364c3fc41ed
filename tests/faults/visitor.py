"""A user with several pages open at one server, as their browser would have them: sockets that send and receive.

A message is acknowledged when a page shows it: as a question's card, or in the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import aiohttp

from tests.faults.questions import Question
from tests.faults.site import DoomedSite
from tests.frame_words import heard
from tests.open_page import shows_end

TIMEOUT_S = 60
POLL_INTERVAL_S = 0.02


class Visitor:
    """Sockets to some conversations. ``async with`` opens and closes them."""

    def __init__(self, site: DoomedSite, conversation_ids: Sequence[str]) -> None:
        self._site = site
        self._frames: dict[str, list[str]] = {one: [] for one in conversation_ids}
        self._sockets: dict[str, aiohttp.ClientWebSocketResponse] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Visitor:
        cookies = {"sessionid": self._site.session_key}
        self._http = aiohttp.ClientSession(cookies=cookies, headers={"Origin": self._site.base_url})
        for one in self._frames:
            self._sockets[one] = await self._http.ws_connect(f"{self._site.base_url}/ws/chats/{one}/")
            self._tasks.append(asyncio.create_task(self._receive(one)))
        return self

    async def __aexit__(self, *exception: object) -> None:
        for socket in self._sockets.values():
            await socket.close()
        await asyncio.gather(*self._tasks)
        await self._http.close()

    async def _receive(self, conversation_id: str) -> None:
        try:
            async for message in self._sockets[conversation_id]:
                self._frames[conversation_id].append(str(message.data))
        except aiohttp.ClientError:
            return  # a killed server ends it so

    async def send(self, question: Question) -> None:
        """Send a message as the page does, with an id of its own."""
        await self._sockets[question.conversation_id].send_json({"text": question.text, "id": question.client_id})

    def has_acknowledged(self, question: Question) -> bool:
        frames = self._frames[question.conversation_id]
        return any(question.text in frame for frame in frames if 'data-role="user"' in frame or 'id="queue"' in frame)

    def has_seen_end(self, turn_id: str, status: str) -> bool:
        """Return whether a page was sent this end of a turn, as an event or in a card that was drawn again."""
        return any(shows_end(frames, turn_id, status) for frames in self._frames.values())

    def sees(self, text: str) -> bool:
        """Return whether a page was sent ``text``, which pieces may share."""
        return any(text in heard(frames) for frames in self._frames.values())

    async def until_sees(self, text: str) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not self.sees(text):  # noqa: ASYNC110 - frames have no event
                await asyncio.sleep(POLL_INTERVAL_S)

    async def until_closed(self) -> None:
        """Receive what still arrives, until all sockets have ended."""
        _done, pending = await asyncio.wait(self._tasks, timeout=TIMEOUT_S)
        assert not pending, "a socket stays open"

    async def page(self, conversation_id: str) -> str:
        """Return a conversation's page."""
        async with self._http.get(f"{self._site.base_url}/chats/{UUID(conversation_id)}/") as answer:
            assert answer.status == 200
            return await answer.text()

    def close_codes(self) -> list[int | None]:
        return [socket.close_code for socket in self._sockets.values()]
