"""Check the links of an answer against what the user wrote before it.

A link that repeats the user's words could leak them by one click to a site that is opened directly, so it leads over
the page that shows its address. Tool results are not compared: they quote filings, which are public.
"""

from __future__ import annotations

import re
from base64 import b32decode, b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import product

MAX_CHARS = 2_000_000  # beyond it comparing takes too long, and every link shows its address first


_DECODERS: tuple[Callable[[str], bytes], ...] = (
    bytes.fromhex,
    lambda part: b32decode(part + "=" * (-len(part) % 8), casefold=True),
    lambda part: b64decode(part.replace("-", "+").replace("_", "/") + "=="),
)
_PART = re.compile(r"[A-Za-z0-9_-]{8,}")
_PATH = re.compile(r"[A-Za-z0-9+/]{8,}")  # a slash is a letter of base64, too

_WORD = re.compile(r"\w+")
# Escapes can hide an address, but not the syntax around it; without syntax only an unescaped one is linked.
_LINK = re.compile(r"\]\(|\][\[:]|<[A-Za-z]|https?://|www\.")


@dataclass(frozen=True, slots=True)
class UserText:
    """Questions, oldest first. Compared and hashed by digest, so that it is a cheap cache key."""

    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)
    digest: str = ""
    chars: int = field(default=0, repr=False, compare=False)

    def then(self, text: str) -> UserText:
        """Return this with one more question; UNKNOWN where that is more than MAX_CHARS."""
        chars = self.chars + len(text)
        if self == UNKNOWN or chars > MAX_CHARS:
            return UNKNOWN
        digest = blake2b(f"{self.digest}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20)
        return UserText((*self.texts, text), digest.hexdigest(), chars)

    def contains_url(self, url: str) -> bool:
        """Whether the user wrote this very address."""
        return any(url in text for text in self.texts)

    def shares_words_with(self, text: str) -> bool:
        """Whether a telling word is in the questions and in ``text``, whatever its case."""
        return self == UNKNOWN or not telling_words(text).isdisjoint(telling_words_of(self))


EMPTY = UserText()
UNKNOWN = UserText(digest="unread")  # could not be read or compared: any address may repeat it


def decodings(text: str) -> Iterator[str]:
    """Yield an address, and what its parts say in the usual encodings: backwards, hexadecimal, base32 and base64.

    A part may begin with characters that belong to no encoded text, so it is read from each of its first ones on.
    """
    yield text
    yield text[::-1]
    for part in {*_PART.findall(text), *_PATH.findall(text)}:
        for start, decode in product(range(8), _DECODERS):
            with suppress(ValueError):
                yield decode(part[start:]).decode("utf-8", "ignore")


def may_contain_link(markdown: str) -> bool:
    """Whether a text may hold a link. The address may be written with escapes, so only the syntax around it counts."""
    return _LINK.search(markdown) is not None


def telling_words(text: str) -> frozenset[str]:
    """Return the words that identify a text: long ones, and shorter ones that contain a digit."""
    return frozenset(word for word in _WORD.findall(text.casefold()) if _is_telling(word))


def _is_telling(word: str) -> bool:
    return len(word) >= 8 or (len(word) >= 4 and any(map(str.isdigit, word)))


@lru_cache(maxsize=32)
def telling_words_of(user_text: UserText) -> frozenset[str]:
    return frozenset().union(*map(telling_words, user_text.texts))
