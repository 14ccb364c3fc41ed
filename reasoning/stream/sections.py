"""Split the visible text into the sections that our prompt asks for: answer and Reasoning Summary. Spec 004.

Answer text is emitted at once, except the start of a line that may still become a heading, and white space that may be
the last. A bullet is emitted whole, when it has ended, as plain text. Paragraphs between two headings are bullets, too,
and are held back until the second one comes, within bounds. Without headings everything is answer. Headings count in
any order and number, outside code fences, alone on their line or with a colon and text behind it. The text must have
been through the normaliser; any chunking gives the same sections, at linear cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reasoning.delimiters.headings import ANSWER, SECTIONS, SUMMARY, LineStart
from reasoning.delimiters.tags import SeamGuard
from reasoning.deltas import Channel
from reasoning.scratchpad import Scratchpad
from reasoning.stream.code_spans import CodeTracker
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.output import WhitespaceTrimmer
from reasoning.trace import MAX_BULLETS

MAX_BULLET_CHARS = 200
_MAX_READ_CHARS = 4096  # of a bullet; what follows could not be shown anyway
_MAX_INDENT = 64  # of a line in the summary
_MAX_PARAGRAPHS_CHARS = MAX_BULLETS * MAX_BULLET_CHARS  # that are held: longer ones are the answer
_MAX_MARKDOWN_CHARS = 1_024  # of a bullet that are searched for marks
_MAX_UNDECIDED_CHARS = 80  # of a line that is no heading; half a heading is shorter by its pattern

_QUOTES = r"[ \t]*(?:>[ \t]*){0,3}"
_QUOTED = re.compile(r"[ \t]*(?:>[ \t]*){1,3}")
# Pictures that begin a line mean a mark; arrows continue a sentence.
_PICTURE = "[\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
_JOINED = "[\ufe0e\ufe0f\u200d\U0001f3fb-\U0001f3ff]"
_SPACED_MARK = r"(?:[-*+–—]|[0-9]{1,3}[.)]|[A-Za-z]\)|[ivx]{1,5}\)|\([A-Za-z0-9]{1,2}\))"
_BULLET = re.compile(rf"{_QUOTES}(?:{_SPACED_MARK}[ \t]+|[•‣⁃∙·][ \t]*|[0-9#*]\ufe0f?\u20e3[ \t]*)")
_PICTURE_BULLET = re.compile(rf"{_QUOTES}{_PICTURE}")
_EMPTY_BULLET = re.compile(rf"{_QUOTES}(?:[-*+–—]|[0-9]{{1,3}}[.)]|[A-Za-z]\))\r?")
_RULE = re.compile(rf"{_QUOTES}(?:-{{3,}}|\*{{3,}}|_{{3,}})?[ \t\r]*\Z")
_FENCE = re.compile(rf"{_QUOTES}(?:`{{3}}|~{{3}})")
_PARTIAL_MARK = re.compile(  # the beginning of a bullet, a rule or a fence
    rf"{_QUOTES}(?:(?:[-*+–—]|[0-9]{{1,3}}[.)]?|[0-9#*]\ufe0f?|[A-Za-z]\)?|[ivx]{{1,5}}\)?|\([A-Za-z0-9]{{0,2}}\)?)?"
    r"[ \t\r]*|(?:-+|\*+|_+)[ \t\r]*|`{1,2}|~{1,2})\Z"
)
_BULLET_MARK = re.compile(rf"(?:{_SPACED_MARK}|•)\s+|(?:{_PICTURE}|{_JOINED})+\s*|\#{{1,6}}\s+|\[[ xX]\]\s+")
# Marks within words are none: snake_case, 2*3.
_LETTER = r"[0-9A-Za-z_À-ɏ]"
_MARKDOWN = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>[^\[\]]+)\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)|\[[^\[\]]*\])"
    r"|<(?P<url>https?://[^<>\s]+)>"
    rf"|(?<!{_LETTER})(?<!\*)(?P<stars>\*{{1,3}})(?=[^\s*])(?P<strong>.+?)(?<=[^\s*])(?P=stars)(?![*])"
    rf"|(?<!{_LETTER})(?P<lines>_{{1,3}})(?=[^\s_])(?P<emphasis>.+?)(?<=[^\s_])(?P=lines)(?!{_LETTER})"
    r"|~~(?=\S)(?P<struck>.+?)(?<=\S)~~"
    r"|\\(?P<escaped>[*_`~\[\]])"
)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Sections:
    """One message in its sections. ``scratchpad`` is None where there was none."""

    summary: tuple[str, ...]
    answer: str
    scratchpad: Scratchpad | None = None


def parse_sections(text: str) -> Sections:
    """Return the sections of a whole text, delimiters included. The same as streaming it through both parsers."""
    normalizer, parser = Normalizer(), SectionParser()
    answer = ""
    scratchpads: list[Scratchpad] = []
    for delta in (*normalizer.feed({"content": text}), *normalizer.finish()):
        if isinstance(delta.text, Scratchpad):
            scratchpads.append(delta.text)
        elif delta.channel is Channel.VISIBLE:
            answer += parser.feed(delta.text)
    answer += parser.finish()
    return Sections(tuple(parser.bullets), answer, Scratchpad.join(scratchpads) if scratchpads else None)


class SectionParser:
    """Feed it visible text; it returns the answer's. ``bullets``: those of the summary that have ended.

    ``live`` holds back line breaks of the answer only, so that no word waits for the next; it may end in blanks.
    ``before``: the answer that was cut off and that the text continues. It is not returned again.
    """

    def __init__(self, *, live: bool = False, before: str = "") -> None:
        self.bullets: list[str] = []
        self._shown: list[str] = []  # of the answer, by the present call
        self._answer = _Answer(live=live, before=before)
        self._bullet = _Bullet(self.bullets)
        self._in_summary = False
        self._is_at_start = not before  # of the message, whose first blanks are dropped
        self._line = ""  # the current line, until its kind is decided
        self._is_decided = False
        self._follows_blank_line = True
        self._line_has_text = False
        self._skips_blanks = False  # after a heading, on its line
        # Headings and blanks behind them: text, if nothing follows (product 16).
        self._held: list[str] = []
        self._held_in_summary = False
        # Text of the summary without marks: bullets, if the answer has a heading, else the answer.
        self._paragraphs: list[str] = []
        self._paragraphs_chars = 0
        self._has_plain_heading = False  # outside quotations: from then on those in quotations are none
        self._is_finished = False
        self._is_at_seam = False  # to a text that was cut off within its line
        self._shown_chars = 0  # of the current line, by that text
        self._continue(before)

    def _continue(self, before: str) -> None:
        above, _line_break, line = before.rpartition("\n")
        self._follows_blank_line = not above.rpartition("\n")[2].strip()
        is_heading = not self._answer.in_fence() and None is SECTIONS.read(
            line, is_whole=False, follows_blank=self._follows_blank_line
        )
        if is_heading or not line:
            self._line, self._shown_chars = line, len(line)
            return
        self._is_decided = self._line_has_text = True
        self._is_at_seam, self._follows_blank_line = not self._answer.in_fence(), False

    @property
    def held_blanks(self) -> str:
        """The white space at the end of the answer that is held back. Live it begins with a line break."""
        return "".join(self._answer.ends.held)

    def feed(self, text: str) -> str:
        """Return what of the answer is certain now."""
        if self._is_finished:
            return ""
        if self._is_at_start:
            text = text.lstrip()
            self._is_at_start = not text
        if self._is_at_seam and text:
            # Words behind a blank continue a sentence. Else a response may begin with a heading of its own.
            self._is_at_seam, self._is_decided = False, text[0].isspace()
        at = 0
        while at < len(text):
            end = text.find("\n", at) + 1 or len(text)
            if not (self._in_summary or self._held or self._skips_blanks or self._line):
                # Nearly all of an answer is text up to the next line that may be a heading.
                self._is_decided = self._is_decided or not SECTIONS.may_begin(text, at)
                if self._is_decided and end < len(text):
                    end = SECTIONS.next_line(text, at) or len(text)
            is_whole = text[end - 1] == "\n"
            piece = text[at : end - is_whole]
            at = end
            if self._is_decided:
                self._add(piece)
            else:
                self._line += piece
                self._decide(is_whole=is_whole)
            if is_whole:
                self._end_line()
        return self._drain()

    def finish(self) -> str:
        """Return what of the answer was held back; later calls return nothing."""
        if self._is_finished:
            return ""
        self._is_finished = True
        if self._line:
            self._decide(is_whole=True)
        self._bullet.end()
        has_paragraphs = bool(self._paragraphs)
        self._end_paragraphs(is_summary=False)
        if self._held:
            if self._held_in_summary and not has_paragraphs:
                self._answer.begin_section()
            self._shown.append(self._answer.feed("".join(self._held)))
        return self._drain()

    def _drain(self) -> str:
        shown, self._shown = self._shown, []
        return "".join(shown)

    def _decide(self, *, is_whole: bool) -> None:
        """Find out what the current line is, as soon as that is certain."""
        mark = self._read_line(is_whole=is_whole)
        if mark is None:
            return
        text, self._line, self._is_decided = self._line[self._shown_chars :], "", True
        mark = LineStart(mark.kind, max(mark.chars - self._shown_chars, 0))
        self._shown_chars = 0
        is_heading = mark.kind in (SUMMARY, ANSWER)
        if mark.kind in (SUMMARY, "fence"):
            self._end_paragraphs(is_summary=False)
        if is_heading:
            self._bullet.end()
            self._held_in_summary = self._held_in_summary if self._held else self._in_summary
            self._in_summary = mark.kind == SUMMARY
            self._skips_blanks = self._line_has_text = True
        elif self._in_summary and self._paragraphs:
            self._hold_paragraphs(text)
            self._line_has_text = mark.kind != "blank"
            return
        elif self._in_summary and mark.kind in ("bullet", "blank"):
            self._bullet.end()
        elif self._in_summary and mark.kind == "fence":
            self._bullet.end()  # the summary is over
            self._in_summary = False
        elif self._in_summary and self._follows_blank_line:
            self._bullet.end()
            if self._held:
                self._held.clear()
                self._answer.begin_section()
            self._paragraphs.append("")
            mark = LineStart()
        if is_heading or self._held:
            self._held.append(text[: mark.chars])
        self._add(text[mark.chars :])

    def _read_line(self, *, is_whole: bool) -> LineStart | None:
        mark: LineStart | None = LineStart()
        if self._in_summary:
            self._line = _limit_indent(self._line)
            mark = _read_summary_line(self._line, is_whole=is_whole, follows_blank=self._follows_blank_line)
        elif not self._answer.in_fence():
            mark = SECTIONS.read(self._line, is_whole=is_whole, follows_blank=self._follows_blank_line)
        if mark and mark.kind in (SUMMARY, ANSWER):
            is_quoted = self._line.lstrip().startswith(">")
            if is_quoted and self._has_plain_heading:
                return LineStart()
            self._has_plain_heading = self._has_plain_heading or not is_quoted
        return mark

    def _add(self, text: str) -> None:
        if self._paragraphs and self._in_summary:
            self._line_has_text = True
            self._hold_paragraphs(text)
            return
        if self._held and (not text or text.isspace()):
            self._held.append(text)
            return
        if self._skips_blanks:
            text = text.lstrip()
            self._skips_blanks = not text
        if not text:
            return
        if self._held:
            # The indentation of the line may have come before its text.
            indent = "".join(self._held).rpartition("\n")[2]
            text = indent + text if indent.isspace() and not self._in_summary else text
            self._held.clear()
            self._end_paragraphs(is_summary=True)
            self._answer.begin_section()
        if not self._line_has_text or "\n" in text:
            self._line_has_text = bool(text[text.rfind("\n") + 1 :].strip())
        if self._in_summary:
            self._bullet.add(text)
        else:
            self._shown.append(self._answer.feed(text))

    def _hold_paragraphs(self, text: str) -> None:
        self._paragraphs.append(text)
        self._paragraphs_chars += len(text)
        if self._paragraphs_chars > _MAX_PARAGRAPHS_CHARS:
            self._end_paragraphs(is_summary=False)

    def _end_paragraphs(self, *, is_summary: bool) -> None:
        """Emit the paragraphs that were held, each as a bullet or all as the answer."""
        text = "".join(self._paragraphs)
        if not self._paragraphs:
            return
        self._paragraphs.clear()
        self._paragraphs_chars = 0
        if not is_summary:
            self._in_summary = False
            self._shown.append(self._answer.feed(text))
            return
        follows_blank = True
        for line in map(_limit_indent, text.split("\n")):
            mark = _read_summary_line(line, is_whole=True, follows_blank=follows_blank) or LineStart()
            if mark.kind in ("bullet", "blank") or follows_blank:
                self._bullet.end()
            # A heading that doesn't count is text.
            self._bullet.add(f"{line if mark.kind in (SUMMARY, ANSWER) else line[mark.chars :]} ")
            follows_blank = mark.kind == "blank"
        self._bullet.end()

    def _end_line(self) -> None:
        if self._held:
            self._held.append("\n")
        elif self._paragraphs:
            self._hold_paragraphs("\n")
        elif self._in_summary:
            self._bullet.add(" ")
        else:
            self._shown.append(self._answer.feed("\n"))
        self._follows_blank_line = not self._line_has_text
        self._is_decided = self._line_has_text = self._skips_blanks = False


class _Answer:
    """The answer's text: blank lines at both ends dropped, its parts separated by one blank line."""

    def __init__(self, *, live: bool, before: str) -> None:
        self._code = CodeTracker()
        self._code.feed(before)
        self._unread: list[str] = []  # text that the tracker hasn't read: few lines may be a heading
        self.ends = WhitespaceTrimmer(live=live, strips_start=False)
        self._seam = SeamGuard()  # a heading that was cut out must not join a delimiter
        self._seam.feed(before, is_after_removal=False)
        self._leading: list[str] = []  # white space before the text of a part
        self._is_first_part = True
        self._begins_part = not before
        self._is_after_removal = False

    def begin_section(self) -> None:
        self._leading.clear()
        self.ends.reset()
        self._begins_part = self._is_after_removal = True

    def in_fence(self) -> bool:
        """Say whether a line that starts now is inside a fence."""
        self._code.feed("".join(self._unread))
        self._unread.clear()
        return self._code.in_fence()

    def feed(self, text: str) -> str:
        self._unread.append(text)
        if self._begins_part:
            self._leading.append(text)
            if text.isspace():
                return ""
            # Drop blank lines; the indentation of the first line stays.
            text = "".join(self._leading)
            indent_at = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
            text = text[indent_at:] if self._is_first_part else "\n\n" + text[indent_at:]
            self._leading.clear()
            self._begins_part = self._is_first_part = False
        shown = self.ends.feed(text)
        self._is_first_part = self._is_first_part and not shown
        shown = self._seam.feed(shown, is_after_removal=self._is_after_removal)
        self._is_after_removal = self._is_after_removal and not shown
        return shown


class _Bullet:
    """The bullet of the summary that is being read; ``end`` adds it to ``bullets``. Spec 004 summary."""

    def __init__(self, bullets: list[str]) -> None:
        self._bullets = bullets
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        # A bullet without end must not fill the memory.
        room = _MAX_READ_CHARS - self._size
        if room > 0:
            self._pieces.append(text[:room])
            self._size += min(len(text), room)

    def end(self) -> None:
        """Add the current bullet, if there is one, to those that have ended."""
        text = _BLANKS.sub(" ", "".join(self._pieces)).strip()
        self._pieces, self._size = [], 0
        if not text or len(self._bullets) == MAX_BULLETS:
            return
        text = _BULLET_MARK.sub("", text, count=1) if _BULLET_MARK.match(text) else text
        text = _shorten(plain_text(text[:_MAX_MARKDOWN_CHARS]).strip())
        if text:
            self._bullets.append(text)


def plain_text(markdown: str) -> str:
    """Return one line of Markdown without its marks: emphasis, code, links."""

    def inner(found: re.Match[str]) -> str:
        verbatim = found["code"] or found["url"] or found["escaped"]
        return verbatim or plain_text(found["label"] or found["strong"] or found["emphasis"] or found["struck"])

    return _MARKDOWN.sub(inner, markdown)


def _read_summary_line(line: str, *, is_whole: bool, follows_blank: bool) -> LineStart | None:
    """Say what this line of a summary is; None if more of it is needed. A rule between sections counts as blank."""
    heading = SECTIONS.read(line, is_whole=is_whole, follows_blank=follows_blank)
    if heading is None or heading.kind != "text":
        return heading
    if not line.strip():
        return LineStart("blank", len(line)) if is_whole else None
    if _FENCE.match(line):
        return LineStart("fence")
    if _PICTURE_BULLET.match(line) and not follows_blank:
        return LineStart("bullet")
    if len(line) <= _MAX_UNDECIDED_CHARS:
        if not is_whole and _PARTIAL_MARK.match(line):
            return None
        if is_whole and _RULE.match(line):
            return LineStart("blank", len(line))
    bullet = _BULLET.match(line) or _EMPTY_BULLET.fullmatch(line)
    if bullet:
        return LineStart("bullet", bullet.end())
    quotes = _QUOTED.match(line)
    return LineStart("text", quotes.end() if quotes else 0)


def _limit_indent(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return line[:_MAX_INDENT] + line[indent:] if indent > _MAX_INDENT else line


def _shorten(text: str) -> str:
    if len(text) <= MAX_BULLET_CHARS:
        return text
    short = text[:MAX_BULLET_CHARS]
    words = short.rsplit(" ", 1)[0] if " " in short else short[:-1]
    return words.rstrip() + "…"
