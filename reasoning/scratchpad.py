"""A model's private notes, as a value that lets nothing out. Spec 004 scratchpad, product 9.

A ``Scratchpad`` prints as a constant and refuses to be compared, hashed, copied, pickled or changed. It holds no text:
the text lies in a table of this module, under a token that only the scratchpad refers to, and goes when the scratchpad
goes. So neither its attributes nor a debugger's listing of them lead to the text; a closure would have kept it one
``__closure__`` away. The one way to read it is ``reveal``, with a grant, and only the gate may make grants.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, Never
from weakref import WeakKeyDictionary

from reasoning.errors import ScratchpadError
from reasoning.tokens import estimate_tokens

WITHHELD: Final = "<scratchpad withheld>"
TRUNCATED: Final = "…(truncated)"
GRANT_KEY: Final = object()  # only accounts/scratchpad.py imports it; an architecture test sees to that
_CHARS_PER_TOKEN = 4
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WORD = re.compile(r"\w+")


class _Token:
    __slots__ = ("__weakref__",)


_texts: WeakKeyDictionary[_Token, str] = WeakKeyDictionary()


class Scratchpad:
    """Private notes. Everything but ``join``, ``overlaps``, ``tokens_est`` and truth raises or shows a constant."""

    __slots__ = ("__token",)

    def __init__(self, text: str = "") -> None:
        token = _Token()
        _texts[token] = text
        object.__setattr__(self, "_Scratchpad__token", token)

    @classmethod
    def join(cls, parts: Iterable[Scratchpad]) -> Scratchpad:
        """Return one scratchpad of all parts that hold something, a blank line between two."""
        return cls("\n\n".join(_text_of(part) for part in parts if part))

    @property
    def tokens_est(self) -> int:
        """Estimated tokens of the whole text."""
        return estimate_tokens(_text_of(self))

    def overlaps(self, text: str, *, words: int = 6) -> bool:
        """Say whether ``text`` repeats a run of that many words of this, or all of it where it has fewer.

        Case, punctuation, width and invisible characters don't count. An empty scratchpad overlaps nothing.
        """
        own = _words(_text_of(self))
        length = min(words, len(own))
        return length > 0 and not set(_runs(own, length)).isdisjoint(_runs(_words(text), length))

    def __bool__(self) -> bool:
        return bool(_text_of(self).strip())

    def __repr__(self) -> str:
        return WITHHELD

    def __format__(self, spec: str) -> str:
        return WITHHELD

    def __eq__(self, other: object) -> Never:
        raise ScratchpadError("a scratchpad cannot be compared")

    def __ne__(self, other: object) -> Never:
        raise ScratchpadError("a scratchpad cannot be compared")

    def __hash__(self) -> Never:
        raise ScratchpadError("a scratchpad cannot be hashed")

    def __setattr__(self, name: str, value: object) -> Never:
        raise ScratchpadError("a scratchpad cannot be changed")

    def __delattr__(self, name: str) -> Never:
        raise ScratchpadError("a scratchpad cannot be changed")

    def __copy__(self) -> Never:
        raise ScratchpadError("a scratchpad cannot be copied")

    def __deepcopy__(self, memo: object) -> Never:
        raise ScratchpadError("a scratchpad cannot be copied")

    def __getstate__(self) -> Never:
        raise ScratchpadError("a scratchpad cannot be serialised")

    def __reduce__(self) -> Never:
        raise ScratchpadError("a scratchpad cannot be serialised")

    def __reduce_ex__(self, protocol: object) -> Never:
        raise ScratchpadError("a scratchpad cannot be serialised")

    def __init_subclass__(cls) -> Never:
        raise ScratchpadError("a scratchpad cannot be subclassed")


class ScratchpadGrant:
    """Leave to read scratchpads, made by the gate for one viewer at one moment. Product 9.

    ``key`` is ``GRANT_KEY``; anything else raises ScratchpadError.
    """

    __slots__ = ()

    def __init__(self, key: object) -> None:
        if key is not GRANT_KEY:
            raise ScratchpadError("only the gate makes grants")

    def __reduce_ex__(self, protocol: object) -> Never:
        raise ScratchpadError("a grant cannot be serialised or copied")

    def __init_subclass__(cls) -> Never:
        raise ScratchpadError("a grant cannot be subclassed")


def reveal(scratchpad: Scratchpad, grant: ScratchpadGrant, *, max_tokens: int = 200) -> str:
    """Return the text, cut to ``max_tokens`` estimated tokens and marked where cut.

    Raises ScratchpadError for anything but a grant of this module.
    """
    if type(grant) is not ScratchpadGrant:
        raise ScratchpadError("a scratchpad is revealed to a grant alone")
    text = _text_of(scratchpad)
    kept = text[: max_tokens * _CHARS_PER_TOKEN]
    return text if len(kept) == len(text) else kept.rstrip() + TRUNCATED


def _text_of(scratchpad: Scratchpad) -> str:
    token: _Token = object.__getattribute__(scratchpad, "_Scratchpad__token")
    return _texts[token]


def _words(text: str) -> list[str]:
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _WORD.findall(plain.casefold())


def _runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(length)), strict=False)
