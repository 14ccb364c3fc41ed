"""The contract server for tests: ``with running_contract_server() as upstream`` in a thread of this process.

``ContractHandle`` drives a server through its control routes, so it works with a child process as well:
``ContractHandle(port)`` with the port that ``python -m replay_contract_server --port 0 --port-file PATH`` wrote.

The model decides the API: ``gpt-5-mini`` and ``gpt-5.4`` are served over Responses, all others over chat completions.
"""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from queue import Queue
from typing import Any

from replay_contract_server.server import HOST, ContractServer

STOP_TIMEOUT_S = 30


class ContractHandle:
    """A running server as a test sees it. Everything is plain blocking calls and JSON values."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://{HOST}:{port}/v1"

    def script(self, replies: Sequence[Mapping[str, Any]], **settings: Any) -> None:
        """Replace the script; ``settings`` are ``knobs`` and ``models``. Raises ValueError for an invalid one."""
        self._control("POST", "script", {"replies": list(replies), **settings})

    def requests(self) -> list[dict[str, Any]]:
        """Return the record of every request since the last reset, in order of arrival."""
        found: list[dict[str, Any]] = self._control("GET", "requests")
        return found

    def refusals(self) -> list[str]:
        """Return the rules that were broken since the last reset; a missing reply counts as ``script``."""
        return [one["rule"] for one in self.requests() if one["rule"]]

    def open_streams(self) -> list[dict[str, Any]]:
        """Return the answers that are being sent now."""
        found: list[dict[str, Any]] = self._control("GET", "open")
        return found

    def release(self, name: str) -> None:
        """Release all streams that wait, or will wait, for this name."""
        self._control("POST", "release", {"name": name})

    def reset(self) -> None:
        """Forget everything and cut open streams."""
        self._control("POST", "reset", {})

    def wait_for(self, *, timeout_s: float = 30, **condition: str | int) -> None:
        """Wait for ``ended=n`` requests, ``held=name``, or ``closed=serial`` (its client left). Raises TimeoutError."""
        try:
            self._control("POST", "wait", {"timeout_s": timeout_s, **condition})
        except ValueError as error:
            raise TimeoutError(f"{condition} did not happen within {timeout_s} s") from error

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
    """Run a server on a free port. Raises what failed inside it."""
    server = ContractServer()
    started: Queue[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def serve() -> None:
        stop = asyncio.Event()
        started.put((await server.start(), asyncio.get_running_loop(), stop))
        await stop.wait()
        await server.stop()

    def run() -> None:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="contract-server", daemon=True)
    thread.start()
    port, loop, stop = started.get(timeout=STOP_TIMEOUT_S)
    try:
        yield ContractHandle(port)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(STOP_TIMEOUT_S)
        assert not thread.is_alive(), "the contract server did not stop"
    for failure in server.failures:
        raise failure
