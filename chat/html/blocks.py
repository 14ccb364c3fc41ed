"""Cuts markdown that is still arriving into blocks that won't change any more.

A block is frozen when a blank line ends it and at least one complete block and the one still growing follow it: what
looks like a number may become a list, a list may go on after its blank line. A cut is only made where the markdown
parser itself, given all that came before, starts a new top-level block, so blocks rendered one by one read as the
whole does.

The cost is linear. A line is tried as a cut only if it follows a blank line, isn't indented and can't continue a list;
then nothing but an open code fence or formula can swallow it. Once a fence is known to be open, lines are compared with
its closing mark, and nothing before it is parsed again; a formula is given up after some lines. Of an answer in many
blocks the later ones are joined, so that a megabyte of one-letter paragraphs isn't cut, and rendered, three hundred
thousand times.
"""

from __future__ import annotations

import re

from chat.html.formulas import BLOCK
from chat.html.markdown import top_level_blocks

_LIST_ITEM = re.compile(r"[ \t]*(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t\n]|$)")
_BLANK = " \t\n"
_MANY = 2_000  # blocks; after so many only those of this size are cut
_LARGE_CHARS = 4_096


class BlockSplitter:
    """Takes text in pieces of any size; what it returns and ``tail``, joined, is that text, its line ends made LF."""

    def __init__(self) -> None:
        self._held: list[str] = []  # complete, but only the growing block follows
        self._lines: list[str] = []  # the growing block
        self._rest: list[str] = []  # pieces of its last line, unfinished
        self._return = ""  # a carriage return whose line feed may be yet to come
        self._after_blank = self._has_list = self._has_text = False
        self._size = self._count = 0  # of the growing block, in characters; of the blocks that were cut
        self._anchor = 0  # the line of the growing block from which on the parser has to look
        self._closing: re.Pattern[str] | None = None  # the line that ends the open fence

    @property
    def tail(self) -> str:
        """The text after the last frozen block. Its cost is its length."""
        return "".join([*self._held, *self._lines, *self._rest, "\n" if self._return else ""])

    def feed(self, text: str) -> tuple[str, ...]:
        """Take more text; return the blocks that it freezes, oldest first."""
        cuts = self._take(text)
        self._held += cuts
        frozen, self._held = self._held[:-1], self._held[-1:]
        return tuple(frozen)

    def finish(self) -> tuple[str, ...]:
        """Return what is left as blocks, and start anew."""
        last = "".join([*self._lines, *self._rest, "\n" if self._return else ""])
        blocks = (*self._held, *([last] if last else []))
        BlockSplitter.__init__(self)
        return blocks

    def _take(self, text: str) -> list[str]:
        text = self._return + text
        self._return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix(self._return).replace("\r\n", "\n").replace("\r", "\n")
        first, *more = text.split("\n")
        self._rest.append(first)
        cuts: list[str] = []
        for part in more:
            cuts += self._take_line("".join(self._rest) + "\n")
            self._rest = [part]
        return cuts

    def _take_line(self, line: str) -> list[str]:
        """Take one whole line; return the block that ends before it, if one does."""
        cuts: list[str] = []
        if self._may_cut(line):
            cuts = [] if self._is_open() else self._cut()
        if self._closing is None:
            self._note(line)
        elif self._closing.fullmatch(line):
            self._closing = None
        self._lines.append(line)
        self._size += len(line)
        return cuts

    def _may_cut(self, line: str) -> bool:
        continues_list = self._has_list and _LIST_ITEM.match(line) is not None
        follows_block = self._after_blank and self._has_text and self._closing is None
        is_worth_it = self._count < _MANY or self._size >= _LARGE_CHARS
        return follows_block and is_worth_it and line[0] not in _BLANK and not continues_list

    def _note(self, line: str) -> None:
        self._after_blank = not line.strip(_BLANK)
        self._has_text |= not self._after_blank
        self._has_list |= _LIST_ITEM.match(line) is not None

    def _is_open(self) -> bool:
        """Whether a fence or a formula is open after the lines so far; remembers what would close the fence.

        The parser is given a word after them: if that word starts no block, the last block holds it. A formula is one
        only if its end comes soon: until then it is asked about again, from its first line on.
        """
        lines = self._lines[self._anchor :]
        start, token = top_level_blocks("".join([*lines, "x\n"]))[-1]
        if start == len(lines):
            return False
        self._anchor += start
        if token.type != BLOCK:
            self._after_blank = False
            self._closing = re.compile(rf" {{0,3}}{re.escape(token.markup[0])}{{{len(token.markup)},}}[ \t]*\n")
        return True

    def _cut(self) -> list[str]:
        block = "".join(self._lines)
        self._lines, self._anchor, self._size = [], 0, 0
        self._count += 1
        self._has_list = self._has_text = False
        return [block]


def split_blocks(text: str) -> tuple[str, ...]:
    """Cut a whole text into its blocks."""
    splitter = BlockSplitter()
    return (*splitter.feed(text), *splitter.finish())
