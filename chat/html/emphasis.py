"""Emphasis beside Chinese, Japanese and Korean text, which has no spaces: ``**「語」**の`` is bold.

The rule is that of markdown-cjk-friendly (remark, markdown-it): a mark beside punctuation may open or close where its
other side is a CJK character, and CJK punctuation counts as a letter. Beyond it, ``**Note:**text`` is bold too.
"""

from __future__ import annotations

import re
from unicodedata import category, east_asian_width

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import emphasis, strikethrough
from markdown_it.rules_inline.state_inline import StateInline

_LIBRARY_RULES = {"*": emphasis.tokenize, "_": emphasis.tokenize, "~": strikethrough.tokenize}
_VARIATION = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+\\Z")
_ENDS_LABEL = tuple(":.!?")


def add_cjk_emphasis(parser: MarkdownIt) -> None:
    """Let the marks ``*`` and ``~~`` open and close beside CJK text."""
    parser.inline.ruler.at("emphasis", match_marks)
    parser.inline.ruler.at("strikethrough", match_marks)


def match_marks(state: StateInline, silent: bool) -> bool:
    """Match a run of marks as the library does, and let it open and close where the CJK rule allows it."""
    start, known, mark = state.pos, len(state.delimiters), state.src[state.pos]
    rule = _LIBRARY_RULES.get(mark)
    if rule is None or not rule(state, silent):
        return False
    if mark == "_":
        return True  # never within a word
    before, after = _VARIATION.sub("", state.src[max(0, start - 3) : start]), state.src[state.pos : state.pos + 1]
    last, following = before[-1:] or " ", after or " "
    ends_label = mark == "*" and state.pos - start == 2 and last in _ENDS_LABEL and following.isalpha()
    for delimiter in state.delimiters[known:]:
        delimiter.open = delimiter.open or may_touch(last, following)
        delimiter.close = delimiter.close or may_touch(following, last) or ends_label
    return True


def may_touch(outside: str, inside: str) -> bool:
    """Say whether a mark between these characters may begin or end emphasis of the inside."""
    if isWhiteSpace(ord(inside)):
        return False
    is_outside_open = isWhiteSpace(ord(outside)) or is_punctuation(outside) or is_cjk(outside)
    return is_outside_open or is_cjk(inside) or not is_punctuation(inside)


def is_punctuation(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)


def is_cjk(char: str) -> bool:
    """Say whether a character is wide as CJK ones are, and no emoji."""
    return east_asian_width(char) in "WFH" and category(char) != "So"
