"""What the audit looks for in one text, and how it tells where that was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from reasoning.redaction import REDACTED, SECRETS_ONLY, UNAVAILABLE, KeyKind, Redactor, classify
from reasoning.tagscan import Tag, TagScanner

_MARKS: Final = frozenset({"", REDACTED, UNAVAILABLE})
_MAX_DEPTH: Final = 64


class Kind(StrEnum):
    """What lies where it should not."""

    DELIMITER = "delimiter"
    SCRATCHPAD = "scratchpad"
    SECRET = "secret"  # noqa: S105 - a kind, no password
    PERSONAL = "personal data"
    UNSEALED = "unsealed"
    REPEATED = "repeats sealed thinking"
    CANARY = "canary"


TEXT_KINDS: Final = frozenset({Kind.DELIMITER, Kind.SCRATCHPAD, Kind.SECRET, Kind.CANARY})


@dataclass(frozen=True, slots=True)
class Finding:
    """A place and what lies there. Of a file, ``table`` is its path and ``row`` the byte where it begins."""

    table: str
    row: str
    column: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.table} {self.row}{' ' if self.column else ''}{self.column}: {self.kind}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One text of a value. ``key`` is the name it stands under, ``top`` the first one; both empty outside of JSON."""

    text: str
    key: str = ""
    top: str = ""


def leaves(value: Any, *, key: str = "", top: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the texts of a JSON value, the names in it included."""
    match value:
        case str():
            yield Leaf(value, key, top)
        case Mapping():
            for name, item in value.items():
                yield Leaf(str(name), "", top)
                yield from _below(item, key=str(name), top=top or str(name), depth=depth)
        case list() | tuple():
            for item in value:
                yield from _below(item, key=key, top=top, depth=depth)


def _below(value: Any, *, key: str, top: str, depth: int) -> Iterator[Leaf]:
    """Go one level down; what lies deeper than any value of ours is looked at as one text."""
    if depth < _MAX_DEPTH:
        yield from leaves(value, key=key, top=top, depth=depth + 1)
    elif value is not None:
        yield Leaf(str(value), key, top)


def kinds_in(leaf: Leaf, sought: Set[Kind] = TEXT_KINDS, canaries: Sequence[str] = ()) -> Iterator[Kind]:
    """Yield what a text holds of the kinds ``sought``, each once."""
    yield from (kind for kind, holds in _CHECKS.items() if kind in sought and holds(leaf))
    if Kind.CANARY in sought and any(canary in leaf.text for canary in canaries):
        yield Kind.CANARY


def _has_delimiter(leaf: Leaf) -> bool:
    return bool(_tag_names(leaf.text) - {"scratchpad"})


def _has_scratchpad(leaf: Leaf) -> bool:
    return "scratchpad" in _tag_names(leaf.text) or (leaf.key.lower() == "scratchpad" and leaf.text != "")


def _tag_names(text: str) -> set[str]:
    return {token.name for token in TagScanner().feed(text) if isinstance(token, Tag)}


def _is_secret(leaf: Leaf) -> bool:
    if leaf.key and leaf.text not in _MARKS and classify(leaf.key) is KeyKind.SECRET:
        return True
    return Redactor(SECRETS_ONLY).redact_text(leaf.text) != leaf.text


_CHECKS: Final[Mapping[Kind, Callable[[Leaf], bool]]] = {
    Kind.DELIMITER: _has_delimiter,
    Kind.SCRATCHPAD: _has_scratchpad,
    Kind.SECRET: _is_secret,
}


def has_personal_data(text: str) -> bool:
    """Say whether the whole redaction would still take something out that is no secret. Product 12."""
    return Redactor().redact_text(text) != Redactor(SECRETS_ONLY).redact_text(text)


def step_has_personal_data(step: Mapping[str, Any]) -> bool:
    """Say the same of a step of the trace, by the names of its arguments too; its citations quote public filings."""
    return Redactor().redact_trace([step]) != Redactor(SECRETS_ONLY).redact_trace([step])
