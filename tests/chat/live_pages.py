"""An open page of a conversation, changed by the frames of its socket, to be compared with a reload."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import lxml.html
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.test import AsyncClient
from django.urls import path

from accounts.models import User
from chat.models import Conversation, Turn
from chat.socket.consumer import ConversationConsumer
from chat.turns.manager import TurnManager, turn_manager
from tests.chat.asking import signed_in
from tests.drawn_page import DrawnPage
from tests.frame_words import heard


class LivePage:
    """A page that a person has open: as it was loaded, changed by the frames of its socket."""

    def __init__(self, client: AsyncClient, url: str, communicator: WebsocketCommunicator, language: str) -> None:
        self.frames: list[str] = []
        self._client, self._url, self._communicator, self._language = client, url, communicator, language
        self._drawn: DrawnPage | None = None

    async def html(self) -> str:
        answer = await self._client.get(self._url, headers={"Accept-Language": self._language})
        assert answer.status_code == 200
        return answer.content.decode()

    async def load(self) -> DrawnPage:
        return DrawnPage(await self.html())

    async def open(self) -> None:
        self._drawn = await self.load()
        assert (await self._communicator.connect(timeout=30))[0]
        await self.sync()

    async def sync(self) -> None:
        """Ask for what was missed, as a page does whose connection is back."""
        self._take()
        assert self._drawn is not None
        await self.send(action="sync", **self._drawn.newest)

    async def send(self, **form: Any) -> None:
        await self._communicator.send_to(json.dumps(form))

    async def post(self, url: str, form: dict[str, str] | None = None) -> None:
        answer = await self._client.post(url, form or {}, headers={"HX-Request": "true"})
        assert answer.status_code < 400, answer.content

    async def sees(self, text: str) -> None:
        for _try in range(1500):
            self._take()
            if text in heard(self.frames):
                return
            await asyncio.sleep(0.02)
        raise AssertionError([frame[:300] for frame in self.frames[-40:]])

    async def is_as_reloaded(self) -> None:
        """Wait until the page shows what a reload shows."""
        for _try in range(600):
            before = (await self.load()).state()
            self._take()
            assert self._drawn is not None
            if self._drawn.state() == before:
                return
            await asyncio.sleep(0.05)
        assert self._drawn.state() == (await self.load()).state()

    def _take(self) -> None:
        assert self._drawn is not None
        while not self._communicator.output_queue.empty():
            message = self._communicator.output_queue.get_nowait()
            assert message["type"] == "websocket.send", message
            self.frames.append(message["text"])
            self._drawn.apply(message["text"])

    def state(self) -> dict[str, Any]:
        assert self._drawn is not None
        return self._drawn.state()

    @property
    def shown(self) -> str:
        return json.dumps(self.state(), ensure_ascii=False)

    def label_of_thinking(self, turn: Turn) -> str:
        label = lxml.html.fromstring(self.state()[f"m-{turn.public_id}-thinking-label"])
        return " ".join(label.text_content().split())

    async def close(self) -> None:
        await self._communicator.disconnect()


@asynccontextmanager
async def page_of(
    user: User,
    conversation: Conversation,
    manager: TurnManager = turn_manager,
    *,
    language: str = "en",
    client: AsyncClient | None = None,
) -> AsyncIterator[LivePage]:
    """Open a page at a process, in the session of ``client``."""
    client = client or await signed_in(user)
    kind = type("Consumer", (ConversationConsumer,), {"manager": manager})
    routes: Any = URLRouter([path("ws/chats/<uuid:conversation_id>/", kind.as_asgi())])  # type: ignore[list-item]
    headers = {"cookie": f"sessionid={client.cookies['sessionid'].value}", "accept-language": language}
    communicator = WebsocketCommunicator(
        AuthMiddlewareStack(routes),
        f"/ws/chats/{conversation.pk}/",
        headers=[(name.encode(), value.encode()) for name, value in headers.items()],
    )
    page = LivePage(client, f"/chats/{conversation.pk}/", communicator, language)
    await page.open()
    try:
        yield page
    finally:
        await page.close()


async def all_as_reloaded(*pages: LivePage) -> None:
    for page in pages:
        await page.is_as_reloaded()
