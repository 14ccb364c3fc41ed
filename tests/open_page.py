"""A user with a page of one conversation open at a running server, without a browser."""

import asyncio
import json
import re
import uuid
from collections.abc import Sequence
from typing import Any

import aiohttp

from tests.frame_words import heard
from tests.server import PASSWORD


class Person:
    """The same person's page on one of the servers."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.frames: list[str] = []
        self._since = 0  # frame that was waited for last
        self._http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def sign_in(self) -> None:
        page = await (await self._http.get(f"{self.base_url}/accounts/login/")).text()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token
        form = {"username": "demo", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        inside = await self._http.post(f"{self.base_url}/accounts/login/", data=form, headers={"Origin": self.base_url})
        assert inside.status == 200
        assert "/accounts/" not in str(inside.url)

    async def new_chat(self) -> uuid.UUID:
        token = next(cookie.value for cookie in self._http.cookie_jar if cookie.key == "csrftoken")
        headers = {"X-CSRFToken": token, "Origin": self.base_url}
        answer = await self._http.post(f"{self.base_url}/api/chats/", json={}, headers=headers)
        return uuid.UUID((await answer.json())["id"])

    async def post(self, path: str, **form: Any) -> int:
        """Post JSON to the API; return the status of the response."""
        token = next(cookie.value for cookie in self._http.cookie_jar if cookie.key == "csrftoken")
        headers = {"X-CSRFToken": token, "Origin": self.base_url}
        async with self._http.post(f"{self.base_url}{path}", json=form, headers=headers) as answer:
            return answer.status

    async def open(self, chat: uuid.UUID) -> None:
        url = f"{self.base_url}/ws/chats/{chat}/"
        self._socket = await self._http.ws_connect(url, headers={"Origin": self.base_url})

    async def send(self, **form: Any) -> None:
        assert self._socket
        await self._socket.send_str(json.dumps(form))

    async def sees(self, text: str, *, within_s: float = 60) -> str:
        """Wait until the page was sent ``text``, which pieces may share; return the frame that ended it."""
        assert self._socket
        async with asyncio.timeout(within_s):
            while text not in heard(self.frames[self._since :]):
                message = await self._socket.receive()
                assert message.type is aiohttp.WSMsgType.TEXT, (message, self.frames[-5:])
                self.frames.append(message.data)
        self._since = len(self.frames) - 1
        return self.frames[-1]

    async def sees_end(self, turn_id: str, status: str, *, within_s: float = 60) -> None:
        """Wait until the page was sent this end of a turn, as an event or in a card that was drawn again."""
        assert self._socket
        async with asyncio.timeout(within_s):
            while not shows_end(self.frames, turn_id, status):
                self.frames.append(await self._socket.receive_str())

    async def visit(self) -> tuple[int, str]:
        """Load the first page; return the code and the text."""
        answer = await self._http.get(f"{self.base_url}/")
        return answer.status, await answer.text()

    async def health(self) -> tuple[int, dict[str, str]]:
        """Return what a monitor without a session receives: the code, and each check by name."""
        async with aiohttp.ClientSession() as monitor, monitor.get(f"{self.base_url}/healthz") as answer:
            return answer.status, (await answer.json())["checks"]

    async def until_healthy(self, *, within_s: float = 60) -> None:
        """Wait until the server is healthy."""
        async with asyncio.timeout(within_s):
            while (await self.health())[0] != 200:  # noqa: ASYNC110 - the server does not notify
                await asyncio.sleep(0.1)

    async def cards(self, chat: uuid.UUID) -> list[dict[str, Any]]:
        answer = await self._http.get(f"{self.base_url}/api/chats/{chat}/messages/")
        found: list[dict[str, Any]] = await answer.json()
        return found

    async def leave(self) -> None:
        if self._socket:
            await self._socket.close()
        await self._http.close()


def shows_end(frames: Sequence[str], turn_id: str, status: str) -> bool:
    """Return whether a page was sent this end of a turn, as an event or in a card that was drawn again."""
    cards = [card for frame in frames for card in frame.split("</article>")]
    has_event = any(f'"card":"{turn_id}"' in frame and f'"status":"{status}"' in frame for frame in frames)
    return has_event or any(f'id="m-{turn_id}"' in card and f'data-status="{status}"' in card for card in cards)
