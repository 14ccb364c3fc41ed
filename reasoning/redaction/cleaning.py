"""Characters that a reader doesn't see, or that a database refuses, are taken out before any rule looks.

Controls, zero-width and bidirectional marks, tag characters and NULs could split a secret in two; lone surrogates can't
be stored. Joiners stay where they join letters or emoji, behind a character that isn't ASCII. Never more than one
neighbour is looked at, so that pieces of a text are cleaned as the whole is.
"""

from __future__ import annotations

import re

_DIRTY = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINERS = "\u200c\u200d\u200e\u200f"


def clean(text: str, before: str = "") -> str:
    """Return ``text`` without unseen characters; ``before`` is the character kept in front of it, if any."""
    if (text.isascii() and text.isprintable()) or not _DIRTY.search(text):
        return text
    kept: list[str] = [before]
    for char in text:
        if not _DIRTY.match(char):
            kept.append(char)
        elif "\ud800" <= char <= "\udfff":
            kept.append("\ufffd")
        elif char in "\x0b\x0c":
            kept.append("\n")
        elif char in _JOINERS and kept[-1] and not kept[-1][-1].isascii():
            kept.append(char)
    return "".join(kept[1:])
