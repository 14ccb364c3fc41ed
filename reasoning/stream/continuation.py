"""The seam of an answer that was cut off and goes on: what begins a block of Markdown begins a line. Product 41.

Models rarely begin a response with a line break, also where the answer was cut off at the end of a line. Joined to that
line a row of a table would be surplus cells, which Markdown drops, and a heading or a list item would be prose.
"""

from __future__ import annotations

import re
from typing import Final

from reasoning.stream.code_spans import CodeTracker

# What a text begins with that is a row, heading, list item, quote or fence.
_BLOCK_START: Final = re.compile(r"\||#{1,6} |[-*+] |\d{1,3}[.)] |> |```|~~~")
_MAY_BECOME_ONE: Final = re.compile(r"#{0,6}|[-*+>]|\d{1,3}[.)]?|`{1,2}|~{1,2}")
_FENCE: Final = ("```", "~~~")
_CELL_END: Final = re.compile(r"(?<!\\)\|")


class ContinuedText:
    """Joins a text to the answer ``before`` it, the same way for every chunking of the text."""

    def __init__(self, before: str) -> None:
        code = CodeTracker()
        code.feed(before)
        self._in_fence = code.in_fence()
        self._lines = before.split("\n")[-2:]  # the last two
        self._start = ""  # of the text, until it is decided
        self._is_decided = not self._lines[-1].strip()

    def feed(self, text: str) -> str:
        """Accept a piece and return what is decided, with a line break before it where it begins a line."""
        if self._is_decided:
            return text
        self._start += text
        return "" if _MAY_BECOME_ONE.fullmatch(self._start) else self.finish()

    def finish(self) -> str:
        """Return what is held back, at the end of the text."""
        start, self._start = self._start, ""
        self._is_decided = self._is_decided or bool(start)
        return f"\n{start}" if self._begins_line(start) else start

    def _begins_line(self, start: str) -> bool:
        found = _BLOCK_START.match(start)
        if found is None:
            return False
        if found[0] == "|":
            return not self._in_fence and self._is_row_complete()
        # Behind a blank the line goes on, as in "where x > 5".
        return (found[0] in _FENCE or not self._in_fence) and not self._lines[-1].endswith(" ")

    def _is_row_complete(self) -> bool:
        """Say whether the last line is a row of a table with as many cells as the one above."""
        above, last = self._lines if len(self._lines) > 1 else ("", *self._lines)
        if not (last.lstrip().startswith("|") and last.rstrip().endswith("|")):
            return False
        cells = len(_CELL_END.findall(last))
        return not above.lstrip().startswith("|") or cells >= len(_CELL_END.findall(above))
