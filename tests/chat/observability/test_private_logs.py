"""Failures are logged without a word of what was asked, thought, found or answered."""

import asyncio
import gc
import io
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from chat.conversations import model_choice as model_service
from chat.providers.base import ProviderRequest
from chat.tools import registry
from chat.tools.base import tool
from config.logs import RedactingJsonFormatter
from reasoning.deltas import RawDelta, RawFields
from tests.chat.asking import ask, events_of, kinds

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 12")]
CANARY = "heron-violet-4471"
SECRET = "sk-" + "proj-" + "Z9y8X7w6V5u4" * 4
PRIVATE = f"the notes say {CANARY} and the key is {SECRET}"


@tool(running="Breaking…")
async def breaks(note: str) -> str:
    """Fail with everything it knows in its words, in a cause and in a local variable."""
    local = f"{PRIVATE} {note}"
    raise RuntimeError(local) from ValueError(local)


class BreakingProvider:
    """Fails inside its answer with the whole request in its words, as a client library may."""

    name = model = "m"
    identity = "breaking"
    context_limit = None
    starts_in_reasoning = False

    async def stream(self, request: ProviderRequest) -> AsyncIterator[RawDelta]:
        yield RawFields({"content": PRIVATE})
        raise RuntimeError(f"could not send {request.body} {PRIVATE}")


@pytest.fixture
def written():
    """What the site's own handler would write meanwhile, whatever the logger."""
    sink = io.StringIO()
    handler = logging.StreamHandler(sink)
    handler.setFormatter(RedactingJsonFormatter())
    logging.getLogger().addHandler(handler)
    yield sink
    logging.getLogger().removeHandler(handler)


def _lines(written: io.StringIO) -> list[dict[str, Any]]:
    text = written.getvalue()
    assert text, "nothing was logged: this test proves nothing"
    assert CANARY not in text
    assert SECRET not in text
    return [json.loads(line) for line in text.splitlines()]


async def test_failing_tool_is_logged_by_class_and_frames_alone(upstream, conversation, written, monkeypatch):
    monkeypatch.setitem(registry(), "breaks", breaks)
    call = {"name": "breaks", "arguments": json.dumps({"note": CANARY})}
    upstream.script([{"tool_calls": [call]}, {"content": f"It broke: {CANARY}."}])

    turn = await ask(conversation, f"Use it on {CANARY}")

    failure = next(line for line in _lines(written) if line["message"] == "tool failed")
    assert [each["type"] for each in failure["exception"]] == ["RuntimeError", "ValueError"]
    assert any(frame.endswith(" breaks") for frame in failure["exception"][0]["frames"])
    assert "tool_result" in kinds(await events_of(turn))


class Weather(BaseModel):
    """A result that a tool declares."""

    degrees: int


async def test_result_that_is_not_as_declared_is_logged_without_its_words(upstream, conversation, written, monkeypatch):
    @tool()
    async def weather() -> Weather:
        """Return what it doesn't declare."""
        return Weather.model_construct(degrees=PRIVATE)

    monkeypatch.setitem(registry(), "weather", weather)
    upstream.script([{"tool_calls": [{"name": "weather", "arguments": "{}"}]}, {"content": "Odd."}])

    turn = await ask(conversation, "Use it.")

    assert "tool returned what it doesn't declare" in [line["message"] for line in _lines(written)]
    assert "tool_result" in kinds(await events_of(turn))


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "http_error", "status": 400, "message": f"bad request: {PRIVATE}"},
        {"kind": "error_event", "at": "event:1", "times": 3, "message": f"failed on: {PRIVATE}"},
        {"kind": "server_error", "times": 3, "message": f"failed on: {CANARY}"},
    ],
)
async def test_service_that_echoes_the_prompt_is_logged_by_its_code_alone(upstream, conversation, written, fault):
    upstream.script([{"reasoning": PRIVATE, "content": PRIVATE, "faults": [fault]}])

    turn = await ask(conversation, PRIVATE)

    assert turn.status == "errored"
    told = next(line for line in _lines(written) if line["message"] == "turn failed")
    assert told["code"] == turn.error_code
    assert CANARY not in turn.error_detail
    assert kinds(await events_of(turn))[-1] == "turn_end"


async def test_broken_provider_is_logged_by_class_and_frames_alone(conversation, written, monkeypatch):
    async def provider(_chosen):
        return BreakingProvider()

    monkeypatch.setattr(model_service, "provider", provider)

    turn = await ask(conversation, PRIVATE)

    assert (turn.status, turn.error_code) == ("errored", "internal")
    broke = next(line for line in _lines(written) if line["message"] == "turn broke")
    assert broke["exception"][0]["type"] == "RuntimeError"
    assert kinds(await events_of(turn))[-1] == "turn_end"


async def test_forgotten_task_does_not_print_its_exception(written):
    async def fail():
        raise RuntimeError(PRIVATE)

    task = asyncio.ensure_future(fail())
    await asyncio.wait([task])
    del task
    gc.collect()

    assert any(line["logger"] == "asyncio" and line["exception"] for line in _lines(written))
