"""Pieces of tool calls, made regular: each with its index, and arguments that are text.

Services differ: some leave the index out, some give every parallel call the index 0 (Gemini's compatible endpoint,
seen 2026), some send the arguments as an object. A call that changes its id under the same index is a new call.
"""

from __future__ import annotations

import json
from typing import Any


class CallPieces:
    """The calls of one response so far."""

    __slots__ = ("_ids", "_index_of", "_last")

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}  # our index: the id that it has
        self._index_of: dict[Any, int] = {}  # the service's index: ours, newest
        self._last = -1

    @property
    def count(self) -> int:
        """How many calls there are so far."""
        return self._last + 1

    def read(self, calls: Any, *, is_whole: bool) -> list[dict[str, Any]]:
        """Return the pieces in ``calls`` in the streamed form. What is no call is passed over."""
        if not isinstance(calls, list):
            return []
        return [self._piece(call, is_whole=is_whole) for call in calls if isinstance(call, dict)]

    def _piece(self, call: dict[str, Any], *, is_whole: bool) -> dict[str, Any]:
        piece = {**call, "index": self._new() if is_whole else self._index(call)}
        if call.get("id"):
            self._ids[piece["index"]] = call["id"]
        function = call.get("function")
        if isinstance(function, dict):
            piece["function"] = {**function, "arguments": _text(function.get("arguments"))}
        return piece

    def _index(self, call: dict[str, Any]) -> int:
        theirs, call_id = call.get("index"), call.get("id")
        if call_id and call_id in self._ids.values():
            return next(index for index, known in self._ids.items() if known == call_id)
        ours = self._index_of.get(theirs) if theirs is not None else self._open_call(call_id)
        is_other = ours is not None and call_id and self._ids.get(ours, call_id) != call_id and _names(call)
        if ours is None or is_other:
            ours = self._new()
        if theirs is not None:
            self._index_of[theirs] = ours
        return ours

    def _open_call(self, call_id: Any) -> int | None:
        """Without an index, a piece with an id begins a call, and one without goes on with the last."""
        return None if call_id or self._last < 0 else self._last

    def _new(self) -> int:
        self._last += 1
        return self._last


def _names(call: dict[str, Any]) -> bool:
    function = call.get("function")
    return isinstance(function, dict) and bool(function.get("name"))


def _text(arguments: Any) -> str:
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
