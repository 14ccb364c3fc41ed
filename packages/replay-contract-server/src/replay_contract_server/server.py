"""The server: routes, connections, life cycle, and the control routes for tests in any process. Loopback only."""

import asyncio
import json
from typing import Any

from replay_contract_server.exchange import RefusedError, exchange, require_bearer, send_answer
from replay_contract_server.frames import Answer, json_answer
from replay_contract_server.modes import MODES
from replay_contract_server.rules.base import CHAT_PATH, RESPONSES_PATH, own
from replay_contract_server.script import ScriptError, parse_script
from replay_contract_server.state import State
from replay_contract_server.wire import BadRequestError, ClientGoneError, Connection, HttpRequest

HOST = "127.0.0.1"


class ContractServer:
    """A strict upstream. ``failures`` are bugs of the server itself."""

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
        await asyncio.sleep(0)  # the transports report the end to their protocols in one more round

    async def _serve(self, connection: Connection) -> None:
        self._connections.add(connection)
        try:
            while not connection.closing and (request := await connection.read_request()):
                if request.method == "POST" and request.path in (CHAT_PATH, RESPONSES_PATH):
                    await exchange(self.state, connection, request)
                else:
                    await send_answer(connection, await self._plain_answer(request))
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

    async def _plain_answer(self, request: HttpRequest) -> Answer:
        match request.method, request.path.removeprefix("/__control__"):
            case "GET", "/v1/models":
                return self._models(request)
            case "GET", "/requests":
                return json_answer(200, [record.to_json() for record in self.state.records])
            case "GET", "/open":
                return json_answer(200, [stream.to_json() for stream in self.state.streams.values()])
            case "POST", ("/reset" | "/script" | "/release" | "/wait") as route:
                try:
                    return await self._control(route, json.loads(request.body))
                except (ScriptError, ValueError, KeyError) as error:
                    return json_answer(400, {"error": str(error)})
        return json_answer(404, own("no_route", f"There is no {request.method} {request.path}.").to_json())

    def _models(self, request: HttpRequest) -> Answer:
        try:
            require_bearer(request.headers)
        except RefusedError as error:
            return error.answer()
        of_table = [model for mode in MODES.values() for model in mode.models]
        names = dict.fromkeys([*self.state.script.source.models, *of_table])
        knobs = self.state.script.source.knobs
        limit = {"max_model_len": knobs.context_limit} if knobs.lists_limit else {}
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "contract", **limit} for name in names]
        return json_answer(200, {"object": "list", "data": listed})

    async def _control(self, route: str, given: Any) -> Answer:
        match route:
            case "/reset":
                self.state.clear()
            case "/script":
                self.state.script = parse_script(given)
            case "/release":
                self.state.gate(given["name"]).set()
            case "/wait":
                holds = await self.state.until(lambda: self._holds(given), given["timeout_s"])
                return json_answer(200 if holds else 408, {"ok": holds})
        return json_answer(200, {"ok": True})

    def _holds(self, wanted: dict[str, Any]) -> bool:
        records, streams = self.state.records, self.state.streams.values()
        closed = [one.serial for one in records if one.closed_early and one.has_ended]
        return (
            sum(one.has_ended for one in records) >= wanted.get("ended", 0)
            and ("held" not in wanted or any(one.held == wanted["held"] for one in streams))
            and ("closed" not in wanted or wanted["closed"] in closed)
        )
