"""Characters that nobody sees: removed from all that is shown or searched, since they could split a secret or a tag."""

from __future__ import annotations

import re

# Characters that a reader doesn't see, or that a database refuses, could split a secret in two.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINERS = "\u200c\u200d\u200e\u200f"
# Thai, Lao, Myanmar and Khmer letters, between which a zero width space divides words.
_UNSPACED_LETTER = re.compile("[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f]")
# Flags of regions, such as England's: a black flag, tag characters for letters and digits, an end. No other tag
# characters stay: they could carry a text that nobody sees.
_BLACK_FLAG = "\U0001f3f4"
_REGION = f"{_BLACK_FLAG}[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_REGION_FLAG = re.compile(f"{_REGION}{{3,7}}\U000e007f")
_OPEN_FLAG = re.compile(f"{_REGION}{{0,7}}\\Z")


def clean(text: str, before: str = "") -> str:
    """Return ``text`` without unseen characters; ``before`` is the character in front of it.

    Joiners stay behind a character that isn't ASCII, where they join letters or emoji, zero width spaces behind letters
    that are written without spaces, and the tag characters of a whole flag.
    """
    if not UNSEEN.search(text):
        return text
    shown = [before]
    flags = {at for flag in _REGION_FLAG.finditer(text) for at in range(*flag.span())}
    for at, char in enumerate(text):
        if at in flags or not UNSEEN.match(char):
            shown.append(char)
        elif "\ud800" <= char <= "\udfff":
            shown.append("\ufffd")
        elif char in "\x0b\x0c":
            shown.append("\n")
        elif (char in _JOINERS and not shown[-1][-1:].isascii()) or (
            char == "\u200b" and _UNSPACED_LETTER.match(shown[-1][-1:])
        ):
            shown.append(char)
    return "".join(shown[1:])


class StreamCleaner:
    """Cleans a text that arrives in pieces, the same way for every chunking."""

    def __init__(self) -> None:
        self._last = ""  # character
        self._flag = ""  # one whose tag characters may follow

    def feed(self, text: str, *, is_final: bool = False) -> str:
        """Accept a piece and return what is clean by now."""
        text, self._flag = self._flag + text, ""
        if _BLACK_FLAG in text and not is_final and (flag := _OPEN_FLAG.search(text)):
            text, self._flag = text[: flag.start()], flag[0]
        if UNSEEN.search(text):
            text = clean(text, self._last)
        self._last = text[-1:] or self._last
        return text
