"""Part the text for the reader into the sections that our prompt asks for: answer and Reasoning Summary. Spec 004.

Text of the answer goes on at once, except the start of a line that may still become a heading, and blanks that may be
the last. A bullet comes out whole, when it has ended. Without headings everything is answer. Headings count in any
order and number, outside code fences, alone on their line or with a colon and text behind it. The text must have been
through the normaliser; any chunking gives the same sections, at linear cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reasoning.codespans import CodeTracker
from reasoning.deltas import Channel, Delta
from reasoning.normalizer import Normalizer
from reasoning.outlets import Outbox, Trimmer, text_delta
from reasoning.scratchpad import Scratchpad
from reasoning.sectionlines import SUMMARY, Line, LineKind, read_answer_line, read_summary_line
from reasoning.tagscan import GlueGuard

MAX_BULLETS = 5
MAX_BULLET_CHARS = 200
_READ_CHARS = 4096  # of a bullet; what lies behind could not show anyway
_MAX_INDENT = 64  # kept of blanks at the start of a line in the summary
_ANSWER = Channel.ANSWER
_PIECE = re.compile(r"[^\n]*\n|[^\n]+")
_BLANKS = re.compile(r"\s+")
_MAY_BE_HEADING = re.compile(r"[ \t]{0,3}(?:[#*_rRfF]|\Z)")  # a mark, or a letter of a name; saves most lines the look
_TEXT = Line(LineKind.TEXT)
_MARK = re.compile(r"(?:[-*–•]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Sections:
    """One message, parted. ``scratchpad`` is None where there was none."""

    summary: tuple[str, ...]
    answer: str
    scratchpad: Scratchpad | None = None


def parse_sections(text: str) -> Sections:
    """Return the sections of a whole text, delimiters and all. The same as streaming it through both machines."""
    normalizer, parser = Normalizer(), SectionParser()
    answer: list[str] = []
    summary: list[str] = []
    pads: list[Scratchpad] = []
    for delta in (*normalizer.feed({"content": text}), *normalizer.finish()):
        if isinstance(delta.text, Scratchpad):
            pads.append(delta.text)
        elif delta.channel is Channel.VISIBLE:
            _collect(parser.feed(delta.text), answer, summary)
    _collect(parser.finish(), answer, summary)
    return Sections(tuple(summary), "".join(answer), Scratchpad.join(pads) if pads else None)


class SectionParser:
    """Feed it text on the visible channel; it gives back deltas on ANSWER and, a bullet each, on SUMMARY.

    ``live`` holds only blank lines of the answer, so that a word doesn't wait for the next; it may end in blanks.
    """

    def __init__(self, *, live: bool = False) -> None:
        self._outbox = Outbox()
        self._answer = _Answer(self._outbox, is_live=live)
        self._bullets = _Bullets(self._outbox)
        self._in_summary = False
        self._line = ""  # of the current line, as long as its kind is open
        self._is_open = True
        self._follows_blank = True
        self._has_text = False  # on the current line
        self._skips_blanks = False  # behind a heading, on its line
        self._is_finished = False
        self._flows = False  # in the middle of a line of the answer

    def feed(self, text: str) -> tuple[Delta, ...]:
        """Take text; return what is certain now."""
        answer = self.answer_now(text)
        if answer is not None:
            return (text_delta(_ANSWER, answer),) if answer else ()
        if self._is_finished or not text:
            return ()
        for piece in _PIECE.findall(text) if "\n" in text else (text,):
            self._take(piece)
        self._flows = self._has_text and not (self._is_open or self._in_summary or self._skips_blanks)
        return self._outbox.drain()

    def answer_now(self, text: str) -> str | None:
        """Return what leaves of the answer with a text within its lines; None where it must go through ``feed``."""
        return self._answer.passed(text) if self._flows and "\n" not in text else None

    @property
    def keeps_break(self) -> bool:
        """Whether the answer goes on with a line break, if it goes on: then its last word is over."""
        return self._answer.keeps_break

    @property
    def keeps_line(self) -> bool:
        """Whether the beginning of a line waits here, which may still become a heading."""
        return bool(self._line)

    def finish(self) -> tuple[Delta, ...]:
        """Let go of what was held; calling it again yields nothing."""
        if self._is_finished:
            return ()
        self._is_finished, self._flows = True, False
        if self._is_open and self._line:
            self._decide(is_whole=True)
        self._bullets.close()
        return self._outbox.drain()

    def _take(self, piece: str) -> None:
        if self._is_open:
            self._line += piece.removesuffix("\n")
            self._decide(is_whole=piece.endswith("\n"))
        else:
            self._go_on(piece.removesuffix("\n"))
        if piece.endswith("\n"):
            self._end_line()

    def _decide(self, *, is_whole: bool) -> None:
        text = self._line = _less_indented(self._line) if self._in_summary else self._line
        line = self._read(text, is_whole=is_whole)
        if line.kind is LineKind.OPEN:
            return
        self._is_open, self._line = False, ""
        if line.kind is LineKind.HEADING:
            self._start_section(line.section)
        elif self._in_summary:
            self._take_summary_line(line.kind)
        self._go_on(text[line.rest_at :])

    def _read(self, text: str, *, is_whole: bool) -> Line:
        if self._in_summary:
            return read_summary_line(text, is_whole=is_whole, follows_blank=self._follows_blank)
        if not _MAY_BE_HEADING.match(text) or self._answer.in_fence():
            return _TEXT
        return read_answer_line(text, is_whole=is_whole, follows_blank=self._follows_blank)

    def _start_section(self, section: str) -> None:
        self._bullets.close()
        self._answer.part()
        self._in_summary = section == SUMMARY
        self._skips_blanks = self._has_text = True

    def _take_summary_line(self, kind: LineKind) -> None:
        if kind in (LineKind.BULLET, LineKind.BLANK):
            self._bullets.close()
        elif kind is LineKind.FENCE or (kind is LineKind.TEXT and self._follows_blank):
            self._bullets.close()
            self._in_summary = False

    def _go_on(self, text: str) -> None:
        if self._skips_blanks:
            text = text.lstrip()
            self._skips_blanks = not text
        if not text:
            return
        self._has_text = self._has_text or not text.isspace()
        if self._in_summary:
            self._bullets.add(text)
        else:
            self._answer.add(text)

    def _end_line(self) -> None:
        """Both ends of a heading's line belong to the heading, and so does its line break."""
        if self._in_summary:
            self._bullets.add(" ")
        else:
            self._answer.add("\n")
        self._follows_blank = not self._has_text
        self._is_open, self._has_text, self._skips_blanks = True, False, False


class _Answer:
    """Answer text on its way out: blank lines at both ends dropped, sections parted by one blank line."""

    def __init__(self, outbox: Outbox, *, is_live: bool) -> None:
        self._outbox = outbox
        self._guard = GlueGuard()
        self._code = CodeTracker()
        self._leading: list[str] = []
        self._end = Trimmer(is_live=is_live, keeps_start=True)
        self._has_begun = False
        self._is_parted = True

    def in_fence(self) -> bool:
        return self._code.in_fence()

    @property
    def keeps_break(self) -> bool:
        return self._end.keeps_break

    def part(self) -> None:
        """Leave a blank line before the next text."""
        self._leading.clear()
        self._end.restart()
        self._is_parted = True

    def add(self, text: str) -> None:
        self._outbox.put(_ANSWER, self.passed(text))

    def passed(self, text: str) -> str:
        """Return what may leave now of the answer with this text."""
        self._code.note(text)
        if self._is_parted:
            text = self._after_break(text)
        return self._guard.pass_on(self._end.feed(text))

    def _after_break(self, text: str) -> str:
        if text.isspace():
            self._leading.append(text)
            return ""
        text = "".join((*self._leading, text))
        first = len(text) - len(text.lstrip())
        text = text[text.rfind("\n", 0, first) + 1 :]
        text = "\n\n" + text if self._has_begun else text
        self._is_parted, self._has_begun = False, True
        return text


class _Bullets:
    """The bullets of the summary; each leaves when it has ended. Spec 004 summary."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._pieces: list[str] = []
        self._size = 0
        self._count = 0

    def add(self, text: str) -> None:
        room = _READ_CHARS - self._size
        if room > 0:
            self._pieces.append(text[:room])
            self._size += min(len(text), room)

    def close(self) -> None:
        text = _BLANKS.sub(" ", "".join(self._pieces)).strip()
        self._pieces, self._size = [], 0
        text = _shortened(_MARK.sub("", text, count=1) if _MARK.match(text) else text)
        if text and self._count < MAX_BULLETS:
            self._count += 1
            self._outbox.deliver(Delta(Channel.SUMMARY, text))


def _less_indented(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return line[:_MAX_INDENT] + line[indent:] if indent > _MAX_INDENT else line


def _shortened(text: str) -> str:
    if len(text) <= MAX_BULLET_CHARS:
        return text
    kept = text[:MAX_BULLET_CHARS]
    words = kept.rsplit(" ", 1)[0] if " " in kept else kept[:-1]
    return words.rstrip() + "…"


def _collect(deltas: tuple[Delta, ...], answer: list[str], summary: list[str]) -> None:
    for delta in deltas:
        (summary if delta.channel is Channel.SUMMARY else answer).append(str(delta.text))
