"""The states of a block sorter, and where it puts what it sorts. Normaliser 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from reasoning.codespans import CodeTracker, Place
from reasoning.tagscan import Tag, TagKind, Token

THOUGHTS = frozenset({"think", "thinking"})


class Sink(Protocol):
    """Where the sorted text goes. A thought and a scratchpad belong to the block that ``end_thought`` ends."""

    def visible(self, text: str) -> None: ...

    def thought(self, text: str) -> None: ...

    def end_thought(self) -> None: ...

    def scratchpad(self, text: str) -> None: ...

    def stripped(self) -> None: ...

    def held(self, chars: int) -> None: ...


@dataclass(slots=True)
class Outside:
    """Text of the answer."""

    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class Native:
    """Text of a native field: all of it is thought, and delimiters in it are noise."""

    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class Thought:
    """A thought that one of ``closers`` ends. ``held``: its tokens from the first on that may not belong to it.

    Where native text was seen before the opener, that is all of them, since the opener may be a stray.
    """

    closers: frozenset[str]
    is_hinted: bool = False  # the template opened it; one repeated opener is dropped
    is_fresh: bool = True  # nothing but blanks came yet
    held: list[Token] | None = None
    other_closer_at: int = -1
    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class Block:
    """A REASONING block, held until its first opener is balanced."""

    tokens: list[Token] = field(default_factory=list)
    depth: int = 1
    last_closer_at: int = -1
    code: CodeTracker = field(default_factory=CodeTracker)


@dataclass(slots=True)
class Hold:
    """Tokens from a tag inside apparent code on, and the place before that tag."""

    tokens: list[Token]
    place: Place


State = Outside | Native | Thought | Block


def can_end(state: State, tag: Tag) -> bool:
    """Say whether ``tag`` may end what is open, so that no code reaches across it."""
    if tag.kind is not TagKind.CLOSE:
        return False
    match state:
        case Thought():
            return tag.name in THOUGHTS
        case Block():
            return tag.name == "reasoning"
        case Outside() | Native():
            return False
