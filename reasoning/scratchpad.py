"""A model's private notes, as a value that can't be printed, compared, copied or serialised. Spec 004, product 9.

The one way to read a ``Scratchpad`` is ``reveal``, with a grant, and only ``accounts.access.scratchpad`` makes grants.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Never, final

from reasoning.errors import ScratchpadError
from reasoning.redaction import REDACTED
from reasoning.replay.tokens import CHARS_PER_TOKEN, estimate_tokens

WITHHELD: Final = "<scratchpad withheld>"
TRUNCATED: Final = "…(truncated)"
MAX_GUARDED: Final = 8  # scratchpads that a stream is compared with
REPEAT_CHARS: Final = 40  # of a scratchpad that occur elsewhere are a leak, product 22
GRANT_KEY: Final = object()  # only accounts/access/scratchpad.py imports it; an architecture test checks that
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WORD = re.compile(r"\w+")


def _refuse(action: str) -> Callable[..., Never]:
    def refuse(*_args: object) -> Never:
        raise ScratchpadError(f"a scratchpad cannot be {action}")

    return refuse


@final
class Scratchpad:
    """Private notes. All that can be learnt without a grant: truth, size, and what another text repeats of it."""

    __slots__ = ("__folded", "__runs", "__text")

    def __init__(self, text: str = "") -> None:
        self.__text = text
        self.__folded: str | None = None  # the form for comparisons, and its runs, once they were asked for
        self.__runs: frozenset[int] = frozenset()

    @classmethod
    def join(cls, parts: Iterable[Scratchpad]) -> Scratchpad:
        """Return one scratchpad of all parts that have text, separated by blank lines."""
        return cls("\n\n".join(part.__text for part in parts if part))

    @property
    def tokens_est(self) -> int:
        """Estimated tokens of the whole text."""
        return estimate_tokens(self.__text)

    def overlaps(self, text: str, *, words: int = 6) -> bool:
        """Say whether ``text`` repeats a run of that many words of this, or all of it where it has fewer.

        Case, punctuation, width and invisible characters don't count. An empty scratchpad overlaps nothing.
        """
        own, other = _words(self.__text), _words(text)
        length = min(words, len(own))
        own_runs, other_runs = (
            set(zip(*(each[start:] for start in range(length)), strict=False)) for each in (own, other)
        )
        return length > 0 and not own_runs.isdisjoint(other_runs)

    def remove_repeats(self, text: str) -> tuple[str, int]:
        """Return ``text`` with ``[redacted]`` for each run of REPEAT_CHARS or more that this has too; and their number.

        Case, width, accents' encoding, invisible characters and the amount of white space don't count. Linear.
        Product 22.
        """
        found = self.repeats_in(text)
        parts: list[str] = []
        done = 0
        for start, end in found:
            parts += (text[done:start], REDACTED)
            done = end
        return "".join((*parts, text[done:])), len(found)

    def repeats_in(self, text: str) -> list[tuple[int, int]]:
        """Return where ``text`` has runs of REPEAT_CHARS or more that this has too."""
        if len(self._fold()) < REPEAT_CHARS:
            return []
        folded, places = _fold(text)
        found: list[tuple[int, int]] = []
        for at, run in enumerate(_runs(folded)):
            if hash(run) in self.__runs:
                start, end = places[at], places[at + REPEAT_CHARS - 1] + 1
                if found and start <= found[-1][1]:
                    start = found.pop()[0]
                found.append((start, end))
        # White space around a run stays: it is part of the structure of the text.
        return [_without_blanks(text, start, end) for start, end in found]

    def overlap_at_end(self, text: str) -> int:
        """Return how many of the last characters may be the beginning of such a run."""
        own = self._fold()
        if len(own) < REPEAT_CHARS:
            return 0
        tail = text[-2 * REPEAT_CHARS :]
        folded, places = _fold(tail)
        length = 0
        while length < min(REPEAT_CHARS - 1, len(folded)) and folded[-length - 1 :] in own:
            length += 1
        return len(tail) - places[-length] if length else 0

    def _fold(self) -> str:
        if self.__folded is None:
            self.__folded = _fold(self.__text)[0]
            # Hashes, since the runs of a long scratchpad would take 40 times its memory.
            self.__runs = frozenset(map(hash, _runs(self.__folded)))
        return self.__folded

    def _reveal(self, grant: ScratchpadGrant) -> str:
        if type(grant) is not ScratchpadGrant:
            raise ScratchpadError("a scratchpad is revealed to a grant only")
        return self.__text

    def __bool__(self) -> bool:
        return bool(self.__text.strip())

    def __repr__(self) -> str:
        return WITHHELD

    def __str__(self) -> str:
        return WITHHELD

    def __format__(self, spec: str) -> str:
        return WITHHELD

    __eq__ = __ne__ = _refuse("compared")
    __hash__ = _refuse("hashed")
    __getstate__ = __reduce__ = __reduce_ex__ = _refuse("copied or serialised")
    __init_subclass__ = _refuse("subclassed")


class RepeatGuard:
    """Masks what a text that arrives in pieces repeats of scratchpads that are known by then. Product 22.

    Of many scratchpads the newest count: the end of a step looks for all of them. ``count``: how often it masked.
    """

    def __init__(self, scratchpads: Iterable[Scratchpad] = ()) -> None:
        self._scratchpads = deque(scratchpads, maxlen=MAX_GUARDED)
        self._text = ""  # what is held back, behind some text for comparison
        self._done = 0  # how much of it was shown or masked
        self.count = 0

    def learn(self, scratchpad: Scratchpad) -> None:
        """Look for this one, too."""
        self._scratchpads.append(scratchpad)

    def feed(self, text: str) -> str:
        """Return what is certain now."""
        if not self._scratchpads:
            return text
        self._text += text
        held = max(notes.overlap_at_end(self._text) for notes in self._scratchpads)
        return self._release(len(self._text) - held)

    def flush(self) -> str:
        """Return the rest."""
        return self._release(len(self._text))

    def _release(self, end: int) -> str:
        parts: list[str] = []
        done = self._done
        for start, stop in sorted(span for notes in self._scratchpads for span in notes.repeats_in(self._text)):
            if stop > done and start < end:
                if start >= done:  # else it was marked before, and continues
                    parts += (self._text[done:start], REDACTED)
                    self.count += 1
                done = stop
        parts.append(self._text[done:end])
        done = max(done, end)
        dropped = max(0, done - 2 * REPEAT_CHARS)
        self._text, self._done = self._text[dropped:], done - dropped
        return "".join(parts)


@final
class ScratchpadGrant:
    """Permission to read scratchpads, made by the gate for one viewer at one moment. Product 9.

    ``key`` is ``GRANT_KEY``; anything else raises ScratchpadError.
    """

    __slots__ = ()

    def __init__(self, key: object) -> None:
        if key is not GRANT_KEY:
            raise ScratchpadError("only the gate makes grants")

    __reduce__ = __reduce_ex__ = _refuse("granted by a copy")


def reveal(scratchpad: Scratchpad, grant: ScratchpadGrant, *, max_tokens: int = 200) -> str:
    """Return the text, cut to ``max_tokens`` estimated tokens and marked where cut.

    Raises ScratchpadError for anything but a grant.
    """
    # The grant is checked where the text is read, so no caller can forget it.
    text = scratchpad._reveal(grant)
    if estimate_tokens(text) <= max_tokens:
        return text
    # Tokens are counted in UTF-16 units, of which an emoji has two; half of one is dropped.
    units = text[: max_tokens * CHARS_PER_TOKEN].encode("utf-16-le", "surrogatepass")
    short = units[: 2 * max_tokens * CHARS_PER_TOKEN].decode("utf-16-le", "ignore")
    return short.rstrip() + TRUNCATED


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    return start, start + len(value.strip())


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the form of ``text`` for comparisons, and for each of its characters the place in ``text``."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        for folded in _fold_char(char):
            if folded != " " or chars[-1:] != [" "]:
                chars.append(folded)
                places.append(place)
    return "".join(chars), places


@lru_cache(maxsize=4_096)
def _fold_char(char: str) -> str:
    # Decomposed, because composing depends on the neighbours.
    return " " if char.isspace() else _INVISIBLE.sub("", unicodedata.normalize("NFKD", char).casefold())


def _runs(folded: str) -> Iterable[str]:
    return (folded[start : start + REPEAT_CHARS] for start in range(len(folded) - REPEAT_CHARS + 1))


def _words(text: str) -> list[str]:
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _WORD.findall(plain.casefold())
