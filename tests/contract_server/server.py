"""The server: routes, connections and life cycle. Bound to loopback only; one task for each open connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.contract_server import control
from tests.contract_server.admission import RefusedError, require_bearer
from tests.contract_server.exchange import exchange, refusal_answer
from tests.contract_server.modes import model_names
from tests.contract_server.playing import send_answer
from tests.contract_server.rules.base import CHAT_PATH, RESPONSES_PATH, own
from tests.contract_server.state import State
from tests.contract_server.stream import Answer, json_answer
from tests.contract_server.wire import BadRequestError, ClientGoneError, Connection, HttpRequest

HOST = "127.0.0.1"
Handler = Callable[[HttpRequest], Awaitable[Answer]]


class ContractServer:
    """A strict upstream. ``failures`` holds what went wrong in the server itself: empty, unless it has a bug."""

    def __init__(self) -> None:
        self.state = State()
        self.failures: list[BaseException] = []
        self._connections: set[Connection] = set()

    async def start(self, port: int = 0) -> int:
        """Listen on loopback and return the port."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: Connection(self._serve), HOST, port)
        return int(self._listener.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening, drop all connections and wait for their tasks."""
        self._listener.close()
        connections = list(self._connections)
        for connection in connections:
            connection.task.cancel()
        await asyncio.gather(*(one.task for one in connections), return_exceptions=True)
        await self._listener.wait_closed()
        await asyncio.sleep(0)  # the transports tell their protocols of the end in one more round

    async def _serve(self, connection: Connection) -> None:
        self._connections.add(connection)
        try:
            while not connection.closing and (request := await connection.read_request()):
                await self._answer(connection, request)
                if request.headers.get("connection", "").lower() == "close":
                    break
        except ClientGoneError:
            pass  # the record of the exchange says so
        except BadRequestError as error:
            await send_answer(connection, json_answer(400, own("bad_http", str(error)).to_json()))
        except Exception as error:
            self.failures.append(error)
            raise
        finally:
            connection.close()
            self._connections.discard(connection)

    async def _answer(self, connection: Connection, request: HttpRequest) -> None:
        if request.method == "POST" and request.path in (CHAT_PATH, RESPONSES_PATH):
            await exchange(self.state, connection, request)
            return
        await send_answer(connection, await self._plain_answer(request))

    async def _plain_answer(self, request: HttpRequest) -> Answer:
        if (request.method, request.path) == ("GET", "/v1/models"):
            return self._models(request)
        if handler := control.ROUTES.get((request.method, request.path)):
            return await handler(self.state, request)
        return json_answer(404, own("no_route", f"There is no {request.method} {request.path}.").to_json())

    def _models(self, request: HttpRequest) -> Answer:
        try:
            require_bearer(request.headers)
        except RefusedError as refused:
            return refusal_answer(refused)
        names = dict.fromkeys([*self.state.script.source.models, *model_names()])
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "contract"} for name in names]
        return json_answer(200, {"object": "list", "data": listed})
