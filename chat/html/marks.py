"""Citation marks, ``[3]`` or ``[1, 2]``: where an answer has them. Pages, copies and exports all read them here.

Brackets in code, formulas, addresses, links, images and HTML are none, nor are escaped ones. Whether the numbers of a
mark name sources is for the caller to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from reasoning.citations import blank_code

TYPE = "citation_mark"  # of its token
TAG = "cite"  # the element of a mark, until it becomes a link or text

MARK = re.compile(r"\[([0-9]{1,4}(?: ?[,;] ?[0-9]{1,4})*+)\]")
_REF = re.compile(r"[0-9]+")
_ELEMENT = re.compile(f"</?{TAG}>")
_AT = "at"  # where in the text of its paragraph a mark begins
_IN_ADDRESS = "".join(map(chr, range(0x21, 0x7F))).translate(str.maketrans("", "", '"<>\\^`{|}'))
_ADDRESS_BEGINS = ("://", "www.")
_ENDS_ADDRESS = tuple("?!.,:;*_~')")  # as the punctuation of the sentence around it
# No alternative passes a "<", so looking for all tags of a text reads it once.
_HTML_TAG = re.compile(
    r"(?P<end_comment>-->)|(?<!\\)<(?:(?P<comment>!--)|(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*+)"
    r"(?:[\s/](?:[^<>\"']|\"[^<\"]*+\"|'[^<']*+')*+)?>)"
)
_NO_PROSE = frozenset({"code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "var"})


def add_marks(parser: MarkdownIt) -> None:
    """Let a parser make a token of each mark."""
    parser.inline.ruler.after("link", TYPE, match_mark)
    parser.core.ruler.after("inline", TYPE, leave_html_and_addresses)


def match_mark(state: StateInline, silent: bool) -> bool:
    """Match a mark that is no link. Its brackets count for a link around it, so a silent pass doesn't skip them."""
    if silent or not (found := MARK.match(state.src, state.pos, state.posMax)):
        return False
    token = state.push(TYPE, "", 0)
    token.content, token.meta = found[0], {_AT: state.pos}
    state.pos = found.end()
    return True


def leave_html_and_addresses(state: StateCore) -> None:
    """Make text of the marks in HTML, which is shown literally, and in bare addresses."""
    for token in state.tokens:
        children = token.children or ()
        marks = [child for child in children if child.type == TYPE]
        if not marks:
            continue
        spans, until = html_spans(token.content) if "<" in token.content else [], 0
        for mark in marks:
            while spans and spans[-1][0] < mark.meta[_AT]:
                until = max(until, spans.pop()[1])
            if mark.meta[_AT] < until:
                mark.type = "text"
        in_address = False
        for child in children:
            if child.type == TYPE:
                if in_address:
                    child.type = "text"
                continue
            text = child.content if child.type.startswith("text") else "\n"
            tail = text[len(text.rstrip(_IN_ADDRESS)) :]
            in_address = any(begin in tail for begin in _ADDRESS_BEGINS) or (in_address and tail == text)
            in_address = in_address and not text.endswith(_ENDS_ADDRESS)


def html_spans(text: str) -> list[tuple[int, int]]:
    """Return where tags, comments and the elements of code begin and end, the last one first."""
    ends: dict[str, int] = {}  # by name: where the next closing tag ends
    spans = []
    for tag in reversed(list(_HTML_TAG.finditer(blank_code(text)))):
        name = (tag["name"] or "comment").lower()
        is_end = tag["end"] or tag["end_comment"]
        if is_end:
            ends[name] = tag.end()
        has_no_prose = not is_end and (tag["comment"] or name in _NO_PROSE)
        spans.append((tag.start(), ends.get(name, tag.end()) if has_no_prose else tag.end()))
    return spans


def places_in(tokens: Sequence[Token], text: str) -> Iterator[int]:
    """Yield where in a parsed text its marks begin."""
    starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
    at = 0
    for token in tokens:
        if token.type != "inline" or token.map is None:
            continue
        at = max(at, starts[token.map[0]])
        marks = {child.meta[_AT] for child in token.children or () if child.type == TYPE}
        # What the parser leaves out of its lines has no brackets: indentation, the marks of lists, headings and
        # quotations. Cells of a row follow one another, so the next bracket here is the next one there.
        for bracket in re.finditer(r"\[", token.content):
            at = text.index("[", at)
            if bracket.start() in marks:
                yield at
            at += 1


def places_outside_code(text: str) -> Iterator[int]:
    """Yield where the marks of a text begin that is shown without being parsed."""
    yield from (mark.start() for mark in MARK.finditer(blank_code(text)))


def replace(text: str, places: Iterable[int], function: Callable[[str], str]) -> str:
    """Replace the marks at these places, in order, by what the function returns for them."""
    parts, end = [], 0
    for at in places:
        if mark := MARK.match(text, at):
            parts += [text[end:at], function(mark[0])]
            end = mark.end()
    return "".join([*parts, text[end:]])


def renumber(mark: str, numbers: Mapping[int, int]) -> str:
    """Return a mark with the numbers under which its sources are shown."""
    return _REF.sub(lambda ref: str(numbers.get(int(ref[0]), ref[0])), mark)


def to_html(mark: str) -> str:
    """Return the element of a mark. It has no characters to escape."""
    return f"<{TAG}>{mark}</{TAG}>"


def refs_of(mark: str) -> list[int]:
    """Return the numbers of a mark."""
    return [int(ref) for ref in _REF.findall(mark)]


def has_marks(text: str, refs: Collection[int]) -> bool:
    """Say whether a text has anything that looks like a mark with one of these numbers."""
    return any(not set(refs_of(mark[1])).isdisjoint(refs) for mark in MARK.finditer(text))


def without_elements(html: str) -> str:
    """Return HTML of this package with its marks as text."""
    return _ELEMENT.sub("", html)
