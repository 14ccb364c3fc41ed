"""A person at several pages at once, as their browser would be: sockets that send and read, and forms.

A message is acknowledged when a page shows it: as a question's card, or among those that wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import aiohttp

from tests.faults.site import DoomedSite
from tests.faults.talk import Question
from tests.frame_words import heard
from tests.open_page import tells_end

PATIENCE_S = 30
LOOK_AGAIN_S = 0.02


class Visitor:
    """Sockets to some conversations. ``async with`` opens and closes them."""

    def __init__(self, site: DoomedSite, conversation_ids: Sequence[str]) -> None:
        self._site = site
        self._conversation_ids = conversation_ids
        self._sockets: dict[str, aiohttp.ClientWebSocketResponse] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._frames: dict[str, list[str]] = {one: [] for one in conversation_ids}

    async def __aenter__(self) -> Visitor:
        cookies = {"sessionid": self._site.session_key}
        self._http = aiohttp.ClientSession(cookies=cookies, headers={"Origin": self._site.base_url})
        for one in self._conversation_ids:
            self._sockets[one] = await self._http.ws_connect(f"{self._site.base_url}/ws/chats/{one}/")
            self._tasks.append(asyncio.create_task(self._listen(one)))
        return self

    async def __aexit__(self, *exception: object) -> None:
        for socket in self._sockets.values():
            await socket.close()
        await asyncio.gather(*self._tasks)
        await self._http.close()

    async def send(self, question: Question) -> None:
        """Send a message as the page does, with an id of its own."""
        await self._sockets[question.conversation_id].send_json({"text": question.text, "id": question.client_id})

    def acknowledged_of(self, questions: Sequence[Question]) -> list[Question]:
        """Return those of these messages that a page has shown."""
        return [question for question in questions if self._is_acknowledged(question)]

    def _is_acknowledged(self, question: Question) -> bool:
        frames = self._frames[question.conversation_id]
        return any(question.text in frame for frame in frames if _shows_messages(frame))

    def is_told_of(self, turn_id: str, status: str) -> bool:
        """Say whether a page was sent this end of a turn."""
        return any(tells_end(frames, turn_id, status) for frames in self._frames.values())

    async def until_gone(self) -> None:
        """Read what still comes, until all sockets have ended."""
        await asyncio.wait(self._tasks, timeout=PATIENCE_S)

    async def page(self, conversation_id: str) -> str:
        """Return a conversation's page."""
        async with self._http.get(f"{self._site.base_url}/chats/{UUID(conversation_id)}/") as answer:
            assert answer.status == 200
            return await answer.text()

    def close_codes(self) -> list[int | None]:
        """Return what each socket was closed with."""
        return [socket.close_code for socket in self._sockets.values()]

    async def until_heard(self, text: str) -> None:
        """Wait until a page was sent ``text``."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.heard():  # noqa: ASYNC110 - frames are only kept
                await asyncio.sleep(LOOK_AGAIN_S)

    def heard(self) -> str:
        """Return all that the pages were sent."""
        return "\n".join(heard(frames) for frames in self._frames.values())

    async def _listen(self, conversation_id: str) -> None:
        try:
            async for message in self._sockets[conversation_id]:
                self._frames[conversation_id].append(str(message.data))
        except aiohttp.ClientError:
            return  # as a killed server ends it


def _shows_messages(frame: str) -> bool:
    return 'data-role="user"' in frame or 'id="queue"' in frame
