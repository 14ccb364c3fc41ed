"""From a scripted reply to the output items of a response, each with the pieces that its text goes out in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.contract_server.deltas import content_of, cut, parts_of
from tests.contract_server.items import CallScript, HoldScript, ItemScript, MessageScript, RawScript, ReasoningScript
from tests.contract_server.ledger import TEXT_KEYS
from tests.contract_server.script import Reply, arguments_text

Kind = Literal["reasoning", "message", "function_call", "raw"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one delta event; ``hold``: wait for this release first."""

    text: str
    hold: str | None = None


@dataclass(slots=True)
class Draft:
    """An item before it has its ids. ``parts`` are a summary's, or the one text; ``raw_text`` is a thought itself."""

    kind: Kind
    parts: list[list[Piece]] = field(default_factory=list)
    raw_text: list[Piece] = field(default_factory=list)
    id: str | None = None
    call_id: str | None = None
    name: str = ""
    sealed: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    hold: str | None = None
    index: int = 0

    def texts(self) -> list[str]:
        """Return the whole text of each part."""
        return ["".join(piece.text for piece in part) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Plan:
    """The items of a response in order; ``hold`` is waited for before it ends."""

    drafts: tuple[Draft, ...]
    hold: str | None = None


def plan_of(reply: Reply, *, empty_summary: bool) -> Plan:
    """Return what a reply says as items. ``empty_summary`` takes the text from the reasoning, and leaves its seal."""
    plan = _from_deltas(reply.deltas) if reply.deltas is not None else _from_items(_items_of(reply), reply)
    if empty_summary:
        return replace(plan, drafts=tuple(_without_summary(one) for one in plan.drafts))
    return plan


def _without_summary(draft: Draft) -> Draft:
    return replace(draft, parts=[]) if draft.kind == "reasoning" else draft


def _items_of(reply: Reply) -> Iterator[ItemScript]:
    """Yield the reply's items: as listed, else what its plain keys amount to."""
    if reply.items is not None:
        yield from reply.items
        return
    in_content = reply.tags is not None or reply.stray_close
    if reply.reasoning is not None and not in_content:
        yield ReasoningScript(summary=parts_of(reply))
    if text := content_of(reply, tagged=in_content):
        yield MessageScript(text=text)
    yield from (CallScript(name=one.name, arguments=one.arguments, call_id=one.id) for one in reply.tool_calls)


def _from_items(items: Iterator[ItemScript], reply: Reply) -> Plan:
    drafts: list[Draft] = []
    hold: str | None = None
    for item in items:
        if isinstance(item, HoldScript):
            hold = item.name
            continue
        drafts.append(replace(_draft(item, lambda text: [Piece(one) for one in cut(text, reply.chunk)]), hold=hold))
        hold = None
    return Plan(tuple(drafts), hold)


def _draft(
    item: ReasoningScript | MessageScript | CallScript | RawScript, pieces: Callable[[str], list[Piece]]
) -> Draft:
    match item:
        case ReasoningScript():
            summary = [item.summary] if isinstance(item.summary, str) else item.summary
            parts = [pieces(part) for part in summary if part]
            return Draft("reasoning", parts, pieces(item.text), id=item.id, sealed=item.encrypted_content)
        case MessageScript():
            return Draft("message", [pieces(item.text)], id=item.id)
        case CallScript():
            arguments = [pieces(arguments_text(item.arguments))]
            return Draft("function_call", arguments, id=item.id, call_id=item.call_id, name=item.name)
        case RawScript():
            return Draft("raw", raw=item.item)


def _from_deltas(deltas: Sequence[Mapping[str, Any]]) -> Plan:
    """Read a chat API's deltas: a new item begins wherever the kind of text, or the call, changes."""
    drafts: list[Draft] = []
    hold: str | None = None
    for delta in deltas:
        if "hold" in delta:
            hold = delta["hold"]
        for one in _pieces_in(delta):
            draft = _continued(drafts, one)
            if draft is None:
                drafts.append(one)
                one.hold = hold
            else:
                draft.parts[0] += [replace(piece, hold=hold) for piece in one.parts[0]]
            hold = None
    return Plan(tuple(drafts), hold)


def _pieces_in(delta: Mapping[str, Any]) -> Iterator[Draft]:
    """Yield the texts of one delta, each as an item of its own. The same thought under two names is one."""
    if thought := next((delta[key] for key in TEXT_KEYS if delta.get(key)), None):
        yield Draft("reasoning", [[Piece(thought)]])
    if delta.get("content"):
        yield Draft("message", [[Piece(delta["content"])]])
    for call in delta.get("tool_calls") or ():
        function = call.get("function", {})
        pieces = [Piece(function["arguments"])] if function.get("arguments") else []
        name, index = function.get("name", ""), call.get("index", 0)
        yield Draft("function_call", [pieces], call_id=call.get("id"), name=name, index=index)


def _continued(drafts: Sequence[Draft], piece: Draft) -> Draft | None:
    """Return the item that this piece goes on with: the call of its index, or the newest item of its kind."""
    if piece.kind == "function_call":
        calls = (one for one in drafts if one.kind == "function_call" and one.index == piece.index)
        return next(calls, None)
    newest = drafts[-1] if drafts else None
    return newest if newest and newest.kind == piece.kind else None
