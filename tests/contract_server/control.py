"""The control routes: how a test, in whatever process, loads scripts, releases streams, waits and looks at records."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.contract_server.script import ScriptError, parse_script
from tests.contract_server.state import State
from tests.contract_server.stream import Answer, json_answer
from tests.contract_server.wire import HttpRequest

DONE: dict[str, Any] = {"ok": True}
WAIT_SECONDS = 5.0


async def _reset(state: State, _request: HttpRequest) -> Answer:
    state.clear()
    return json_answer(200, DONE)


async def _script(state: State, request: HttpRequest) -> Answer:
    try:
        state.script = parse_script(json.loads(request.body))
    except (ScriptError, ValueError) as error:
        return json_answer(400, {"error": str(error)})
    return json_answer(200, DONE)


async def _release(state: State, request: HttpRequest) -> Answer:
    name = _read(request).get("name")
    if not isinstance(name, str):
        return json_answer(400, {"error": "a release has a name"})
    state.gate(name).set()
    return json_answer(200, DONE)


async def _requests(state: State, _request: HttpRequest) -> Answer:
    return json_answer(200, [record.to_json() for record in state.records])


async def _open(state: State, _request: HttpRequest) -> Answer:
    return json_answer(200, [stream.to_json() for stream in state.streams.values()])


async def _wait(state: State, request: HttpRequest) -> Answer:
    """Answer when all that is asked for holds: 200, or 408 after ``seconds``.

    ``requests``: so many have come in. ``ended``: so many have ended. ``held``: a stream waits for this release.
    ``sent``: so many events of the newest request have gone out.
    ``closed``: the client of the request with this serial has gone and nothing is left of it.
    """
    asked = _read(request)
    holds = await state.until(lambda: _holds(state, asked), asked.get("seconds", WAIT_SECONDS))
    return json_answer(200 if holds else 408, {"ok": holds})


def _holds(state: State, asked: dict[str, Any]) -> bool:
    return (
        len(state.records) >= asked.get("requests", 0)
        and sum(one.ended is not None for one in state.records) >= asked.get("ended", 0)
        and ("sent" not in asked or _newest_sent(state) >= asked["sent"])
        and ("held" not in asked or any(one.held == asked["held"] for one in state.streams.values()))
        and ("closed" not in asked or any(_is_closed(state, one.serial, asked["closed"]) for one in state.records))
    )


def _newest_sent(state: State) -> int:
    return state.records[-1].events_sent if state.records else 0


def _is_closed(state: State, serial: int, wanted: int) -> bool:
    record = state.records[serial - 1]
    return serial == wanted and record.closed_early and record.ended is not None


def _read(request: HttpRequest) -> dict[str, Any]:
    try:
        read = json.loads(request.body or b"{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


ROUTES: dict[tuple[str, str], Callable[[State, HttpRequest], Awaitable[Answer]]] = {
    ("POST", "/__control__/reset"): _reset,
    ("POST", "/__control__/script"): _script,
    ("POST", "/__control__/release"): _release,
    ("POST", "/__control__/wait"): _wait,
    ("GET", "/__control__/requests"): _requests,
    ("GET", "/__control__/open"): _open,
}
