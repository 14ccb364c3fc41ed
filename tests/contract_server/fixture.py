"""The contract server for tests: ``with running_contract_server() as upstream`` in a thread of this process.

``ContractHandle`` drives a server through its control routes, so it serves a child process just as well:
``ContractHandle(port)`` with the port that ``python -m tests.contract_server --port 0 --port-file PATH`` wrote.

The model decides the API: ``gpt-5-mini`` and ``gpt-5.4`` are asked over Responses, all others over chat completions. A
reply with ``reasoning``, ``content`` and ``tool_calls`` serves either. ``saying`` has words for explicit ``items``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from queue import Queue
from typing import Any

from tests.contract_server.server import HOST, ContractServer

STOP_SECONDS = 10


class ContractHandle:
    """A running server as a test sees it. Everything is plain blocking calls and JSON values."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://{HOST}:{port}/v1"

    def script(self, replies: Sequence[Mapping[str, Any]], **settings: Any) -> None:
        """Replace the script; ``settings`` are ``knobs``, ``mode`` and ``models``. Raises ValueError for a bad one."""
        self._control("POST", "script", {"replies": list(replies), **settings})

    def requests(self) -> list[dict[str, Any]]:
        """Return the record of every request since the last reset, in order of arrival."""
        found: list[dict[str, Any]] = self._control("GET", "requests")
        return found

    def refusals(self) -> list[str]:
        """Return the rules that were broken since the last reset; a reply that was lacking counts as ``script``."""
        return [one["rule"] for one in self.requests() if one["rule"]]

    def open_streams(self) -> list[dict[str, Any]]:
        """Return the answers that are being sent now."""
        found: list[dict[str, Any]] = self._control("GET", "open")
        return found

    def release(self, name: str) -> None:
        """Let all streams go on that wait, or will wait, for this name."""
        self._control("POST", "release", {"name": name})

    def reset(self) -> None:
        """Forget everything and cut off open streams."""
        self._control("POST", "reset", {})

    def wait_for(self, *, seconds: float = 5, **what: str | int) -> None:
        """Wait for ``requests=n``, ``ended=n``, ``sent=n``, ``held=name``, ``closed=serial``. Raises TimeoutError.

        ``sent`` counts events of the newest request; ``closed`` is the request whose client has gone.
        """
        try:
            self._control("POST", "wait", {"seconds": seconds, **what})
        except ValueError as error:
            raise TimeoutError(f"{what} did not come about in {seconds} s") from error

    def _control(self, method: str, name: str, value: Any = None) -> Any:
        connection = HTTPConnection(HOST, self.port)
        try:
            connection.request(method, f"/__control__/{name}", None if value is None else json.dumps(value))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(answer)
        return answer


@contextmanager
def running_contract_server() -> Iterator[ContractHandle]:
    """Run a server on a free port; at the end nothing of it is left. Raises what went wrong inside it."""
    server = ContractServer()
    begun: Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()
    thread = threading.Thread(target=_run, args=(server, begun), name="contract-server", daemon=True)
    thread.start()
    port, loop, stop = begun.get(timeout=STOP_SECONDS)
    try:
        yield ContractHandle(port)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(STOP_SECONDS)
        assert not thread.is_alive(), "the contract server did not stop"
    for failure in server.failures:
        raise failure


def _run(server: ContractServer, begun: Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        begun.put((await server.start(), asyncio.get_running_loop(), stop))
        await stop.wait()
        await server.stop()

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(main())
