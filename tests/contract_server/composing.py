"""From a scripted reply to a whole answer: ids, deltas, usage, form; and the ledger's note of what was issued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from tests.contract_server.deltas import deltas_of, merge, step_of
from tests.contract_server.fault_kinds import MalformedSse
from tests.contract_server.ledger import TEXT_KEYS, Call, Step
from tests.contract_server.malformed import spoil
from tests.contract_server.modes import MODES
from tests.contract_server.record import Record, tokens
from tests.contract_server.rules.base import Asked
from tests.contract_server.script import Pending, Reply
from tests.contract_server.state import State
from tests.contract_server.stream import SSE_HEADERS, Answer, Frame, Voice, chat_body, chat_frames, json_answer

SNAPSHOT = "2026-01-01"


def compose(state: State, asked: Asked, pending: Pending) -> Answer:
    """Return the reply as an answer in the request's mode, its form spoilt as its faults say; note it as issued."""
    reply, mode = pending.reply, MODES[asked.mode]
    calls = _calls(state, reply, signs=mode.signs_calls)
    deltas = deltas_of(reply, calls, mode.fields, details=asked.mode == "details")
    message = merge(deltas)
    step = step_of(message, reply, serial=state.number("step"), model=asked.model)
    state.ledger.issue(step)
    voice = _voice(asked, reply, step, _written(message))
    finish = _finish(reply, message)
    if not asked.body.get("stream"):
        return json_answer(200, chat_body(voice, message, finish))
    frames = _spoilt(chat_frames(voice, deltas, finish), pending, asked.record)
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


def _voice(asked: Asked, reply: Reply, step: Step, written: str) -> Voice:
    options = asked.body.get("stream_options")
    return Voice(
        id=f"chatcmpl_{step.serial}",
        model=reply.model_in_reply or f"{asked.model}-{SNAPSHOT}",
        usage=_usage(asked.record, reply, written, step.reasoning),
        usage_location=reply.usage_location,
        asks_usage=bool(options.get("include_usage")) if isinstance(options, Mapping) else False,
    )


def _written(message: Mapping[str, Any]) -> str:
    """Return all text of a message, each piece once, even where the same reasoning went out under two names."""
    reasoning = next((message[key] for key in TEXT_KEYS if message.get(key)), "")
    arguments = "".join(call["function"]["arguments"] for call in message.get("tool_calls", ()))
    return f"{reasoning}{message['content'] or ''}{arguments}"


def _usage(record: Record, reply: Reply, written: str, reasoning: str) -> dict[str, Any]:
    """Return the usage: as scripted, else counted. Reasoning tokens are part of the completion's."""
    given = reply.usage
    prompt = given.get("input", record.input_tokens)
    completion = given.get("output", tokens(written.encode()))
    reasoned = given.get("reasoning_tokens", tokens(reasoning.encode()))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": given.get("cached_tokens", record.cached_tokens)},
        "completion_tokens_details": {"reasoning_tokens": reasoned},
    }


def _spoilt(frames: tuple[Frame, ...], pending: Pending, record: Record) -> tuple[Frame, ...]:
    for fault in pending.faults():
        if isinstance(fault, MalformedSse):
            frames = spoil(frames, fault.form, fault.event)
            pending.spend(fault)
            record.faults.append(f"malformed_sse:{fault.form}")
    return frames
