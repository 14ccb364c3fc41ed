"""From a scripted reply to a whole chat answer: ids, deltas, usage, form; and the ledger's note of what was issued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from tests.contract_server.deltas import deltas_of, merge, step_of
from tests.contract_server.ledger import TEXT_KEYS, Call, Step
from tests.contract_server.malformed import spoilt
from tests.contract_server.modes import MODES
from tests.contract_server.reporting import numbers_of, served_model
from tests.contract_server.rules.base import Asked
from tests.contract_server.script import Pending, Reply
from tests.contract_server.state import State
from tests.contract_server.stream import SSE_HEADERS, Answer, Voice, chat_body, chat_frames, json_answer


def compose_chat(state: State, asked: Asked, pending: Pending) -> Answer:
    """Return the reply as a chat answer in the form asked for; note it as issued."""
    reply, mode = pending.reply, MODES[asked.mode]
    calls = _calls(state, reply, signs=mode.signs_calls)
    deltas = deltas_of(reply, calls, mode.fields, details=asked.mode == "details")
    message = merge(deltas)
    step = step_of(message, reply, serial=state.number("step"), model=asked.model)
    state.ledger.issue(step)
    voice = _voice(asked, pending, step, _written(message))
    finish = _finish(reply, message)
    if not asked.body.get("stream"):
        return json_answer(200, chat_body(voice, message, finish))
    frames = spoilt(chat_frames(voice, deltas, finish), pending, asked.record)
    return Answer(200, SSE_HEADERS, frames, streamed=True, delay_ms=reply.delay_ms)


def _calls(state: State, reply: Reply, *, signs: bool) -> list[Call]:
    calls = []
    for index, scripted in enumerate(reply.tool_calls):
        id_ = scripted.id or f"call_{state.number('call')}"
        signature = f"SIG1.{id_}" if signs and index == 0 else None
        calls.append(Call(id_, scripted.name, scripted.arguments_text(), signature))
    return calls


def _finish(reply: Reply, message: Mapping[str, Any]) -> str | None:
    if reply.finish is not UNSET:
        return reply.finish
    return "tool_calls" if message.get("tool_calls") else "stop"


def _voice(asked: Asked, pending: Pending, step: Step, written: str) -> Voice:
    options = asked.body.get("stream_options")
    return Voice(
        id=f"chatcmpl_{step.serial}",
        model=served_model(asked, pending.reply),
        usage=_usage(asked, pending, written, step.reasoning),
        usage_location=pending.reply.usage_location,
        asks_usage=bool(options.get("include_usage")) if isinstance(options, Mapping) else False,
    )


def _written(message: Mapping[str, Any]) -> str:
    """Return all text of a message, each piece once, even where the same reasoning went out under two names."""
    reasoning = next((message[key] for key in TEXT_KEYS if message.get(key)), "")
    arguments = "".join(call["function"]["arguments"] for call in message.get("tool_calls", ()))
    return f"{reasoning}{message['content'] or ''}{arguments}"


def _usage(asked: Asked, pending: Pending, written: str, reasoning: str) -> dict[str, Any]:
    numbers = numbers_of(asked, pending, written, reasoning)
    return {
        "prompt_tokens": numbers.input,
        "completion_tokens": numbers.output,
        "total_tokens": numbers.input + numbers.output,
        "prompt_tokens_details": {"cached_tokens": numbers.cached},
        "completion_tokens_details": {"reasoning_tokens": numbers.reasoning},
    }
