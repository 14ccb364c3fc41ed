"""What is looked for in the filings, and what is found: values that search and tools share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for in the filings. ``form`` and ``company`` narrow the search; None searches all."""

    text: str
    form: str | None = None
    company: str | None = None
    limit: int = 5


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A stored passage as search returns it, best first."""

    filing: str
    company: str
    date: str | None
    period: str | None
    section: str
    anchor: str
    url: str
    text: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Found(Sequence[FoundPassage]):
    """What a search found, and among what: how many filings were searched, and whose. A sequence of its passages."""

    passages: tuple[FoundPassage, ...] = ()
    filings: int = 0
    companies: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> FoundPassage: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FoundPassage]: ...

    def __getitem__(self, index: int | slice) -> FoundPassage | Sequence[FoundPassage]:
        return self.passages[index]

    def __len__(self) -> int:
        return len(self.passages)
