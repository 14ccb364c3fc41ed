"""What the audit looks for in one text, and whether an open text repeats a turn's thinking."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from reasoning.delimiters.tags import Tag, TagScanner
from reasoning.redaction import REDACTED, SECRETS_ONLY, UNAVAILABLE, KeyKind, Redactor, classify
from reasoning.stream.normalizer import normalize_stream

# So many words in a row are no coincidence.
RUN_WORDS: Final = 12
MIN_THOUGHT_WORDS: Final = 8
_MASKS: Final = frozenset({"", REDACTED, UNAVAILABLE})
_MAX_DEPTH: Final = 64
_WORD: Final = re.compile(r"\w+")


class FindingKind(StrEnum):
    """What was found where it shouldn't be."""

    DELIMITER = "delimiter"
    SCRATCHPAD = "scratchpad"
    SECRET = "secret"  # noqa: S105 - a kind, no password
    PERSONAL = "personal data"
    UNSEALED = "unsealed"
    REPEATED = "repeats sealed thinking"
    CANARY = "canary"


TEXT_KINDS: Final = frozenset({FindingKind.DELIMITER, FindingKind.SCRATCHPAD, FindingKind.SECRET, FindingKind.CANARY})


@dataclass(frozen=True, slots=True)
class Finding:
    """A place and a kind, never the text. Of a file, ``table`` is its path and ``row`` the offset in bytes."""

    table: str
    row: str
    column: str
    kind: FindingKind

    def __str__(self) -> str:
        return f"{self.table} {self.row}{' ' if self.column else ''}{self.column}: {self.kind}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text in a JSON value. ``key`` is the nearest key above it, ``top`` the outermost; empty outside of JSON."""

    text: str
    key: str = ""
    top: str = ""


def leaves(value: Any, *, key: str = "", top: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the texts of a JSON value, its keys included. Deeper than _MAX_DEPTH a value counts as one text."""
    if depth > _MAX_DEPTH:
        if value is not None:
            yield Leaf(str(value), key, top)
        return
    match value:
        case str():
            yield Leaf(value, key, top)
        case Mapping():
            for name, item in value.items():
                yield Leaf(str(name), "", top)
                yield from leaves(item, key=str(name), top=top or str(name), depth=depth + 1)
        case list() | tuple():
            for item in value:
                yield from leaves(item, key=key, top=top, depth=depth + 1)


def kinds_in(leaf: Leaf, sought: Set[FindingKind] = TEXT_KINDS, canaries: Sequence[str] = ()) -> Iterator[FindingKind]:
    """Yield which of the kinds ``sought`` a text contains, each once."""
    if sought & {FindingKind.DELIMITER, FindingKind.SCRATCHPAD}:
        names = {tag.name for tag in tags_outside_code(leaf.text)}
        if FindingKind.DELIMITER in sought and names - {"scratchpad"}:
            yield FindingKind.DELIMITER
        is_field = leaf.key.lower() == "scratchpad" and leaf.text != ""
        if FindingKind.SCRATCHPAD in sought and ("scratchpad" in names or is_field):
            yield FindingKind.SCRATCHPAD
    if FindingKind.SECRET in sought:
        is_named = leaf.text not in _MASKS and classify(leaf.key) is KeyKind.SECRET
        if is_named or Redactor(SECRETS_ONLY).redact_text(leaf.text) != leaf.text:
            yield FindingKind.SECRET
    if FindingKind.CANARY in sought and any(canary in leaf.text for canary in canaries):
        yield FindingKind.CANARY


def tags_in(text: str) -> list[Tag]:
    """Return the delimiters in a text."""
    return [token for token in TagScanner().feed(text) if isinstance(token, Tag)]


def tags_outside_code(text: str) -> list[Tag]:
    """Return the delimiters that the normaliser would remove: those in code are shown as written. Product 27."""
    tags = tags_in(text)
    if not tags:
        return []
    in_code = Counter(tag.raw for tag in tags_in(normalize_stream([{"content": text}]).visible))
    outside: list[Tag] = []
    for tag in tags:
        if in_code[tag.raw]:
            in_code[tag.raw] -= 1
        else:
            outside.append(tag)
    return outside


def has_personal_data(text: str) -> bool:
    """Say whether full redaction would mask something that isn't a secret. Product 12."""
    return Redactor().redact_text(text) != Redactor(SECRETS_ONLY).redact_text(text)


def is_fernet_token(data: bytes) -> bool:
    """Say whether bytes have the form of a Fernet token. No key is needed."""
    try:
        token = base64.b64decode(data, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return False
    ciphertext = len(token) - (1 + 8 + 16 + 32)  # version, time, IV, HMAC
    return ciphertext > 0 and ciphertext % 16 == 0 and token[0] == 0x80


class ThoughtMatcher:
    """Finds the thinking of one turn in other texts, by runs of words; case and punctuation don't count.

    Runs that are in ``known`` texts don't count either: a model thinks in the words of the question and of its tools'
    results, and so does its answer.
    """

    def __init__(self, thoughts: Iterable[str], known: Iterable[str]) -> None:
        known_texts = [normalize(text) for text in known]
        # shorter thoughts occur in answers by chance
        own = [text for text in map(normalize, thoughts) if len(text.split()) >= MIN_THOUGHT_WORDS]
        self.thoughts = [text for text in own if not any(text in other for other in known_texts)]
        self.runs = set().union(*map(runs_of, self.thoughts)) - set().union(*map(runs_of, known_texts))

    def __bool__(self) -> bool:
        return bool(self.thoughts)

    def finds_run_in(self, text: str) -> bool:
        """Say whether ``text`` contains a run of a thought, or the whole of a short one."""
        return not self.runs.isdisjoint(runs_of(normalize(text))) or self.finds_whole_in(text)

    def finds_whole_in(self, text: str) -> bool:
        """Say whether ``text`` contains a whole thought."""
        words = normalize(text)
        return any(thought in words for thought in self.thoughts)


def normalize(text: str) -> str:
    """Return the words of a text in lower case, a space before and after each."""
    return f" {' '.join(_WORD.findall(unicodedata.normalize('NFKC', text).casefold()))} "


def runs_of(text: str) -> Iterator[int]:
    """Yield a hash of every run of words; a turn may have a hundred thousand of them."""
    words = text.split()
    return map(hash, zip(*(words[start:] for start in range(RUN_WORDS)), strict=False))
