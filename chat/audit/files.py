"""Files: logs, and a database's own file, searched byte by byte for delimiters and canaries.

A file can't say who typed what, so a delimiter in the database's file may be a person's own. A text that the database
spread over several pages is found in its table, not here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from chat.audit.findings import Finding, Kind
from reasoning.tagscan import Tag, TagScanner

CHUNK_BYTES = 1 << 20
_BESIDE = ("-wal", "-journal")


def look_through_file(path: Path, canaries: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield what a file holds, and what lies in the write-ahead log beside it. Raises OSError."""
    yield from _look_through(path, canaries)
    for beside in (path.with_name(path.name + ending) for ending in _BESIDE):
        if beside.exists():
            yield from _look_through(beside, canaries)


def _look_through(path: Path, canaries: Sequence[str]) -> Iterator[Finding]:
    wanted = [form for canary in canaries for form in _forms(canary)]
    scanner = TagScanner()
    overlap = max((len(form) for form in wanted), default=1) - 1
    tail = b""
    position = 0  # of the scanner
    read = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            for token in scanner.feed(chunk.decode("latin-1")):
                if isinstance(token, Tag):
                    kind = Kind.SCRATCHPAD if token.name == "scratchpad" else Kind.DELIMITER
                    yield Finding(str(path), f"byte {position}", "", kind)
                position += len(token.raw if isinstance(token, Tag) else token)
            for place in _places(tail + chunk, wanted, len(tail)):
                yield Finding(str(path), f"byte {read - len(tail) + place}", "", Kind.CANARY)
            read += len(chunk)
            tail = (tail + chunk)[-overlap:] if overlap else b""


def _forms(canary: str) -> set[bytes]:
    """Return a text as it may be written: in UTF-8, and escaped as JSON does."""
    return {canary.encode(), json.dumps(canary)[1:-1].encode(), json.dumps(canary, ensure_ascii=False)[1:-1].encode()}


def _places(data: bytes, wanted: Sequence[bytes], seen: int) -> Iterator[int]:
    """Yield where a wanted text stands in ``data``, unless it lies whole in the first ``seen`` bytes."""
    for form in wanted:
        place = data.find(form, max(seen - len(form) + 1, 0))
        while place >= 0:
            yield place
            place = data.find(form, place + len(form))
