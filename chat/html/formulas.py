r"""Where formulas stand in markdown: ``$…$`` and ``\(…\)`` in a line, ``$$…$$`` and ``\[…\]`` by themselves.

Answers about filings are full of dollars, and some models escape every bracket. So a dollar is money, and a bracket a
bracket, unless what is between two of them reads as a formula; what is wrongly left as text can still be read.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

INLINE = "formula"
BLOCK = "formula_block"
GROWING = "growing"  # in the parser's environment: more lines may come, and they may end a formula
DISPLAYED = frozenset({"$$", r"\["})
MAX_LINES = 60

_CLOSERS = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_IN_DOLLARS = r"(?:[^\\$]|\\.)"
_IN_BRACKETS = r"(?:[^\\]|\\[^()\[\]])"
_SPANS = {
    "$": re.compile(r"\$((?:[^\\$\n]|\\[^\n])++)\$(?![\w$({])"),
    "$$": re.compile(rf"\$\$({_IN_DOLLARS}++)\$\$(?!\$)", re.DOTALL),
    r"\(": re.compile(rf"\\\(({_IN_BRACKETS}++)\\\)", re.DOTALL),
    r"\[": re.compile(rf"\\\[({_IN_BRACKETS}++)\\\]", re.DOTALL),
}
_OPENERS = tuple(_CLOSERS)
_BLOCK_OPENERS = tuple(DISPLAYED)
_FENCE = re.compile(r"`{3,}|~{3,}")

_QUOTED = re.compile(r"\\(?:text[a-z]*|math(?:rm|it|bf|sf)|operatorname\*?|mbox|begin|end)\s*\{[^{}]*\}")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_SIGN = re.compile(r"[=<>^_+]|\\[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PHRASE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]|[^\W\d_]\s+[^\W\d_]{2}")
_PROSE = re.compile(r"(?:[^\W\d_]{2,}[,.;:]?\s+){3}[^\W\d_]{2,}")
_FOREIGN = re.compile(r"\*\*|`|\]\(|[€£¥]")
_MONEY = re.compile(r"[-+~≈(]*\.?[0-9]")
_TWO_SUMS = re.compile(r"[0-9][0-9.,]*\s.*\s[A-Z]{1,3}", re.DOTALL)  # $1 = 5.4 R$
_NO_START = frozenset("/)]},;:!?%&*|")
_NO_END = frozenset("([{/,;:-–—+=")


def add_formulas(parser: MarkdownIt) -> None:
    """Teach a parser formulas: those in a line become ``formula`` tokens, the others ``formula_block`` tokens."""
    parser.inline.ruler.before("escape", INLINE, _inline)
    ends_as_a_fence_does = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", BLOCK, _block, {"alt": ends_as_a_fence_does})


def source(content: str, markup: str) -> str:
    """Return a formula as it was written."""
    return f"{markup}{content}{_CLOSERS[markup]}"


def _inline(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith(_OPENERS, state.pos):
        return False
    pair = state.src[state.pos : state.pos + 2]
    opener = pair if pair in _CLOSERS else "$"
    span = _SPANS[opener].match(state.src, state.pos, state.posMax)
    if span is None or not _is_formula(opener, span[1], state.src[state.pos - 1 : state.pos]):
        return False
    if not silent:
        token = state.push(INLINE, "math", 0)
        token.content, token.markup = span[1], opener
    state.pos = span.end()
    return True


def _is_formula(opener: str, content: str, before: str) -> bool:
    inner = content.strip()
    if not inner or before.isalnum() or before == "$":
        return False
    match opener:
        case "$":
            return content == inner and content[-1] not in _NO_END and _reads_as_formula(content)
        case r"\(":
            return (_SIGN.search(inner) is not None or _is_of_letters(inner)) and _reads_as_formula(inner)
        case r"\[":
            return _SIGN.search(inner) is not None and _reads_as_formula(inner)
    return _reads_as_formula(inner)


def _is_of_letters(content: str) -> bool:
    return _LETTER.search(content) is not None and _WORD.search(content) is None


def _reads_as_formula(content: str) -> bool:
    """Whether what stands between two marks is no prose, and no text between two sums of money."""
    bare = _COMMAND.sub(" ", _QUOTED.sub(" ", content))
    if content[0] in _NO_START or _FOREIGN.search(bare) or _PROSE.search(bare) or not _is_balanced(bare):
        return False
    if _COMMAND.search(content):
        return True
    if _MONEY.match(content):
        return _WORD.search(bare) is None and _TWO_SUMS.fullmatch(content) is None
    return _PHRASE.search(bare) is None


def _is_balanced(text: str) -> bool:
    """Whether no bracket is closed that wasn't opened; which kind doesn't matter, as in [0, 1)."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return True


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    at = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith(_BLOCK_OPENERS, at) or state.src[at + 2 : at + 3] == "$" or state.is_code_block(start):
        return False
    opener = state.src[at : at + 2]
    found = _body(state, start, end, opener)
    if found is None:
        return False
    body, last = found
    if last < end and not _is_formula(opener, body, ""):
        return False
    if not silent:
        token = state.push(BLOCK, "math", 0)
        token.block, token.markup, token.content = True, opener, body
        token.map = [start, min(last + 1, end)]
        state.line = token.map[1]
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _body(state: StateBlock, start: int, end: int, opener: str) -> tuple[str, int] | None:
    """Return what stands in the formula that begins at a line, and its last line.

    It ends where a line ends with its closing mark. A blank line may stand in it only if its first line is nothing but
    the opening mark. Where the text is still growing, one that wants its end goes on to the last line there is.
    """
    closer = _CLOSERS[opener]
    lines: list[str] = []
    is_alone = len(_line(state, start)) == 2
    for line in range(start, min(end, start + MAX_LINES)):
        text = _line(state, line)[2 if line == start else 0 :]
        lines.append(text.removesuffix(closer))
        is_another = line > start and opener != closer and text.startswith(opener)
        if closer in lines[-1] or is_another or not _goes_on(state, line, text, is_alone=is_alone):
            return None
        if text.endswith(closer):
            return "\n".join(lines), line
    return ("\n".join(lines), end) if len(lines) == end - start and state.env.get(GROWING) else None


def _goes_on(state: StateBlock, line: int, text: str, *, is_alone: bool) -> bool:
    if not text:
        return is_alone
    return state.sCount[line] >= state.blkIndent and _FENCE.match(text) is None
