"""A scripted reply as a chat completion: deltas, ids, usage; and the ledger's note of what was issued.

The deltas are the one source: a streamed answer sends them, another one sends them merged, and the ledger stores what
they add up to.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from replay_contract_server.faults import spoil_stream
from replay_contract_server.frames import CREATED, DONE, SSE_HEADERS, Answer, Frame, count_usage, event, json_answer
from replay_contract_server.ledger import TEXT_KEYS, Call, Step, signature_of
from replay_contract_server.rules.base import CheckedRequest
from replay_contract_server.script import Chunking, Pending, Reply, arguments_text
from replay_contract_server.state import State

Delta = Mapping[str, Any]
SNAPSHOT = "2026-01-01"  # services answer with a dated name of the model


def chat_answer(state: State, request: CheckedRequest, pending: Pending, *, field: str, signs_calls: bool) -> Answer:
    """Return the reply as a chat answer in the form that was requested; note it as issued."""
    reply, serial = pending.reply, state.number("step")
    calls = []
    for index, scripted in enumerate(reply.tool_calls):
        id_ = scripted.id or f"call_{state.number('call')}"
        signature = f"SIG1.{id_}" if signs_calls and index == 0 else None
        calls.append(Call(id_, scripted.name, arguments_text(scripted.arguments), signature))
    deltas = deltas_of(reply, calls, field, has_details=request.mode == "details")
    message = merge(deltas)
    step = _step_of(message, reply, serial=serial, model=request.model)
    state.ledger.issue(step)

    head = {"id": f"chatcmpl_{serial}", "created": CREATED, "model": f"{request.model}-{SNAPSHOT}"}
    arguments = "".join(call["function"]["arguments"] for call in message.get("tool_calls", ()))
    # Reasoning in tags is a part of the content and counted there.
    thought = next((message[key] for key in TEXT_KEYS if message.get(key)), "")
    written = f"{thought}{message['content'] or ''}{arguments}"
    usage = count_usage(reply.usage, ("prompt", "completion"), request.messages, written, step.reasoning)
    finish = reply.finish
    if finish is UNSET:
        finish = "tool_calls" if message.get("tool_calls") else "stop"
    if not request.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json_answer(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    options = request.body.get("stream_options")
    wants_usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    frames = _frames(head, deltas, finish, usage if wants_usage else None)
    return Answer(200, SSE_HEADERS, spoil_stream(frames, pending), streamed=True, delay_ms=reply.delay_ms)


def deltas_of(reply: Reply, calls: Sequence[Call], field: str, *, has_details: bool) -> list[Delta]:
    """Return the reply's deltas in order. Among explicit ones ``{"hold": name}`` marks where the stream waits."""
    if reply.deltas is not None:
        return list(reply.deltas)
    found: list[Delta] = []
    if not reply.tags:
        parts = reply.reasoning_parts()
        found += [{field: piece} for part in parts for piece in cut(part, reply.chunk)]
        details = reply.reasoning_details
        if details is None and has_details:
            details = [{"type": "reasoning.text", "text": text, "index": n} for n, text in enumerate(parts)]
        found += [{"reasoning_details": [element]} for element in details or ()]
    found += [{"content": piece} for piece in cut(reply.visible_text(), reply.chunk)]
    for index, call in enumerate(calls):
        found += _call_deltas(index, call, reply.chunk)
    return found


def cut(text: str, chunk: Chunking) -> list[str]:
    """Return the text in pieces; joined they are the text."""
    match chunk:
        case "whole":
            return [text] if text else []
        case "word":
            return re.findall(r"\s*\S+|\s+$", text)
    size = 1 if chunk == "char" else int(chunk)
    return [text[i : i + size] for i in range(0, len(text), size)]


def _call_deltas(index: int, call: Call, chunk: Chunking) -> Iterator[Delta]:
    pieces = cut(call.arguments, chunk)
    function = {"name": call.name, "arguments": pieces.pop(0) if chunk == "whole" and pieces else ""}
    first = {"index": index, "id": call.id, "type": "function", "function": function}
    if call.signature:
        first["extra_content"] = {"google": {"thought_signature": call.signature}}
    yield {"tool_calls": [first]}
    for piece in pieces:
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def merge(deltas: Sequence[Delta]) -> dict[str, Any]:
    """Return the whole assistant message that the deltas add up to."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        for key, value in delta.items():
            before: Any = message.get(key)
            if key == "tool_calls":
                _merge_calls(calls, value or [])
            elif key not in ("hold", "role") and type(before) is type(value) and isinstance(value, str | list):
                message[key] = before + value
            elif key != "hold" and value is not None:
                message[key] = value
    return message | ({"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {})


def _merge_calls(calls: dict[int, dict[str, Any]], pieces: Sequence[dict[str, Any]]) -> None:
    for piece in pieces:
        call = calls.setdefault(piece.get("index", 0), {"type": "function", "function": {"name": "", "arguments": ""}})
        call |= {key: value for key, value in piece.items() if key not in ("index", "function")}
        for key, value in piece.get("function", {}).items():
            call["function"][key] = call["function"].get(key, "") + (value or "")


def _step_of(message: Mapping[str, Any], reply: Reply, *, serial: int, model: str) -> Step:
    in_fields = next((message[key] for key in TEXT_KEYS if message.get(key)), "")
    calls = [(call, call["function"]) for call in message.get("tool_calls", ())]
    return Step(
        serial=serial,
        model=model,
        reasoning=reply.reasoning_text() or in_fields,
        content=message["content"] or "",
        calls=tuple(
            Call(call.get("id", ""), function["name"], function["arguments"], signature_of(call))
            for call, function in calls
        ),
        details=tuple(message.get("reasoning_details", ())),
        in_tags=not in_fields,
    )


def _frames(
    head: Mapping[str, Any], deltas: Sequence[Delta], finish: str | None, usage: Mapping[str, Any] | None
) -> tuple[Frame, ...]:
    """Return role, deltas, finish reason, usage if it was asked for, and ``[DONE]``."""
    no_usage = {} if usage is None else {"usage": None}

    def chunk(*choices: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {**head, "object": "chat.completion.chunk", "choices": list(choices), **no_usage, **more}

    frames: list[Frame] = []
    hold: str | None = None
    for delta in ({"role": "assistant"}, *deltas):
        if "hold" in delta:
            hold = delta["hold"]
            continue
        frames.append(event(chunk({"index": 0, "delta": delta, "finish_reason": None}), hold))
        hold = None
    if finish is not None:
        frames.append(event(chunk({"index": 0, "delta": {}, "finish_reason": finish}), hold))
    if usage is not None:
        frames.append(event(chunk(usage=usage)))
    return (*frames, DONE)
