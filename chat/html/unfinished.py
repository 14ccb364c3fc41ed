"""Markdown that is still being written: what is unfinished at its end is closed for drawing, or held back.

``TIP`` marks the end of the text, where more is added. The rules here act on the construct that contains it: emphasis
and code are closed, half a link, formula, table row or marker is not drawn yet, which ``HELD`` behind the tip says.
Both are noncharacters, which no text of a model contains once it is cleaned.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

from chat.html import math

# Noncharacters: cleaning removes them from every text of a model.
TIP, HELD = "\ufdd0", "\ufdd1"
_MAX_HELD_CHARS = 2_500  # of a line; longer ones are no link or formula

_LABEL = rf"\[(?:[^\[\]\n\\{TIP}]|\\.|\[[^\[\]\n{TIP}]*+\])*+"
_HELD_INLINE = re.compile(
    r"(?:[*_~`$!]+|\\+|\\b[egin]{0,4}(?:\{[A-Za-z]{0,16}\*?)?|&(?:\#[xX]?[0-9a-fA-F]{0,8}|[A-Za-z][A-Za-z0-9]{0,31})?"
    rf"|</?(?:[A-Za-z][^\s<>\ufdd0]*[ \t]?/?)?"
    rf"|!?{_LABEL}(?:\](?:\([^()\s{TIP}]*+(?:\([^()\s{TIP}]*+\)?+[^()\s{TIP}]*+)*+(?:[ \t]+[^\n){TIP}]*)?)?)?){TIP}"
)
_RUN = re.compile("`+")
# A line that may become a heading, a list item, a rule or a fence.
_UNDECIDED = re.compile(r"[ \t]*(?:(?:[-+*_=~`#>][ \t]*)+|[0-9]{1,9}[.)]?)")
_FENCE_END = re.compile(rf"(?:\A|(?<=\n))[ \t]*(?:`+|~+){TIP}(?=\n?\Z)")
_CODE_END = "</code></pre>"
# What may change how the text before it is drawn; and what may end code.
_MARKUP = re.compile(r"[*_~`\[\]<>&\\|$!\n\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U0001efff]|://|www")
_ADDRESS = re.compile(r"(?:://|www\.)[^\s<>]*\Z")
_CODE_MARKUP = re.compile(r"[`~\n]")


class OpenBlock(NamedTuple):
    """HTML before and after the tip. ``is_whole``: all of the text is drawn."""

    before: str = ""
    after: str = ""
    is_whole: bool = False
    cost_s: float = 0.0  # how long drawing took

    @classmethod
    def parse(cls, html: str, cost_s: float = 0.0) -> OpenBlock:
        """Divide HTML at its tip."""
        before, _tip, after = html.partition(TIP)
        # A bare address becomes a link once its end is seen.
        is_whole = html.count(TIP) == 1 and HELD not in after and not _ADDRESS.search(before)
        return cls(before, after.replace(HELD, ""), is_whole, cost_s)

    @property
    def shown(self) -> tuple[str, str, bool]:
        """All but the cost: what an event has of the block."""
        return self[:3]

    @property
    def html(self) -> str:
        return f'{self.before}<span class="tip"></span>{self.after}'

    @property
    def is_code(self) -> bool:
        """Whether the tip is in a code block."""
        return self.after.startswith(_CODE_END)

    def takes(self, text: str) -> bool:
        """Say whether the block with this text is the HTML with this text at its tip."""
        return self.is_whole and (_CODE_MARKUP if self.is_code else _MARKUP).search(text) is None

    def plus(self, text: str) -> OpenBlock:
        """Return the block with a text at its tip."""
        return self._replace(before=self.before + escape(text, quote=False))


def add_rules(parser: MarkdownIt) -> None:
    """Let a parser draw a text that ends with ``TIP`` as an unfinished one."""
    parser.core.ruler.after("block", "unfinished_line", hold_line)
    parser.inline.ruler.before(math.INLINE, "unfinished", hold_inline)
    parser.inline.ruler.before("backticks", "unfinished_code", close_code)
    parser.inline.ruler2.after("balance_pairs", "unfinished_emphasis", close_emphasis)


def hold_line(state: StateCore) -> None:
    """Hide the last line of the text where more of it decides what it is, and a table's row until it is complete."""
    at = next((at for at, token in reversed(list(enumerate(state.tokens))) if TIP in token.content + token.info), -1)
    if at < 0:
        return
    token = state.tokens[at]
    before = state.tokens[at - 1].type if at else ""
    if token.type == "fence":
        if TIP in token.info:
            token.info, token.content = "", f"{TIP}{HELD}\n"
        token.content = _FENCE_END.sub(TIP + HELD, token.content)
    elif before in ("td_open", "th_open"):
        row = next(start for start in range(at, -1, -1) if state.tokens[start].type == "tr_open")
        end = next(end for end in range(at, len(state.tokens)) if state.tokens[end].type == "tr_close")
        del state.tokens[row : end + 1]
    elif before == "heading_open":
        shown = re.sub(rf"(?:(?<=\s)|\A)#+{TIP}\Z", TIP + HELD, token.content)
        token.content = shown if shown != TIP else TIP + HELD
    elif token.type == "inline":
        token.content = _without_undecided_lines(token.content.removesuffix(TIP))


def _without_undecided_lines(content: str) -> str:
    """Return a paragraph without its last line where that isn't decided, and without what may be a table's head."""
    lines = content.split("\n")
    last, is_row = lines[-1], [line.lstrip().startswith("|") for line in lines]
    shown = len(lines)
    if is_row[-1] or _UNDECIDED.fullmatch(last) or (not last.strip() and len(lines) > 1 and is_row[-2]):
        shown -= 1
        while shown and is_row[shown - 1]:
            shown -= 1
    is_held = shown < len(lines) or not last.strip()
    return "\n".join(lines[:shown]) + TIP + (HELD if is_held else "")


def hold_inline(state: StateInline, silent: bool) -> bool:
    """Hide markers at the end of the text, and half a link, address, entity or formula."""
    if not _is_at_end(state) or state.posMax - state.pos > _MAX_HELD_CHARS:
        return False
    if not (_HELD_INLINE.match(state.src, state.pos) or _is_half_formula(state)):
        return False
    if not silent:
        state.pending += TIP + HELD
    state.pos = state.posMax
    return True


def _is_half_formula(state: StateInline) -> bool:
    before = state.src[state.pos - 1 : state.pos] if state.pos else ""
    return math.may_become_formula(state.src[state.pos :].rstrip(TIP + HELD), before)


def close_code(state: StateInline, silent: bool) -> bool:
    """Let code whose end is to come reach to the end of the text."""
    run = _RUN.match(state.src, state.pos)
    if run is None or not _is_at_end(state) or re.search(rf"(?<!`){run[0]}(?!`)", state.src[run.end() :]):
        return False
    if not silent:
        code = state.src[run.end() :].replace("\n", " ").rstrip(TIP + HELD)
        token = state.push("code_inline", "code", 0)
        token.markup, token.content = run[0], code.rstrip("`") + TIP
        if token.content != code + TIP or not code.strip() or code[0] == " " or HELD in state.src:
            token.content += HELD
    state.pos = state.posMax
    return True


def close_emphasis(state: StateInline) -> None:
    """Close what is open at the end of the text."""
    if not _is_at_end(state):
        return
    # Outermost first.
    openers, at = [], 0
    while at < len(state.delimiters):
        delimiter = state.delimiters[at]
        if delimiter.open and delimiter.end < 0:
            openers.append(delimiter)
        at = max(at, delimiter.end) + 1  # what is unclosed within a pair stays text
    for opener in reversed(openers):
        token = state.push("text", "", 0)
        token.content = state.tokens[opener.token].content
        closer = Delimiter(opener.marker, 0, len(state.tokens) - 1, -1, open=False, close=True)
        opener.end = len(state.delimiters)
        state.delimiters.append(closer)


def _is_at_end(state: StateInline) -> bool:
    return state.posMax == len(state.src) and state.src.endswith((TIP, HELD))
