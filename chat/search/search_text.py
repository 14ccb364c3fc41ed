"""Text and queries for the search of languages that write no spaces: Chinese, Japanese, Thai, Korean and others.

The engines split text at spaces, so a run of such letters would be one word, found by its beginning only. Indexes
hold its pairs of letters instead, and its last letter: ``契約書`` is indexed as ``契約 約書 書``, and ``約書`` is
searched for as that pair. Marks of vowels and tones are left out, since the engines disagree on whether they belong to
a word.

SQLite's triggers call ``index_text``, which Django's connections have; ``vector_sql`` is the same for PostgreSQL's
columns. A change of the letters or of either function needs a migration that builds the indexes anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Contents of a character class, for Python and PostgreSQL: letters of Thai, Lao, Myanmar, Hangul and Khmer, Chinese and
# Japanese with Bopomofo, and Hangul again.
LETTERS: Final = (
    r"\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    r"\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"
    r"\u1100-\u11ff\u1780-\u17b3\u17d7\u17dc"
    r"\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb\uf900-\ufaff\uff66-\uff9f\U00020000-\U0002fa1f"
)
MARKS: Final = (
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    r"\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    r"\u17b4-\u17d3\u17dd\u302a-\u302f\u3099\u309a"
)
# What divides words on PostgreSQL too: it would take "input/output" for a path, "node.js" for a host, and with the
# locale "C" the rest for letters. An apostrophe, which would end the string in SQL, divides them there anyway.
PUNCTUATION: Final = (
    r"!-&(-/:-@\[-`{-~\u2000-\u206f"
    r"\u3001-\u3004\u3008-\u3020\u3030\u303d\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_BETWEEN = re.compile(f"[{PUNCTUATION}']+")
_MARK = re.compile(f"[{MARKS}]")
_RUN = re.compile(f"[{LETTERS}]+")
_PART = re.compile(f"[{LETTERS}]+|[^{LETTERS}]+")


def index_text(text: str) -> str:
    """Return a text as the index is given it."""
    if text.isascii():
        return text
    return _RUN.sub(lambda run: f" {' '.join(pairs(run[0]))} {run[0][-1]} ", _MARK.sub("", text))


def vector_sql(column: str) -> str:
    """Return an SQL expression for PostgreSQL: what ``index_text`` makes of this column, as a ``tsvector``."""

    def replace(text: str, pattern: str, by: str) -> str:
        return f"regexp_replace({text}, '{pattern}', '{by}', 'g')"

    def pairs_of(text: str) -> str:
        return replace(text, f"([{LETTERS}])([{LETTERS}]?)", r" \1\2 ")

    text = replace(replace(column, f"[{PUNCTUATION}]", " "), f"[{MARKS}]", "")
    # A replacement can't overlap itself: the pairs from the second letter on are made of the runs alone, once more.
    runs = replace(text, f"[^{LETTERS}]+", " ")
    shifted = replace(runs, f"(^| )([{LETTERS}])", r"\1\2 ")
    return f"(to_tsvector('english', {pairs_of(text)}) || to_tsvector('english', {pairs_of(shifted)}))"


def pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def query_terms(words: Iterable[str]) -> list[str]:
    """Return what to search for in place of these words, once each: pairs of letters for what has no spaces."""
    terms: dict[str, None] = {}
    for word in words:
        for part in _PART.findall(_MARK.sub("", word)):
            if _RUN.fullmatch(part):
                terms |= dict.fromkeys(pairs(part) or [part])
            elif any(map(str.isalnum, part)):
                terms[part] = None
    return list(terms)


def stem(term: str) -> str:
    """Return what other forms of a term begin with too, at least four letters: ``covenan`` of ``covenants``."""
    return term[: max(4, len(term) - 2)]


def subterms(term: str) -> list[str]:
    """Return the words of a term, such as ``10`` and ``5`` of ``10.5``, which are one after the other."""
    return [word for word in _BETWEEN.split(term) if word]


def is_prefix(term: str) -> bool:
    """Return whether a term means all that begin with it: a single letter, which is indexed within pairs."""
    return len(term) == 1 and _RUN.match(term) is not None


def marking_pattern(stems: Iterable[str]) -> str:
    """Return a regular expression for words that begin with these stems; without spaces, for the stems anywhere."""
    letter = rf"[^\W{LETTERS}]"  # of the languages with spaces
    patterns = []
    for stem in stems:
        begins, ends = _RUN.match(stem[0]), _RUN.match(stem[-1]) or _MARK.match(stem[-1])
        patterns.append(f"{'' if begins else f'(?<!{letter})'}{re.escape(stem)}{'' if ends else f'{letter}*'}")
    return "|".join(patterns)
