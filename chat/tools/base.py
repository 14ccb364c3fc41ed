"""What a tool is, and what it gets and gives.

A tool validates its arguments with pydantic, which also makes its JSON schema. The turn alone measures, caps, redacts
and records, so a tool's author can forget none of it. Tools know neither Django nor the database: what they read comes
through ``ToolContext``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chat.retrieval import FoundPassage, SearchQuery
from reasoning.citations import Source

SearchFilings = Callable[[SearchQuery], Awaitable[Sequence[FoundPassage]]]
ReadPassages = Callable[[str, int], Awaitable[Sequence[FoundPassage]]]  # (url with fragment, neighbours each side)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may use. ``first_ref`` is the number that its first source gets."""

    first_ref: int
    search: SearchFilings
    read: ReadPassages


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back: ``content`` goes to the model, the rest to trace and citations."""

    content: str
    results: int | None = None
    sources: tuple[Source, ...] = ()


class ToolArgumentsError(ValueError):
    """The model's arguments do not fit the schema. The text says which and why; it goes back to the model."""


class Tool(Protocol):
    """One tool that a model may call."""

    name: str
    running_label: str  # shown while it runs, translated at display: "Searching filings…"
    shown_args: frozenset[str]  # arguments whose values people may see, redacted; others show type and size

    @property
    def schema(self) -> dict[str, Any]:
        """The function tool in chat-completions form."""
        ...

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Run with the exact argument string of the model. Raises ToolArgumentsError."""
        ...
