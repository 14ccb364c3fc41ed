"""Follow Markdown code through a stream: is this position inside a code span or fence, and when does that end?

A span opens with a run of backticks and closes with a run of equal length; the end of its paragraph breaks it. A fence
opens with three or more backticks or tildes at the start of a line and closes with a bare line of at least as many;
only the end of the text breaks it. Normaliser 9 rests on the difference between *closed* and *broken*. The answers
don't depend on how the text was cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

_BATCH = 64  # pieces
_MAX_RUN = 16  # longer runs count as this long: it bounds how often a text can be parsed again
_PART = re.compile(r"`+|~+|\n|[^`~\n]+")
_LINE_PREFIX = " \t\r>"  # may precede a fence


class CodeEnd(Enum):
    """How the code that was watched came to its end."""

    CLOSED = "closed"
    BROKEN = "broken"


@dataclass(slots=True)
class CodePosition:
    """Where in the Markdown the text is. Runs are (character, length)."""

    span: int = 0  # length of the run that opened it, 0: none
    fence: tuple[str, int] | None = None
    opening: tuple[str, int] | None = None  # a fence, if no backtick follows on its line
    is_closing: bool = False  # a run that closes the fence was read; the rest of its line must stay bare
    at_line_start: bool = True
    run: tuple[str, int] | None = None  # the run at the end of the text; more of it may follow
    run_leads_line: bool = False


class CodeTracker:
    """Track the code around the end of the text that was fed so far."""

    def __init__(self) -> None:
        self._position = CodePosition()
        self._queue: list[str] = []  # parsed in batches, or when somebody asks
        self._trusts_fences = True

    def feed(self, text: str) -> None:
        self._queue.append(text)
        # Few answers contain a tag, so the position is seldom asked for.
        if len(self._queue) >= _BATCH:
            self._parse_queue()

    def is_inside(self, *, is_opener: bool) -> bool:
        """Say whether a tag that comes now is in apparent code. It ends a run of backticks.

        An opener at the start of a line is in no span: it ends the span's paragraph. Product 17.
        """
        self._parse_queue()
        self.end_run()
        position = self._position
        if is_opener and position.at_line_start:
            position.span = 0
        return bool(position.span or position.fence or position.opening)

    def in_fence(self) -> bool:
        """Say whether a line that starts now is inside a fence."""
        self._parse_queue()
        return self._position.fence is not None

    def snapshot(self) -> CodePosition:
        """Return the current position, to return to with ``distrust``."""
        return replace(self._position)

    def restore(self, position: CodePosition) -> None:
        """Return to ``position``."""
        self._position = position

    def distrust(self, position: CodePosition) -> None:
        """Return to ``position``, but outside any code: what looked like code there was broken."""
        self._position = replace(position, span=0, fence=None, opening=None, is_closing=False)

    def trust_fences(self, *, trusts: bool) -> None:
        """Say whether fences that start from here on count. At the end of a text, after one broke, they don't."""
        self._trusts_fences = trusts

    def watch(self, text: str, start: int = 0) -> tuple[int, CodeEnd | None]:
        """Read text up to the end of the code, if it contains one: return the offset there and how it ended."""
        position = self._position
        for part in _PART.finditer(text, start):
            char = part[0][0]
            if position.run and position.run[0] == char:
                position.run = (char, position.run[1] + len(part[0]))
                continue
            if end := self.end_run(is_before_blank=char.isspace()):
                return part.start(), end
            if char == "\n":
                # CommonMark: a code span can't contain a blank line.
                if position.at_line_start and position.span:
                    return part.start(), CodeEnd.BROKEN  # a blank line ends the paragraph
                position.at_line_start = True
                if position.opening:
                    position.fence, position.opening = position.opening, None
                if position.is_closing:
                    position.fence, position.is_closing = None, False
                    return part.end(), CodeEnd.CLOSED
            elif char == "`" or (char == "~" and position.at_line_start):
                position.run, position.run_leads_line = (char, len(part[0])), position.at_line_start
                position.at_line_start = False
            else:
                words = part[0].lstrip(_LINE_PREFIX) if position.at_line_start else part[0].strip()
                position.at_line_start = position.at_line_start and not words
                position.is_closing = position.is_closing and not words
        return len(text), None

    def end_run(self, *, is_before_blank: bool = False) -> CodeEnd | None:
        """End a run of backticks or tildes, at a tag for instance; return how code ended, if it did."""
        position = self._position
        if position.run is None:
            return None
        (char, length), position.run = position.run, None
        # Bounded, or a text of ever longer runs would be parsed again for each of them.
        length = min(length, _MAX_RUN)
        if position.fence:
            fence_char, fence_length = position.fence
            position.is_closing = position.run_leads_line and char == fence_char and length >= fence_length
            return None
        if position.run_leads_line and length >= 3 and self._trusts_fences:
            was_inside, position.span, position.opening = position.span, 0, (char, length)
            return CodeEnd.BROKEN if was_inside else None
        if position.opening and position.opening[0] == "`":  # a backtick on its line: it was a span, not a fence
            position.span, position.opening = position.opening[1], None
        if char == "~" or position.opening:
            return None
        if position.span == length:
            position.span = 0
            return CodeEnd.CLOSED
        # A key named in prose ("press the ` key") would otherwise pair with the next span's backtick.
        if not position.span and not (length == 1 and is_before_blank):
            position.span = length
        return None

    def watch_tag(self, *, is_opener: bool) -> CodeEnd | None:
        """Read a tag inside code, as one opaque character of its line; return how code ended before it, if it did."""
        position = self._position
        end = self.end_run()
        if end is None and is_opener and position.at_line_start and position.span:
            end = CodeEnd.BROKEN
        if end is None:
            position.at_line_start = position.is_closing = False
        return end

    def finish(self) -> CodeEnd:
        """Say how the code ended, at the end of the text."""
        end = self.end_run()
        return CodeEnd.CLOSED if end is CodeEnd.CLOSED or self._position.is_closing else CodeEnd.BROKEN

    def _parse_queue(self) -> None:
        text = "".join(self._queue)
        self._queue.clear()
        offset = 0
        while offset < len(text):
            offset, end = self.watch(text, offset)
            if end is CodeEnd.BROKEN:
                self._position.span = 0
