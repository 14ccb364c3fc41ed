"""Read the pieces of tool calls in chat-completions deltas, as servers really send them.

A piece belongs to the call of its ``index``; servers also leave it out, send null, or number every call 0 and tell them
apart by id, or by nothing but that they stand in one list, each with its name. Arguments come as pieces of a string,
as null, or whole as an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reasoning.deltas import Channel, Delta
from reasoning.surrogates import SurrogateJoiner, without_halves


class ToolPieces:
    """Turns ``tool_calls`` into deltas whose ``index`` tells the calls of one response apart."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}  # by index given out
        self._by_server_index: dict[int, int] = {}
        self._latest = -1
        self._listed: set[int] = set()  # server indexes in the list at hand
        self._joiners: dict[int, SurrogateJoiner] = {}

    def feed(self, tool_calls: object) -> Iterator[Delta]:
        """Yield one delta for each piece that says anything."""
        self._listed.clear()
        pieces = [tool_calls] if isinstance(tool_calls, Mapping) else tool_calls
        if not isinstance(pieces, list | tuple):
            return
        for piece in pieces:
            if isinstance(piece, Mapping):
                yield from self._read(piece)

    def finish(self) -> Iterator[Delta]:
        """Yield what was held of arguments that end in half a character."""
        for index, joiner in self._joiners.items():
            rest = joiner.finish()
            if rest:
                yield Delta(Channel.TOOL, rest, index)

    def _read(self, piece: Mapping[str, Any]) -> Iterator[Delta]:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _word(piece.get("id")), _word(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        if not (call_id or name or arguments):
            return
        index = self._index(piece.get("index"), call_id, name)
        text = self._joiners.setdefault(index, SurrogateJoiner()).feed(arguments)
        yield Delta(Channel.TOOL, text, index, call_id or None, name or None)

    def _index(self, given: object, call_id: str, name: str) -> int:
        server_index = given if isinstance(given, int) and given >= 0 else None
        index = self._known(server_index, call_id, name)
        if index is None:
            index = self._new(server_index)
        if server_index is not None:
            self._by_server_index[server_index] = index
            self._listed.add(server_index)
        if call_id:
            self._ids[index] = call_id
        self._latest = index
        return index

    def _known(self, server_index: int | None, call_id: str, name: str) -> int | None:
        """Return the index of the call that this piece goes on with, or None for a call that begins."""
        if server_index is not None:
            index = self._by_server_index.get(server_index)
            if index is None or not name:
                return index
            is_other = self._ids.get(index, call_id) != call_id if call_id else server_index in self._listed
            return None if is_other else index
        if call_id:
            return next((index for index, known in self._ids.items() if known == call_id), None)
        return None if name or self._latest < 0 else self._latest

    def _new(self, server_index: int | None) -> int:
        if server_index is not None and server_index not in self._joiners:
            return server_index
        return max(self._joiners, default=-1) + 1


def _word(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else without_halves(value)


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
