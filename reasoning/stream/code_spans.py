"""Follow Markdown code through a stream: is this position inside a code span or fence, and when does that end?

A span opens with a run of backticks and closes with a run of equal length; the end of its paragraph breaks it. A fence
opens with three or more backticks or tildes at the start of a line and closes with a bare line of at least as many;
only the end of the text, or of its quote, breaks it. Normaliser 9 rests on the difference between *closed* and
*broken*. Where Markdown may see it otherwise, because a delimiter was removed or a fence is in a list, nothing is code:
a thought must not be shown. The answers don't depend on how the text was cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

CodeEnd = Literal["closed", "broken"]  # how the code that was watched came to its end

_BATCH = 64  # pieces
_MAX_RUN = 16  # longer runs count as this long: it bounds how often a text can be parsed again
_PART = re.compile(r"`+|~+|\n|\\+|[^`~\n\\]+")
_LINE_PREFIX = " \t\r>"  # may precede a fence
# What begins a block of its own: a heading, a list item, a quote.
_BLOCK_MARK = re.compile(r"[ \t]*(?:(?P<heading>\#{1,6})[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t]|(?P<quote>>))")
_MAX_HEAD_CHARS = 16  # of a line
_LONE = -1  # the length of a single backtick before a blank: a key named in prose ("press the ` key"), no code


@dataclass(slots=True)
class CodePosition:
    """Where in the Markdown the text is. Runs are (character, length)."""

    # Lengths of the runs that may have opened the span: the first did, or if it is never closed the next, and so on.
    spans: tuple[int, ...] = ()
    is_unsure: bool = False  # a span broke off at a delimiter: to the end of its paragraph no other one counts
    fence: tuple[str, int] | None = None
    fence_in_quote: bool = False
    opening: tuple[str, int] | None = None  # a fence, if no backtick follows on its line
    is_closing: bool = False  # a run that closes the fence was read; the rest of its line must stay bare
    at_line_start: bool = True
    head: str | None = ""  # of the line, while it may be the mark of a block
    leads_block: bool = False  # nothing but blanks came since such a mark
    in_heading: bool = False
    in_quote: bool = False
    run: tuple[str, int] | None = None  # the run at the end of the text; more of it may follow
    run_leads_line: bool = False
    run_leads_block: bool = False  # behind the mark of a list item or a quote
    run_is_escaped: bool = False
    is_escaped: bool = False  # by an odd number of backslashes before


class CodeTracker:
    """Track the code around the end of the text that was fed so far."""

    def __init__(self) -> None:
        self._position = CodePosition()
        self._queue: list[str] = []  # parsed in batches, or when somebody asks
        self._trusts_code = True  # until a fence breaks: Markdown still takes what follows for code, or the reverse

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
        if is_opener and position.at_line_start and position.spans:
            position.spans, position.is_unsure = (), True
        in_span = bool(position.spans) and position.spans[0] != _LONE and not position.is_unsure
        return bool(in_span or position.fence or position.opening)

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
        """Return to ``position``, but outside the code that broke; a later run may have opened another span."""
        self._trusts_code = self._trusts_code and not (position.fence or position.opening)
        self._position = replace(position, spans=position.spans[1:], fence=None, opening=None, is_closing=False)
        self._position.is_unsure = not self._position.spans

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
            if position.fence and position.fence_in_quote and self._leaves_quote(part[0]):
                position.fence = None
                return part.start(), "broken"
            if (position.spans or position.is_unsure) and self._ends_paragraph(part[0]):
                position.is_unsure = False
                if position.spans:
                    return part.start(), "broken"  # CommonMark: a code span lies within a paragraph
            if char == "\n":
                position.at_line_start, position.head = True, ""
                position.in_heading = position.leads_block = False
                if position.opening:
                    position.fence, position.opening, position.is_unsure = position.opening, None, False
                    position.fence_in_quote = position.in_quote
                if position.is_closing:
                    position.fence, position.is_closing = None, False
                    return part.end(), "closed"
            elif char == "`" or (char == "~" and position.at_line_start):
                position.run, position.run_is_escaped = (char, len(part[0])), position.is_escaped
                position.run_leads_line, position.run_leads_block = position.at_line_start, position.leads_block
                position.at_line_start, position.head = False, None
            else:
                words = part[0].lstrip(_LINE_PREFIX) if position.at_line_start else part[0].strip()
                position.at_line_start = position.at_line_start and not words
                self._read_head(part[0])
                position.is_closing = position.is_closing and not words
            # A pair of backslashes is one that escapes nothing; they may arrive one by one.
            position.is_escaped = char == "\\" and position.is_escaped != (len(part[0]) % 2 == 1)
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
        if not self._trusts_code:
            return None
        if position.run_is_escaped:
            if not position.spans:
                length -= 1
            elif length != abs(position.spans[0]):
                return None
        if length >= 3 and (position.run_leads_line or position.run_leads_block):
            return self._begin_fence(char, length)
        if position.opening and position.opening[0] == "`":  # a backtick on its line: it was a span, not a fence
            position.spans, position.opening = (position.opening[1],), None
        if char == "~" or position.opening:
            return None
        return self._end_span_run(length, is_before_blank=is_before_blank)

    def _begin_fence(self, char: str, length: int) -> CodeEnd | None:
        position = self._position
        was_inside, position.spans = bool(position.spans), ()
        # Where a fence in a list ends depends on indentation: until the paragraph ends nothing counts.
        position.is_unsure = position.is_unsure or was_inside or position.run_leads_block
        position.opening = None if position.run_leads_block else (char, length)
        return "broken" if was_inside else None

    def _end_span_run(self, length: int, *, is_before_blank: bool) -> CodeEnd | None:
        position = self._position
        lengths = tuple(map(abs, position.spans))
        if length in lengths:
            at = lengths.index(length)
            position.spans = position.spans[:at]
            return None if at else "broken" if position.is_unsure else "closed"
        if length:
            position.spans += (_LONE if length == 1 and is_before_blank else length,)
        return None

    def watch_tag(self, *, is_opener: bool) -> CodeEnd | None:
        """Read a tag inside code, as one opaque character of its line; return how code ended before it, if it did."""
        position = self._position
        end = self.end_run()
        if end is None and is_opener and position.at_line_start and position.spans:
            end = "broken"
        if end is None:
            position.at_line_start = position.is_closing = False
            position.head = None
        return end

    def finish(self) -> CodeEnd:
        """Say how the code ended, at the end of the text."""
        end = self.end_run()
        return "closed" if end == "closed" or self._position.is_closing else "broken"

    def _parse_queue(self) -> None:
        text = "".join(self._queue)
        self._queue.clear()
        offset = 0
        while offset < len(text):
            offset, end = self.watch(text, offset)
            if end == "broken":
                self._position.spans = ()

    def _ends_paragraph(self, part: str) -> bool:
        """Say whether a line break or the next words end the paragraph."""
        position = self._position
        if part == "\n":
            return position.at_line_start or position.in_heading
        mark = _BLOCK_MARK.match(position.head + part[:_MAX_HEAD_CHARS]) if position.head is not None else None
        return mark is not None and not (mark["quote"] and position.in_quote)

    def _leaves_quote(self, part: str) -> bool:
        """Say whether a line of a fence in a quote lacks the mark of the quote."""
        head = self._position.head
        start = head.lstrip() + part.lstrip(" \t") if head is not None else ""
        return start != "" and not start.startswith(">")

    def _read_head(self, part: str) -> None:
        position = self._position
        if position.head is None:
            position.leads_block = position.leads_block and part.isspace()
            return
        head = position.head + part[:_MAX_HEAD_CHARS]
        mark = _BLOCK_MARK.match(head)
        position.in_heading = bool(mark and mark["heading"])
        # A line without the mark continues a quote.
        position.in_quote = bool(mark and mark["quote"])
        position.leads_block = bool(mark and not mark["quote"] and not (position.head + part)[mark.end() :].strip())
        position.head = None if mark or len(head) > _MAX_HEAD_CHARS else head
