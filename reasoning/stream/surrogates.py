"""Make streamed text safe to encode: join surrogate pairs, replace lone halves. Normaliser 12."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def repair_surrogates(text: str) -> str:
    """Return a complete text that can be encoded: pairs joined, lone halves replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class SurrogateJoiner:
    """Feed it pieces; what comes out has no surrogate and is the same for every chunking."""

    def __init__(self) -> None:
        self.high = ""  # the first half of a pair whose second half has not arrived

    def feed(self, text: str) -> str:
        if text.isascii() and not self.high:
            return text
        text, self.high = self.high + text, ""
        # JSON escapes one emoji as two halves, and a server may send them in two deltas.
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self.high = text[:-1], text[-1]
        return repair_surrogates(text)

    def finish(self) -> str:
        """Return the replacement character where a first half is still waiting."""
        text, self.high = self.high, ""
        return repair_surrogates(text)
