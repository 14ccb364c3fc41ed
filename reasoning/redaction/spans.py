"""What a rule reports: stretches of a text and what to show instead.

A text is cut into segments before any rule sees it (see ``stream``); a ``Rule`` finds stretches in one segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """One stretch ``[start, end)`` of a segment, its mask, and the kind that is counted."""

    start: int
    end: int
    mask: str
    kind: str


def secret(found: re.Match[str], group: str = "value", length: int | None = None) -> Span:
    """Return the span of a group of a match, or of its first ``length`` characters. The policy sets the mask."""
    start = found.start(group)
    return Span(start, found.end(group) if length is None else start + length, "", "secret")


@dataclass(frozen=True, slots=True)
class Rule:
    """``find`` runs on a segment in which one of ``triggers`` was seen."""

    triggers: frozenset[str]
    find: Callable[[str], Iterable[Span]]


def merge(found: Sequence[Span], redacted: str) -> list[Span]:
    """Return the spans in order, none overlapping. Where two overlap the secret wins; the union is masked."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            merged[-1] = _union(merged[-1], span, redacted)
        else:
            merged.append(span)
    return merged


def _union(first: Span, second: Span, redacted: str) -> Span:
    if first.kind == second.kind == "email":
        return first
    if second.kind == "email" and first.kind != "email" and second.end > first.end:
        return first  # half a user:password@host looks like an address; the host may stay
    kind = "secret" if "secret" in (first.kind, second.kind) else first.kind
    return Span(first.start, max(first.end, second.end), redacted, kind)


def whole_run(text: str, span: Span) -> Span:
    """Return the span up to the end of the letters and digits that it breaks off in, so that no rest is left over."""
    end = span.end
    if span.mask or end >= len(text) or not text[end - 1].isalnum():
        return span
    while end < len(text) and text[end].isascii() and text[end].isalnum():
        end += 1
    return span._replace(end=end)


def apply(text: str, spans: Sequence[Span]) -> str:
    """Return ``text`` with every span replaced by its mask."""
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += (text[done : span.start], span.mask)
        done = span.end
    parts.append(text[done:])
    return "".join(parts)
