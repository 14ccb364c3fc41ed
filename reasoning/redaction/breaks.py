"""Where a text is cut into words: at white space, and between the ideographs of scripts that write without it."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 4_096  # characters of a word, and of all that is held of a text

_IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
BREAK = re.compile(rf"[\s{_IDEOGRAPHS}]")
_LAST_BREAK = re.compile(rf"(?s:.*)[\s{_IDEOGRAPHS}]")
WORD_START = re.compile(rf"[^\s{_IDEOGRAPHS}]*\Z")
WORD = re.compile(  # with the white space before it; sixteen ideographs are looked at as one
    rf"\s*+(?:[^\s{_IDEOGRAPHS}]++(?=[\s{_IDEOGRAPHS}])|[{_IDEOGRAPHS}]{{16}}|[{_IDEOGRAPHS}]++(?=[^{_IDEOGRAPHS}]))"
)
LONG_WORD = re.compile(rf"[^\s{_IDEOGRAPHS}]{{{LONGEST + 1}}}")


def last_break(text: str) -> int:
    """Return where the last word of ``text`` starts, behind the break before it."""
    found = _LAST_BREAK.match(text)
    return found.end() if found else 0
