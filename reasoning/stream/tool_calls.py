"""Tool calls of one provider response: read their pieces, and put them together.

A piece belongs to the call of its ``index``; servers also leave it out, send null, or number every call 0 and separate
the calls by id, or by nothing but that they are in one list, each with its name. Arguments come as pieces of a string,
as null, or whole as an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reasoning.deltas import Channel, Delta
from reasoning.events import ToolCall
from reasoning.redaction import mask_private
from reasoning.stream.limits import utf8_bytes
from reasoning.stream.surrogates import SurrogateJoiner, repair_surrogates


class ToolCallReader:
    """Turn ``tool_calls`` fields into deltas whose ``index`` identifies the calls of one response."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}  # call ids, by our index
        self._by_server_index: dict[int, int] = {}
        self._latest = -1
        self._listed: set[int] = set()  # server indexes in the current list
        self._joiners: dict[int, SurrogateJoiner] = {}

    def feed(self, tool_calls: object) -> Iterator[Delta]:
        """Yield one delta for each piece that has an id, a name or arguments."""
        self._listed.clear()
        for piece in mappings_in([tool_calls] if isinstance(tool_calls, Mapping) else tool_calls):
            function = piece.get("function")
            function = function if isinstance(function, Mapping) else {}
            call_id, name = _string(piece.get("id")), _string(function.get("name"))
            arguments = _arguments(function.get("arguments"))
            if call_id or name or arguments:
                index = self._index(piece.get("index"), call_id, name)
                text = self._joiners.setdefault(index, SurrogateJoiner()).feed(arguments)
                yield Delta(Channel.TOOL, text, index, call_id or None, name or None)

    def finish(self) -> Iterator[Delta]:
        """Yield what was held back of arguments that end in half a character."""
        for index, joiner in self._joiners.items():
            rest = joiner.finish()
            if rest:
                yield Delta(Channel.TOOL, rest, index)

    def _index(self, given: object, call_id: str, name: str) -> int:
        server_index = given if isinstance(given, int) and given >= 0 else None
        index = self._known_index(server_index, call_id, name)
        if index is None:  # a call that begins
            is_free = server_index is not None and server_index not in self._joiners
            index = server_index if server_index is not None and is_free else max(self._joiners, default=-1) + 1
        if server_index is not None:
            self._by_server_index[server_index] = index
            self._listed.add(server_index)
        if call_id:
            self._ids[index] = call_id
        self._latest = index
        return index

    def _known_index(self, server_index: int | None, call_id: str, name: str) -> int | None:
        """Return the index of the call that this piece continues, or None for a call that begins."""
        if server_index is not None:
            index = self._by_server_index.get(server_index)
            if index is None or not name:
                return index
            # Some servers number every call 0: another id, or a second name in one list, begins another call.
            is_other = self._ids.get(index, call_id) != call_id if call_id else server_index in self._listed
            return None if is_other else index
        if call_id:
            return next((index for index, known in self._ids.items() if known == call_id), None)
        return None if name or self._latest < 0 else self._latest


@dataclass(slots=True)
class _PartialCall:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    bytes: int = 0  # of id, name and arguments


class ToolCallAssembler:
    """Put the calls of one step together from the deltas on the tool channel."""

    def __init__(self) -> None:
        self._calls: dict[int, _PartialCall] = {}
        self._signatures: dict[str | int, Any] = {}  # by call id, or by index where the piece had no id
        self.longest_bytes = 0  # of the longest call, with its id and name

    def __len__(self) -> int:
        return len(self._calls)

    def feed(self, delta: Delta) -> bool:
        """Add a piece of a call; return whether it begins one."""
        index = delta.index or 0
        is_new = index not in self._calls
        call = self._calls.setdefault(index, _PartialCall())
        call.call_id = call.call_id or delta.call_id or ""
        call.name = call.name or delta.name or ""
        call.arguments.append(str(delta.text))
        call.bytes += utf8_bytes(f"{delta.call_id or ''}{delta.name or ''}{delta.text}")
        self.longest_bytes = max(self.longest_bytes, call.bytes)
        return is_new

    def feed_signatures(self, tool_calls: object) -> list[Mapping[str, Any]]:
        """Remember what the service put on its calls (``extra_content``): it must go back as it came. Return it."""
        found = []
        for position, piece in enumerate(mappings_in(tool_calls)):
            extra = piece.get("extra_content")
            if not isinstance(extra, Mapping):
                continue
            call_id, index = _string(piece.get("id")), piece.get("index")
            self._signatures[call_id or (index if isinstance(index, int) else position)] = extra
            found.append(extra)
        return found

    def finish(self, *, turn_id: str, step: int) -> dict[int, ToolCall]:
        """Return the calls by index, each under an id of its own: ours where none came or it was used before."""
        used = {""}
        finished: dict[int, ToolCall] = {}
        for index, call in sorted(self._calls.items()):
            # Derived, not random: the same deltas give the same events.
            call_id = f"call_{turn_id[:8]}_{step}_{index}" if call.call_id in used else call.call_id
            used.add(call_id)
            finished[index] = ToolCall(
                call_id=call_id, name=mask_private(call.name), arguments="".join(call.arguments), step=step
            )
        return finished

    def signatures(self, calls: Mapping[int, ToolCall]) -> Iterator[dict[str, Any]]:
        """Yield the signature of each call that has one."""
        for index, call in calls.items():
            extra = self._signatures.get(call.call_id, self._signatures.get(index))
            if extra is not None:
                yield {"call_id": call.call_id, "extra_content": extra}


def mappings_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; anything else that a server sends is ignored."""
    if isinstance(value, list | tuple):
        yield from (element for element in value if isinstance(element, Mapping))


def _string(value: object) -> str:
    return repair_surrogates(value) if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
