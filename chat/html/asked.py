"""What people asked before an answer was written, as the links of that answer are compared with it.

A link that repeats words of it could carry them to another site by one click. Tools are not compared: they quote
filings, which are public. One of these is cheap to hand around and to remember by; its words are read when a link is
first compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\]\(|<[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, oldest first. Two are equal where their questions are."""

    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)
    digest: str = ""

    def then(self, text: str) -> Asked:
        """Return this with one more question."""
        digest = blake2b(f"{self.digest}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20)
        return Asked((*self.texts, text), digest.hexdigest())

    def gave(self, url: str) -> bool:
        """Whether somebody wrote this very address."""
        return any(url in text for text in self.texts)

    def shares_words_with(self, text: str) -> bool:
        """Whether a word that tells something stands in the questions and in ``text``. Case doesn't count."""
        return self == UNREAD or not telling_words(text).isdisjoint(_words_of(self))


NOTHING = Asked()
UNREAD = Asked(digest="unread")  # could not be read: every address may repeat it


def may_link(markdown: str) -> bool:
    """Whether a text may hold a link; an address in it may be written with escapes, so only its frame tells."""
    return _LINK.search(markdown) is not None


def telling_words(text: str) -> frozenset[str]:
    """Return the words that say something by themselves: long ones, and shorter ones with a digit in them."""
    return frozenset(word for word in _WORD.findall(text.casefold()) if _is_telling(word))


def _is_telling(word: str) -> bool:
    return len(word) >= 8 or (len(word) >= 4 and any(map(str.isdigit, word)))


@lru_cache(maxsize=32)
def _words_of(asked: Asked) -> frozenset[str]:
    return frozenset().union(*map(telling_words, asked.texts))
