"""Does an open text repeat what was thought? Compared by runs of words; case and punctuation don't count.

A model thinks in the words of the question and of what its tools gave it, and so does its answer: runs that stand in
those don't count either. An answer may have been drafted in the thinking, so of an answer only a whole thought counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

RUN_WORDS = 12
SHORTEST_THOUGHT = 8
_WORD = re.compile(r"\w+")


class Thoughts:
    """The thinking of one turn, and the texts that everybody in it knew."""

    def __init__(self, thoughts: Iterable[str], known: Iterable[str]) -> None:
        common = [words_of(text) for text in known]
        blocks = [words_of(thought) for thought in thoughts]
        own = [words for words in blocks if len(words) >= SHORTEST_THOUGHT and not _stands_in_any(words, common)]
        self._blocks = [_joined(words) for words in own]
        self._runs = {run for words in own for run in _runs(words)} - {run for words in common for run in _runs(words)}

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def are_in(self, text: str) -> bool:
        """Say whether a run of a thought stands in ``text``, or all of a short one."""
        return not self._runs.isdisjoint(_runs(words_of(text))) or self.are_whole_in(text)

    def are_whole_in(self, text: str) -> bool:
        """Say whether all of a thought stands in ``text``."""
        joined = _joined(words_of(text))
        return any(block in joined for block in self._blocks)


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are compared."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _stands_in_any(words: Sequence[str], texts: Iterable[Sequence[str]]) -> bool:
    joined = _joined(words)
    return any(joined in _joined(text) for text in texts)


def _joined(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _runs(words: Sequence[str]) -> Iterator[int]:
    """Yield every run of words as a number: a turn may hold a hundred thousand of them."""
    return map(hash, zip(*(words[start:] for start in range(RUN_WORDS)), strict=False))
