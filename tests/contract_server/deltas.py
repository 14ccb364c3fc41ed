"""From a scripted reply to the deltas of a chat stream, and back to the whole message.

The deltas are the one source: a streamed answer sends them, one that is not streamed sends them merged, and the ledger
keeps what they add up to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contract_server.ledger import TEXT_KEYS, Call, Step
from tests.contract_server.rules.opaque import signature_of
from tests.contract_server.script import Chunking, Reply

Delta = Mapping[str, Any]


def deltas_of(reply: Reply, calls: Sequence[Call], fields: Sequence[str], *, details: bool) -> list[Delta]:
    """Return the reply's deltas in order. Among explicit ones, ``{"hold": name}`` stands where the stream waits."""
    if reply.deltas is not None:
        return list(reply.deltas)
    names = reply.fields or ([reply.field] if reply.field else fields)
    in_content = reply.tags is not None or reply.stray_close
    found: list[Delta] = []
    if not in_content:
        found += [dict.fromkeys(names, piece) for part in parts_of(reply) for piece in cut(part, reply.chunk)]
        found += [{"reasoning_details": [element]} for element in _details(reply, wanted=details)]
    found += [{"content": piece} for piece in cut(content_of(reply, tagged=in_content), reply.chunk)]
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


def parts_of(reply: Reply) -> list[str]:
    return [reply.reasoning] if isinstance(reply.reasoning, str) else list(reply.reasoning or [])


def _details(reply: Reply, *, wanted: bool) -> list[dict[str, Any]]:
    if reply.reasoning_details is not None:
        return reply.reasoning_details
    parts = parts_of(reply) if wanted else []
    return [{"type": "reasoning.text", "text": text, "index": n} for n, text in enumerate(parts)]


def content_of(reply: Reply, *, tagged: bool) -> str:
    if not tagged:
        return reply.content or ""
    opening, closing = reply.tag_pair()
    return f"{'' if reply.stray_close else opening}{reply.reasoning_text()}{closing}{reply.content or ''}"


def _call_deltas(index: int, call: Call, chunk: Chunking) -> Iterator[Delta]:
    pieces = cut(call.arguments, chunk)
    at_once = pieces.pop(0) if chunk == "whole" and pieces else ""
    function = {"name": call.name, "arguments": at_once}
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
            if key == "tool_calls":
                _merge_calls(calls, value or [])
            elif key != "hold":
                _merge_value(message, key, value)
    return message | ({"tool_calls": [calls[index] for index in sorted(calls)]} if calls else {})


def _merge_value(message: dict[str, Any], key: str, value: Any) -> None:
    before = message.get(key)
    together = type(before) is type(value) and isinstance(value, (str, list)) and key != "role"
    if together:
        message[key] = before + value
    elif value is not None:
        message[key] = value


def _merge_calls(calls: dict[int, dict[str, Any]], pieces: Sequence[dict[str, Any]]) -> None:
    for piece in pieces:
        call = calls.setdefault(piece.get("index", 0), {"type": "function", "function": {"name": "", "arguments": ""}})
        call |= {key: value for key, value in piece.items() if key not in ("index", "function")}
        for key, value in piece.get("function", {}).items():
            call["function"][key] = call["function"].get(key, "") + (value or "")


def step_of(message: Mapping[str, Any], reply: Reply, *, serial: int, model: str) -> Step:
    """Return the ledger's entry for a message; reasoning that the reply declares goes before what its fields show."""
    in_fields = next((message[key] for key in TEXT_KEYS if message.get(key)), "")
    return Step(
        serial=serial,
        model=model,
        reasoning=reply.reasoning_text() or in_fields,
        content=message["content"] or "",
        calls=tuple(_issued_call(call) for call in message.get("tool_calls", ())),
        details=tuple(message.get("reasoning_details", ())),
        in_tags=not in_fields,
    )


def _issued_call(call: Mapping[str, Any]) -> Call:
    function = call["function"]
    return Call(call.get("id", ""), function["name"], function["arguments"], signature_of(call))
