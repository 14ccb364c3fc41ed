"""The few HTML tags that Markdown may contain: ``br sub sup kbd u`` in a line, ``details`` and ``summary``. Product 43.

They have no attributes, but ``open``, and become tokens only in pairs, within one text. Every other tag, also one
without its counterpart, is shown as it is written. The library's own rules for HTML pass all tags, as text that nothing
balances.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chat.html.math import END_MARK

TYPE = "html_tag"  # of a token whose counterpart isn't known yet
INLINE_TAGS = ("sub", "sup", "kbd", "u")
DETAILS = "details_open"

_IN_LINE = re.compile(rf"<(?:(?P<end>/?)(?P<name>{'|'.join(INLINE_TAGS)})[ \t]*|br[ \t]*/?)>", re.IGNORECASE)
# A line that says something about the tag doesn't match.
_BEGINS = re.compile(r"<details(?P<open>[ \t]+open)?[ \t]*>(?=\W*\Z|[ \t]*<|.*</details>\W*\Z)", re.IGNORECASE)
_ENDS = re.compile(r"</details>\s*\Z", re.IGNORECASE)
# In a quotation each line has its mark.
_SUMMARY = re.compile(r"[\s>]*<summary>[ \t]*\n?([^\n]*?)\s*</summary>", re.IGNORECASE)
_HALF_SUMMARY = re.compile(r"[\s>]*<summary>\s*([^\n]*)\Z", re.IGNORECASE)


def add_tags(parser: MarkdownIt) -> None:
    """Let a parser read the allowed tags."""
    parser.inline.ruler.before("autolink", TYPE, match_tag)
    parser.core.ruler.after("inline", TYPE, balance)
    parser.block.ruler.before(
        "fence", "details", match_details, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def match_tag(state: StateInline, silent: bool) -> bool:
    """Match a tag in a line."""
    found = _IN_LINE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent and not found["name"]:
        state.push("hardbreak", "br", 0)
    elif not silent:
        token = state.push(TYPE, found["name"].lower(), 0)
        token.content, token.markup = found[0], found["end"]
    state.pos = found.end()
    return True


def balance(state: StateCore) -> None:
    """Pair the tags of each text."""
    for token in state.tokens:
        if any(child.type == TYPE for child in token.children or ()):
            token.children = pair_tags(token.children or [], state.env.get(END_MARK))


def pair_tags(tokens: Sequence[Token], end_mark: str | None) -> list[Token]:
    """Return tokens with tags in pairs, which don't overlap other markup; the rest of them is text.

    In a text that ends with ``end_mark`` the end of an open tag is to come, so it is closed there.
    """
    out: list[Token] = []
    opened: list[Token] = []  # tags, and other elements around them
    is_at_end = False
    for token in tokens:
        is_at_end = is_at_end or (end_mark is not None and end_mark in token.content)
        if token.type == TYPE and not token.markup:
            opened.append(token)
        elif token.type == TYPE:
            since = next((at for at in range(len(opened) - 1, -1, -1) if opened[at].type != TYPE), -1) + 1
            at = next((at for at in range(len(opened) - 1, since - 1, -1) if opened[at].tag == token.tag), None)
            if at is None:
                as_text(token)
            else:
                make_pair(opened[at], token)
                for unclosed in opened[at + 1 :]:
                    as_text(unclosed)
                del opened[at:]
        elif token.nesting == 1:
            opened.append(token)
        elif token.nesting == -1:
            out += close_tags(opened, is_at_end)
            opened.pop()
        out.append(token)
    return out + close_tags(opened, is_at_end)


def close_tags(opened: list[Token], is_at_end: bool) -> list[Token]:
    """Take the tags that no other element follows off the list; return what closes them, at the end of the text."""
    closers = []
    while opened and opened[-1].type == TYPE:
        token = opened.pop()
        if is_at_end:
            closers.append(Token(TYPE, token.tag, 0))
            make_pair(token, closers[-1])
        else:
            as_text(token)
    return closers


def make_pair(opener: Token, closer: Token) -> None:
    opener.type, opener.nesting = f"{opener.tag}_open", 1
    closer.type, closer.nesting = f"{closer.tag}_close", -1
    opener.content = closer.content = ""


def as_text(token: Token) -> None:
    token.type, token.tag = "text", ""


def match_details(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match a collapsed part: from a line that begins with its tag to one that ends with its end tag.

    One without an end reaches to the end of what contains it. It is open then, so that its words are seen, unless they
    are still being written.
    """
    at = state.bMarks[start] + state.tShift[start]
    begins = _BEGINS.match(state.src[at : state.eMarks[start]])
    if begins is None or state.is_code_block(start):
        return False
    if silent:
        return True
    depth, last, content_end = 0, start, -1
    for line in range(start, end):
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            break
        last = line
        first = state.bMarks[line] + state.tShift[line]
        text = state.src[first : state.eMarks[line]].removesuffix(state.env.get(END_MARK, ""))
        depth += depth_change(text)
        if depth <= 0:
            content_end = first + next(found.start() for found in _ENDS.finditer(text))
            break
    is_closed = content_end >= 0
    content_end = content_end if is_closed else state.eMarks[last]

    token = state.push(DETAILS, "details", 1)
    token.map = [start, last + 1]
    if begins["open"] or not (is_closed or END_MARK in state.env):
        token.attrs = {"open": ""}
    content_start = at + begins.end()
    summary = _SUMMARY.match(state.src, content_start, content_end)
    if summary is None and END_MARK in state.env:
        summary = _HALF_SUMMARY.match(state.src, content_start, content_end)
    if summary:
        state.push("summary_open", "summary", 1)
        inline = state.push("inline", "", 0)
        inline.content, inline.children, inline.map = summary[1], [], [start, last + 1]
        state.push("summary_close", "summary", -1)
        content_start = summary.end()

    # The rest is read as blocks, without the tags on the first and the last line.
    first_line = next(line for line in range(start, last + 1) if state.eMarks[line] >= content_start)
    before = state.bMarks[first_line], state.tShift[first_line], state.sCount[first_line]
    end_before, parent, line_max = state.eMarks[last], state.parentType, state.lineMax
    rest = state.src[content_start : state.eMarks[first_line]]
    if content_start > state.bMarks[first_line] + state.tShift[first_line]:
        state.bMarks[first_line], state.sCount[first_line] = content_start, state.blkIndent
        state.tShift[first_line] = len(rest) - len(rest.lstrip(" \t"))
    state.eMarks[last], state.parentType, state.lineMax = content_end, "details", last + 1
    state.md.block.tokenize(state, first_line, last + 1)
    state.bMarks[first_line], state.tShift[first_line], state.sCount[first_line] = before
    state.eMarks[last], state.parentType, state.lineMax = end_before, parent, line_max

    state.push("details_close", "details", -1)
    state.line = last + 1
    return True


def depth_change(line: str) -> int:
    """Return how many collapsed parts begin on a line, less those that end."""
    line = line.strip()
    return (_BEGINS.match(line) is not None) - (_ENDS.search(line) is not None)
