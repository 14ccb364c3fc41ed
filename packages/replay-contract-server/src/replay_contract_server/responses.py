"""A scripted reply as a response of the Responses API: items, ids, events or one body; and the ledger's note of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import Any, Literal

from msgspec import UNSET

from replay_contract_server.chat import SNAPSHOT, cut
from replay_contract_server.faults import spoil_stream
from replay_contract_server.frames import CREATED, SSE_HEADERS, Answer, Frame, count_usage, event, json_answer
from replay_contract_server.ledger import TEXT_KEYS, Call, Item, Seal, Step, seal
from replay_contract_server.rules.base import CheckedRequest
from replay_contract_server.script import (
    CallOutput,
    ErrorEvent,
    Knobs,
    MessageOutput,
    Pending,
    ReasoningOutput,
    Reply,
    arguments_text,
)
from replay_contract_server.state import State

IN_PROGRESS = {"status": "in_progress"}
OUTCOMES = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "incomplete:max_output_tokens",
    "content_filter": "incomplete:content_filter",
}
CONSTANT: dict[str, Any] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one delta event; ``hold``: wait for this release first."""

    text: str
    hold: str | None = None


@dataclass(slots=True)
class Draft:
    """An output item with its text in pieces. ``parts`` are a summary's, or the one text.

    ``item`` is what its done event carries, ``announced`` its added event.
    """

    kind: Literal["reasoning", "message", "function_call"]
    parts: list[list[Piece]] = field(default_factory=list)
    part_types: tuple[str, ...] = ()  # of a message's parts
    phase: str = ""
    call_id: str | None = None
    name: str = ""
    hold: str | None = None
    index: int = 0
    item: Item = field(default_factory=dict)
    announced: Item = field(default_factory=dict)

    def texts(self) -> list[str]:
        """Return the whole text of each part."""
        return ["".join(piece.text for piece in part) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Response:
    """What is the same in every snapshot of a response."""

    id: str
    model: str
    usage: Mapping[str, Any]
    reasoning: Mapping[str, Any]

    def snapshot(self, status: str, reason: str, output: Sequence[Item]) -> dict[str, Any]:
        """Return the response object; usage comes with the end. ``reason``: of an incomplete or failed one."""
        error = (
            {"code": reason or "server_error", "message": "The server had an error."} if status == "failed" else None
        )
        return {
            "id": self.id,
            "object": "response",
            "created_at": CREATED,
            "model": self.model,
            "store": False,
            "status": status,
            "error": error if status == "failed" else None,
            "incomplete_details": {"reason": reason or "max_output_tokens"} if status == "incomplete" else None,
            "output": list(output),
            **CONSTANT,
            "reasoning": self.reasoning,
            "usage": None if status == "in_progress" else self.usage,
        }

    def error_event(self, fault: ErrorEvent, number: int) -> Frame:
        """Return the event that ends a stream in an error, in one of the three forms that services use."""
        code = fault.code or "server_error"
        if fault.event == "error":
            return numbered(number, "error", code=code, message=fault.message, param=None)
        status = fault.event.removeprefix("response.")
        snapshot = self.snapshot(status, "" if fault.code is None else str(fault.code), [])
        if status == "failed":
            snapshot["error"] = {"code": code, "message": fault.message}
        return numbered(number, fault.event, response=snapshot)


def response_answer(state: State, request: CheckedRequest, pending: Pending) -> Answer:
    """Return the reply as a response in the form that was requested; note its items as issued."""
    reply, knobs = pending.reply, request.knobs
    response_id, serial = f"resp_{state.number('resp')}", state.number("step")
    # 1. What the reply says, as items.
    drafts, hold = _drafts_of_deltas(reply.deltas) if reply.deltas is not None else (list(_drafts_of(reply)), None)
    status, reason = "completed", ""
    if isinstance(reply.finish, str):
        status, _, reason = OUTCOMES.get(reply.finish, reply.finish).partition(":")
    for draft in drafts:
        if knobs.empty_summary and draft.kind == "reasoning":
            draft.parts = []
        is_last_of_incomplete = status == "incomplete" and draft is drafts[-1]
        _complete(draft, state, request, response_id, serial, "incomplete" if is_last_of_incomplete else "completed")
    state.ledger.issue(_step_of(request, serial, drafts))
    # 2. The response around them.
    given = request.body.get("reasoning")
    echo = {"effort": None, "summary": None, **(given if isinstance(given, Mapping) else {})}
    written = "".join(text for draft in drafts for text in draft.texts())
    thought = "".join(text for draft in drafts if draft.kind == "reasoning" for text in draft.texts())
    usage = count_usage(reply.usage, ("input", "output"), request.input, written, thought)
    response = Response(response_id, f"{request.model}-{SNAPSHOT}", usage, echo)
    settle = partial(state.ledger.settle, serial)
    items = [draft.item for draft in drafts]
    if not request.body.get("stream"):
        body = response.snapshot(status, reason, items)
        return replace(json_answer(200, body, settles=status == "completed"), settle=settle)
    # 3. Its events. Without a finish the stream has no final one.
    start = {"response": response.snapshot("in_progress", "", [])}
    events = [("response.created", start, None), ("response.in_progress", start, None), *_item_events(drafts, knobs)]
    if reply.finish is UNSET or reply.finish is not None:
        final = response.snapshot(status, reason, [] if knobs.omit_completed_output else items)
        events.append((f"response.{status}", {"response": final}, hold))
    frames = [numbered(n, name, event_hold, **values) for n, (name, values, event_hold) in enumerate(events)]
    if events[-1][0] == "response.completed":
        frames[-1] = replace(frames[-1], settles=True)
    spoilt = spoil_stream(tuple(frames), pending)
    return Answer(200, SSE_HEADERS, spoilt, True, reply.delay_ms, settle, response.error_event)


def _drafts_of(reply: Reply) -> Iterator[Draft]:
    """Yield the reply's items: as listed, or what its plain keys amount to."""

    def pieces(text: str) -> list[Piece]:
        return [Piece(one) for one in cut(text, reply.chunk)]

    items: list[ReasoningOutput | MessageOutput | CallOutput] = []
    if reply.items is not None:
        items += reply.items
    else:
        if reply.reasoning is not None and not reply.tags:
            items.append(ReasoningOutput(summary=reply.reasoning_parts()))
        if text := reply.visible_text():
            items.append(MessageOutput(text=text))
        items += [CallOutput(name=one.name, arguments=one.arguments, call_id=one.id) for one in reply.tool_calls]
    for item in items:
        match item:
            case ReasoningOutput():
                yield Draft("reasoning", [pieces(part) for part in item.summary if part])
            case MessageOutput():
                parts = {"output_text": item.text, "refusal": item.refusal}
                types = tuple(kind for kind, text in parts.items() if text)
                yield Draft("message", [pieces(parts[kind]) for kind in types], types, item.phase)
            case CallOutput():
                arguments = arguments_text(item.arguments)
                yield Draft("function_call", [pieces(arguments)], call_id=item.call_id, name=item.name)


def _drafts_of_deltas(deltas: Sequence[Mapping[str, Any]]) -> tuple[list[Draft], str | None]:
    """Read a chat API's deltas: a new item begins wherever the kind of text, or the call, changes.

    Returns the items and the release that the end of the response waits for.
    """
    drafts: list[Draft] = []
    hold: str | None = None
    for delta in deltas:
        hold = delta.get("hold", hold)
        for one in _drafts_of_delta(delta):
            calls = (draft for draft in drafts if draft.kind == "function_call" and draft.index == one.index)
            newest = drafts[-1] if drafts and drafts[-1].kind == one.kind else None
            known = next(calls, None) if one.kind == "function_call" else newest
            if known is None:
                one.hold = hold
                drafts.append(one)
            else:
                known.parts[0] += [replace(piece, hold=hold) for piece in one.parts[0]]
            hold = None
    return drafts, hold


def _drafts_of_delta(delta: Mapping[str, Any]) -> Iterator[Draft]:
    if thought := next((delta[key] for key in TEXT_KEYS if delta.get(key)), None):
        yield Draft("reasoning", [[Piece(thought)]])
    if delta.get("content"):
        yield Draft("message", [[Piece(delta["content"])]])
    for call in delta.get("tool_calls") or ():
        function = call.get("function", {})
        pieces = [Piece(function["arguments"])] if function.get("arguments") else []
        name, index = function.get("name", ""), call.get("index", 0)
        yield Draft("function_call", [pieces], call_id=call.get("id"), name=name, index=index)


def _complete(draft: Draft, state: State, request: CheckedRequest, response_id: str, serial: int, status: str) -> None:
    """Fill in the item with its ids and encrypted content."""
    match draft.kind:
        case "reasoning":
            id_ = f"rs_{state.number('rs')}"
            content = Seal(request.model, id_, request.account, response_id, serial)
            item: dict[str, Any] = {"type": "reasoning", "id": id_, "summary": []}
            # The announcement carries what looks like ciphertext and is never accepted.
            draft.announced = {**item, "encrypted_content": seal(content, "ENC0")}
            summary = [_text_part("summary_text", text) for text in draft.texts()]
            item |= {"summary": summary, "encrypted_content": seal(content)}
            draft.item = item | request.knobs.extra_item_keys
        case "message":
            types = draft.part_types or ("output_text",)
            parts = [_text_part(kind, text) for kind, text in zip(types, draft.texts(), strict=True)]
            item = {"type": "message", "id": f"msg_{state.number('msg')}", "role": "assistant", "content": parts}
            item |= {"phase": draft.phase} if draft.phase else {}
            draft.item, draft.announced = {**item, "status": status}, {**item, "content": [], **IN_PROGRESS}
        case "function_call":
            call_id = draft.call_id or f"call_{state.number('call')}"
            item = {"type": "function_call", "id": f"fc_{state.number('fc')}", "call_id": call_id}
            item |= {"name": draft.name, "arguments": draft.texts()[0]}
            draft.item, draft.announced = {**item, "status": status}, {**item, "arguments": "", **IN_PROGRESS}


def _step_of(request: CheckedRequest, serial: int, drafts: Sequence[Draft]) -> Step:
    calls = [draft.item for draft in drafts if draft.kind == "function_call"]
    summaries: list[str] = []
    for draft in drafts:
        if draft.kind == "reasoning":
            # The parts, and what a client makes of them: none of it may come back as a thought.
            texts = draft.texts()
            summaries += {*texts, "".join(texts), "\n\n".join(texts)} - {""}
    return Step(
        serial=serial,
        model=request.model,
        content="".join(text for draft in drafts if draft.kind == "message" for text in draft.texts()),
        calls=tuple(Call(one["call_id"], one["name"], one["arguments"]) for one in calls),
        items=tuple(draft.item for draft in drafts),
        summaries=tuple(summaries),
    )


def numbered(number: int, name: str, hold: str | None = None, /, **values: Any) -> Frame:
    return event({"type": name, "sequence_number": number, **values}, hold)


def _item_events(drafts: Sequence[Draft], knobs: Knobs) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    """Yield the events of all items; done events at once, or in reverse at the end."""
    late = []
    if knobs.interleaved:
        for index, draft in enumerate(drafts):
            yield "response.output_item.added", {"output_index": index, "item": draft.announced}, draft.hold
        for events in zip_longest(*(_text_events(index, draft) for index, draft in enumerate(drafts))):
            yield from filter(None, events)
    for index, draft in enumerate(drafts):
        if not knobs.interleaved:
            yield "response.output_item.added", {"output_index": index, "item": draft.announced}, draft.hold
            yield from _text_events(index, draft)
        done = ("response.output_item.done", {"output_index": index, "item": draft.item}, None)
        if draft.kind == "reasoning" and knobs.omit_reasoning_done:
            continue
        if knobs.done_order == "reversed":
            late.append(done)
        else:
            yield done
    yield from reversed(late)


def _text_events(index: int, draft: Draft) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    where = {"item_id": draft.item["id"], "output_index": index}
    if draft.kind == "function_call":
        yield from _delta_events("response.function_call_arguments", where, "arguments", draft.parts[0])
        return
    is_summary = draft.kind == "reasoning"
    part_event = "response.reasoning_summary_part" if is_summary else "response.content_part"
    types = draft.part_types or ("summary_text" if is_summary else "output_text",) * len(draft.parts)
    for n, (pieces, text, part_type) in enumerate(zip(draft.parts, draft.texts(), types, strict=True)):
        place = where | {"summary_index" if is_summary else "content_index": n}
        text_event = f"response.{'reasoning_' if is_summary else ''}{part_type}"
        yield f"{part_event}.added", {**place, "part": _text_part(part_type, "")}, None
        yield from _delta_events(text_event, place, "refusal" if part_type == "refusal" else "text", pieces)
        yield f"{part_event}.done", {**place, "part": _text_part(part_type, text)}, None


def _delta_events(
    name: str, where: Mapping[str, Any], key: str, pieces: Sequence[Piece]
) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    for piece in pieces:
        yield f"{name}.delta", {**where, "delta": piece.text}, piece.hold
    yield f"{name}.done", {**where, key: "".join(piece.text for piece in pieces)}, None


def _text_part(part_type: str, text: str) -> dict[str, Any]:
    if part_type == "refusal":
        return {"type": part_type, "refusal": text}
    return {"type": part_type, "text": text} | ({"annotations": []} if part_type == "output_text" else {})
