"""Follow Markdown code through a stream: is this place inside a code span or a fence, and when does that end?

A span opens with a run of backticks and closes with a run of equal length; the end of its paragraph breaks it. A fence
opens with three or more backticks or tildes at the start of a line and closes with a bare line of at least as many;
only the end of the text breaks it. Normaliser 9 rests on the difference between *closes* and *breaks*.

The answer to a question never depends on how the text was cut. Text is only queued until somebody asks, so that
following costs next to nothing while nobody does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

_BATCH = 64  # queued pieces
_LONGEST_RUN = 16  # longer runs count as this long: it bounds how often a text can be gone through again
_LINE_HEAD = re.compile(r"[ \t\r>]*")
_STOP = re.compile(r"[`\n]")
_RUN = {"`": re.compile("`+"), "~": re.compile("~+")}


class Verdict(Enum):
    """How the code that was watched came to its end."""

    CLOSED = "closed"
    BROKEN = "broken"


@dataclass(slots=True)
class Place:
    """Where in the Markdown the text stands. Runs are (character, length)."""

    span: int = 0  # length of the run that opened it, 0: none
    fence: tuple[str, int] | None = None
    opening: tuple[str, int] | None = None  # a fence, if no backtick follows on its line
    is_closing: bool = False  # the run that closes the fence stands there; its line must stay bare
    at_line_start: bool = True
    run: tuple[str, int] | None = None  # not over yet
    run_leads: bool = False  # it stands first on its line


class CodeTracker:
    """Knows the code around the end of the text that it was given."""

    __slots__ = ("_place", "_queue", "_trusts_fences")

    def __init__(self) -> None:
        self._place = Place()
        self._queue: list[str] = []
        self._trusts_fences = True

    def note(self, text: str) -> None:
        """Take in text."""
        self._queue.append(text)
        if len(self._queue) >= _BATCH:
            self._catch_up()

    def is_inside(self) -> bool:
        """Say whether a tag that comes now stands in apparent code. It ends a run of backticks."""
        self._catch_up()
        self._end_run()
        place = self._place
        return bool(place.span or place.fence or place.opening)

    def in_fence(self) -> bool:
        """Say whether a line that starts now is inside a fence."""
        self._catch_up()
        return self._place.fence is not None

    def snapshot(self) -> Place:
        """Return where the text stands, to come back to with ``distrust``."""
        return replace(self._place)

    def distrust(self, place: Place) -> None:
        """Go back to ``place``, but outside any code: what looked like code there is broken."""
        self._place = replace(place, span=0, fence=None, opening=None, is_closing=False)

    def trust_fences(self, *, trusts: bool) -> None:
        """Say whether fences that start from here on count. At the end of a text, after one broke, they don't."""
        self._trusts_fences = trusts

    def watch(self, text: str) -> tuple[int, Verdict | None]:
        """Take in text up to the end of the code, if it holds one: return the offset there and how it ended."""
        return self._advance(text, 0)

    def watch_tag(self) -> Verdict | None:
        """End a run of backticks before a tag; the verdict, if that ended the code."""
        return self._end_run()

    def note_tag(self) -> None:
        """Take in a tag, as one opaque character of its line."""
        self._place.at_line_start = self._place.is_closing = False

    def finish(self) -> Verdict:
        """Say how the code ended, at the end of the text."""
        verdict = self._end_run()
        return Verdict.CLOSED if verdict is Verdict.CLOSED or self._place.is_closing else Verdict.BROKEN

    def _catch_up(self) -> None:
        text = "".join(self._queue)
        self._queue.clear()
        offset = 0
        while offset < len(text):
            offset, verdict = self._advance(text, offset)
            if verdict is Verdict.BROKEN:
                self._place.span = 0

    def _advance(self, text: str, offset: int) -> tuple[int, Verdict | None]:
        verdict = None
        while offset < len(text) and verdict is None:
            place = self._place
            if place.run is not None and text[offset] != place.run[0]:
                verdict = self._end_run()
            elif place.run is not None:
                offset = self._lengthen_run(text, offset, place.run)
            elif text[offset] == "\n":
                offset, verdict = self._end_line(offset)
            elif place.at_line_start:
                offset = self._start_line(text, offset)
            else:
                offset = self._skip_words(text, offset)
        return offset, verdict

    def _lengthen_run(self, text: str, offset: int, run: tuple[str, int]) -> int:
        match = _RUN[run[0]].match(text, offset)
        end = match.end() if match else offset
        self._place.run = (run[0], run[1] + end - offset)
        return end

    def _start_line(self, text: str, offset: int) -> int:
        head = _LINE_HEAD.match(text, offset)
        end = head.end() if head else offset
        if end == offset:
            self._place.at_line_start = False
            if text[offset] in _RUN:
                self._start_run(text[offset], leads=True)
        return end

    def _skip_words(self, text: str, offset: int) -> int:
        stop = _STOP.search(text, offset)
        end = stop.start() if stop else len(text)
        if self._place.is_closing and text[offset:end].strip():
            self._place.is_closing = False
        if stop and stop[0] == "`":
            self._start_run("`", leads=False)
        return end

    def _start_run(self, char: str, *, leads: bool) -> None:
        self._place.run = (char, 0)
        self._place.run_leads = leads

    def _end_line(self, offset: int) -> tuple[int, Verdict | None]:
        place = self._place
        if place.at_line_start and place.span:
            return offset, Verdict.BROKEN
        verdict = Verdict.CLOSED if place.is_closing else None
        if place.is_closing:
            place.fence, place.is_closing = None, False
        if place.opening:
            place.fence, place.opening = place.opening, None
        place.at_line_start = True
        return offset + 1, verdict

    def _end_run(self) -> Verdict | None:
        place = self._place
        if place.run is None:
            return None
        (char, length), place.run = place.run, None
        run = (char, min(length, _LONGEST_RUN))
        if place.fence:
            place.is_closing = place.run_leads and char == place.fence[0] and run[1] >= place.fence[1]
            return None
        if place.run_leads and length >= 3 and self._trusts_fences:
            return self._open_fence(run)
        return self._turn_span(run)

    def _open_fence(self, run: tuple[str, int]) -> Verdict | None:
        place = self._place
        was_inside, place.span, place.opening = place.span, 0, run
        return Verdict.BROKEN if was_inside else None

    def _turn_span(self, run: tuple[str, int]) -> Verdict | None:
        place = self._place
        if place.opening and place.opening[0] == "`":
            place.span, place.opening = place.opening[1], None
        if run[0] == "~" or place.opening:
            return None
        if place.span == run[1]:
            place.span = 0
            return Verdict.CLOSED
        place.span = place.span or run[1]
        return None
