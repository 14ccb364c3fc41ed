"""What a response carries beside its text: signatures on calls, and the service's own summary of its thinking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoning.redaction import redact_text

MAX_STATUS_CHARS = 120
MAX_LINE_CHARS = 1_000  # of a line that has no end yet; more of it would not be shown


class CallSignatures:
    """Collects what a service put on its calls (``extra_content``), which must come back as it came."""

    def __init__(self) -> None:
        self._extras: dict[str | int, Any] = {}  # by call id, or by index where the piece had no id

    def feed(self, tool_calls: object) -> None:
        for position, piece in enumerate(tool_calls if isinstance(tool_calls, list | tuple) else ()):
            extra = piece.get("extra_content") if isinstance(piece, Mapping) else None
            if isinstance(extra, Mapping):
                self._extras[_key(piece, position)] = extra

    def of(self, calls: Sequence[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        """Yield the signature of each call that has one; ``calls`` are (index, call id)."""
        for index, call_id in calls:
            extra = self._extras.get(call_id, self._extras.get(index))
            if extra is not None:
                yield {"call_id": call_id, "extra_content": extra}


class StatusLines:
    """Makes status lines of a service's summary of its own thinking: shown while it lasts, never kept (product 7)."""

    def __init__(self) -> None:
        self._line = ""

    def feed(self, text: object) -> str:
        """Return the last line that ended, redacted; empty where none did."""
        if not isinstance(text, str):
            return ""
        whole, ended, rest = (self._line + text).rpartition("\n")
        self._line = rest[:MAX_LINE_CHARS]
        lines = [line.strip(" *#\t") for line in whole.split("\n")] if ended else []
        shown = [line for line in lines if line and "<" not in line]  # no delimiter of any kind
        return redact_text(shown[-1])[:MAX_STATUS_CHARS] if shown else ""


def _key(piece: Mapping[str, Any], position: int) -> str | int:
    call_id, index = piece.get("id"), piece.get("index")
    if isinstance(call_id, str) and call_id:
        return call_id
    return index if isinstance(index, int) else position
