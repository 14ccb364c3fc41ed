# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""How many calls three ways through the server take, and in how many files: ``python -m tests.benchmarks.ways``.

A word from the model service to an open page, a question until its request leaves, and the reload of a conversation.
Counted are calls of the product's own functions, resumed coroutines included: a measure that no clock disturbs.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from tests.benchmarks.helpers import Figure, database, show

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = tuple(f"{ROOT / app}{os.sep}" for app in ("accounts", "chat", "config", "reasoning"))
PLAIN = "river stone amber lantern meadow copper silver harbor velvet canyon".split() * 2
_PAUSE_S = 0.25  # longer than any window in which text is joined: each word is handled alone
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Calls:
    """The calls of the product's functions, by file, and how often one file called another."""

    def __init__(self) -> None:
        self.by_file: Counter[str] = Counter()
        self.by_function: Counter[str] = Counter()
        self.changes = 0
        self._last = ""

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PRODUCT):
            self.by_file[name] += 1
            self.by_function[f"{Path(name).relative_to(ROOT)}:{frame.f_code.co_qualname}"] += 1
            self.changes += name != self._last
            self._last = name

    def add(self, others: Calls) -> None:
        self.by_file += others.by_file
        self.by_function += others.by_function
        self.changes += others.changes

    def figures(
        self, name: str, *, times: int = 1, calls: float | None = None, files: float | None = None
    ) -> list[Figure]:
        return [
            Figure(f"{name}: calls", sum(self.by_file.values()) / times, "", aim=calls),
            Figure("  files", len(self.by_file), "", aim=files),
            Figure("  changes of file", self.changes / times, ""),
        ]


@contextmanager
def counted() -> Iterator[Calls]:
    """Count the calls in this thread."""
    calls = Calls()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


class Service:
    """A model service that says a word when it is asked to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._words: asyncio.Queue[str | None] = asyncio.Queue()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
        )
        await reader.readexactly(length)
        if not head.startswith(b"POST"):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            writer.write(_HEAD)
            self.asked.set()
            while (word := await self._words.get()) is not None:
                writer.write(b'data: {"choices":[{"index":0,"delta":{"content":"%s "}}]}\n\n' % word.encode())
                await writer.drain()
            writer.write(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
        await writer.drain()
        writer.close()

    def say(self, word: str | None) -> None:
        self._words.put_nowait(word)


@asynccontextmanager
async def service() -> AsyncIterator[tuple[Service, str]]:
    scripted = Service()
    server = await asyncio.start_server(scripted.answer, "127.0.0.1", 0)
    try:
        yield scripted, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


async def measure(answer: Sequence[str] = PLAIN) -> list[Figure]:
    """Return the figures of the three ways, one page open. The first half of the answer's words isn't counted."""
    from channels.db import database_sync_to_async
    from channels.testing import WebsocketCommunicator
    from django.test import AsyncClient, override_settings

    from chat.turns.manager import turn_manager
    from config.asgi import application
    from tests.factories import make_conversation, make_user

    user = await database_sync_to_async(make_user)("alice")
    talk = await database_sync_to_async(make_conversation)(owner=user)
    client = AsyncClient()
    await database_sync_to_async(client.force_login)(user)
    cookie = f"sessionid={client.cookies['sessionid'].value}".encode()
    headers = [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", cookie)]
    async with service() as (scripted, url):
        with override_settings(
            OPENAI_BASE_URL=url, OPENAI_MODEL="word-model", OPENAI_API_KEY="none", MODEL_TITLES=False
        ):
            socket = WebsocketCommunicator(application, f"/ws/chats/{talk.pk}/", headers=headers)
            await socket.connect(timeout=30)

            async def heard(text: str) -> None:
                while text not in await socket.receive_from(timeout=30):
                    pass

            questions = []
            for number in range(2):  # the first one loads modules
                scripted.asked.clear()
                with counted() as calls:
                    await socket.send_json_to({"text": "Why?", "id": f"q{number}"})
                    await asyncio.wait_for(scripted.asked.wait(), 30)
                questions.append(calls)
                live = turn_manager.live(talk.pk)
                assert live
                words = Calls()
                for at, word in enumerate(answer):
                    with counted() as calls:
                        scripted.say(word)
                        await heard(word)
                        await asyncio.sleep(_PAUSE_S)
                    if at >= len(answer) // 2:
                        words.add(calls)
                scripted.say(None)
                await heard('"running":false')
                await live.finished.wait()
            await socket.disconnect()
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        await client.get(f"/chats/{talk.pk}/")  # loads modules
        with counted() as reload:
            page = await client.get(f"/chats/{talk.pk}/")
    assert page.status_code == 200
    measured = len(answer) - len(answer) // 2
    if "-v" in sys.argv:
        for name, count in words.by_function.most_common():
            print(f"{count / measured:6.1f} {name}")
    return [
        *words.figures("a plain word", times=measured, calls=50, files=15),
        *questions[1].figures("a question, until its request left"),
        *reload.figures("a reload, in the event loop's thread"),
    ]


def main() -> None:
    with database():
        show("Ways", asyncio.run(measure()))


if __name__ == "__main__":
    main()
