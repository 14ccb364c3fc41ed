r"""Formulas in markdown: ``$…$`` and ``\(…\)`` in a line, ``$$…$$``, ``\[…\]`` and bare environments displayed.

TeX becomes MathML that carries its source, so that a copied formula is TeX.

Answers about filings are full of dollar amounts, and some models escape every bracket. So ``$`` is a currency sign and
``\[`` a bracket unless the text between two of them reads as a formula.

mdit-py-plugins doesn't serve: dollarmath knows no brackets and has no hook for that test; texmath is quadratic in
unclosed ``\(`` (0.9 s for 16 KB) and takes a blockquote's ``>`` into the formula.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from html import unescape
from itertools import accumulate
from types import MappingProxyType
from xml.etree import ElementTree

from latex2mathml.converter import Converter
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

INLINE = "formula"
BLOCK = "formula_block"
OPEN_ENDED = "open_ended"  # in the parser's environment: more text may follow and close a formula
END_MARK = "end_mark"  # in it: what is at the end of such a text
BARE = ""  # the mark of an environment that is a formula by itself
DISPLAY_MARKS = frozenset({"$$", r"\[", BARE})
MAX_LINES = 60

_CLOSERS = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
# Letters of scripts that are written without spaces: a formula may touch them.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u9fff\ua960-\ua97f"
    r"\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
_UNSPACED_TEXT = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uff65]")
_IN_DOLLARS = r"(?:[^\\$]|\\.)"
_IN_BRACKETS = r"(?:[^\\]|\\[^()\[\]])"
_SPANS = {
    "$": re.compile(rf"\$((?:[^\\$\n]|\\[^\n])++)\$(?![$({{]|[^\W{UNSPACED}])"),
    "$$": re.compile(rf"\$\$({_IN_DOLLARS}++)\$\$(?!\$)", re.DOTALL),
    r"\(": re.compile(rf"\\\(({_IN_BRACKETS}++)\\\)", re.DOTALL),
    r"\[": re.compile(rf"\\\[({_IN_BRACKETS}++)\\\]", re.DOTALL),
}
_OPENERS = tuple(_CLOSERS)
_BLOCK_OPENERS = ("$$", r"\[")
_BARE_BEGINS = re.compile(r"\\begin\{([A-Za-z]+\*?)\}")
_FENCE = re.compile(r"`{3,}|~{3,}")

_QUOTED = re.compile(r"\\(?:text[a-z]*|math(?:rm|it|bf|sf)|operatorname\*?|mbox|begin|end)\s*\{[^{}]*\}")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_OPERATOR = re.compile(r"[=<>^_+]|\\[A-Za-z]")
_ESCAPED_SIGN = re.compile(r"\\[%$]")
_TEX = re.compile(r"\^|\\[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PHRASE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]|[^\W\d_]\s+[^\W\d_]{2}")
_PROSE = re.compile(r"(?:[^\W\d_]{2,}[,.;:]?\s+){3}[^\W\d_]{2,}")
_MARKUP = re.compile(r"\*\*|`|\]\(")
_CURRENCY = re.compile("[€£¥]")
_AMOUNT = re.compile(r"[-+~≈(]*\.?[0-9]")
_TWO_AMOUNTS = re.compile(r"[0-9][0-9.,]*\s.*\s[A-Z]{1,3}", re.DOTALL)  # $1 = 5.4 R$
_NO_START = frozenset("/)]},;:!?%&*|")
_NO_END = frozenset("([{/,;:-–—+=")


def add_formulas(parser: MarkdownIt) -> None:
    """Add the formula rules: inline formulas become ``formula`` tokens, displayed ones ``formula_block`` tokens."""
    parser.inline.ruler.before("escape", INLINE, match_inline)
    interrupts_like_a_fence = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", BLOCK, match_block, {"alt": interrupts_like_a_fence})


def source(content: str, markup: str) -> str:
    """Return a formula as the model wrote it."""
    return content if markup == BARE else f"{markup}{content}{_CLOSERS[markup]}"


def match_inline(state: StateInline, silent: bool) -> bool:
    """Match a formula within a line, or displayed within a paragraph."""
    if bare := bare_environment(state.src, state.pos):
        opener, (begin, closer) = BARE, bare
        end = state.src.find(closer, state.pos, min(state.posMax, state.pos + MAX_TEX_CHARS)) + len(closer)
        content = state.src[state.pos : end]
        is_match = len(content) >= len(begin + closer)
    elif state.src.startswith(_OPENERS, state.pos):
        pair = state.src[state.pos : state.pos + 2]
        opener = pair if pair in _CLOSERS else "$"
        # Possessive quantifiers: an unclosed formula costs one pass.
        span = _SPANS[opener].match(state.src, state.pos, state.posMax)
        if span is None:
            return False
        content, end = span[1], span.end()
        is_match = is_formula(opener, content, state.src[state.pos - 1 : state.pos], state.src[end : end + 1])
    else:
        return False
    if is_match and not silent:
        token = state.push(INLINE, "math", 0)
        token.content, token.markup = content, opener
    state.pos = end if is_match else state.pos
    return is_match


def bare_environment(text: str, at: int) -> tuple[str, str] | None:
    """Return how an environment begins and ends that begins here, if it is one of formulas."""
    found = _BARE_BEGINS.match(text, at)
    return (found[0], rf"\end{{{found[1]}}}") if found and found[1] in _ENVIRONMENTS else None


def match_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match a displayed formula, whose last line ends with the closing mark, within MAX_LINES.

    Blank lines are allowed only if the first line is the opening mark alone. While the text is still streaming, an
    unclosed formula extends to the last line, so that the block splitter doesn't cut it.
    """
    at = state.bMarks[start] + state.tShift[start]
    opener = state.src[at : at + 2]
    bare = bare_environment(state.src, at)
    if not bare and (opener not in _BLOCK_OPENERS or state.src[at + 2 : at + 3] == "$"):
        return False
    if state.is_code_block(start):
        return False
    opener, closer = bare or (opener, _CLOSERS[opener])
    lines: list[str] = []
    is_closed = False
    for line in range(start, min(end, start + MAX_LINES)):
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        text = text.removesuffix(state.env.get(END_MARK, "")).rstrip()
        if line == start:
            text = text.removeprefix(opener)
            may_hold_blank_lines = not text
        elif opener != closer and text.startswith(opener):
            return False
        if not (text or may_hold_blank_lines) or _FENCE.match(text):
            return False
        if text and state.sCount[line] < state.blkIndent:
            return False
        lines.append(text.removesuffix(closer))
        if closer in lines[-1]:
            return False
        if is_closed := text.endswith(closer):
            break
    body = "\n".join(lines)
    is_open = not is_closed and len(lines) == end - start and bool(state.env.get(OPEN_ENDED))
    # A reader sees the text that follows a lone mark, though the splitter still waits for its closing mark.
    may_close = "\n\n" not in body.strip() and may_become_formula(opener + body, "")
    is_open = is_open and (may_close or END_MARK not in state.env)
    if not is_open and not (is_closed and (bare or is_formula(opener, body, ""))):
        return False
    if not silent:
        token = state.push(BLOCK, "math", 0)
        token.block, token.hidden = True, is_open
        token.markup, token.content = (BARE, opener + body + closer) if bare else (opener, body)
        token.map = [start, start + len(lines)]
        state.line = start + len(lines)
    return True


def is_formula(opener: str, content: str, before: str, after: str = "") -> bool:
    """Say whether text is a formula: no money, bracket or prose. ``before`` and ``after`` are characters beside it."""
    inner = content.strip()
    if not inner or not may_follow(opener, before):
        return False
    match opener:
        case "$" if content != inner or content[-1] in _NO_END:
            return False
        case r"\(" if before.isalpha() and not (
            after.isalpha() or _TEX.search(inner) or _UNSPACED_LETTER.match(before)
        ):
            return False  # f\(x\) with its brackets escaped
        case r"\(" if not (_OPERATOR.search(inner) or _ESCAPED_SIGN.search(inner)) and (
            _WORD.search(inner) or not _LETTER.search(inner)
        ):
            return False
        case r"\[" if not _OPERATOR.search(inner):
            return False
    bare = _COMMAND.sub(" ", _QUOTED.sub(" ", inner))
    if inner[0] in _NO_START or _MARKUP.search(bare) or _PROSE.search(bare):
        return False
    if opener[0] == "$" and is_money(inner, bare):
        return False
    # Every closing bracket has an opening one, of any kind: [0, 1) is fine.
    if min(accumulate((char in "([{") - (char in ")]}") for char in bare), default=0) < 0:
        return False
    if _COMMAND.search(inner):
        return True
    if _AMOUNT.match(inner):
        return _WORD.search(bare) is None and _TWO_AMOUNTS.fullmatch(inner) is None
    return _PHRASE.search(bare) is None


def may_follow(opener: str, before: str) -> bool:
    """Say whether a formula may begin behind this character."""
    if _UNSPACED_LETTER.match(before):
        return True
    return not before.isalnum() and before != "$" if opener != r"\(" else not before.isnumeric()


def is_money(inner: str, bare: str) -> bool:
    """Say whether a text between dollars speaks of currencies, or is words without spaces between two amounts."""
    if _COMMAND.search(inner):
        return False
    is_text = _UNSPACED_TEXT.search(bare) and (_AMOUNT.match(inner) or not _OPERATOR.search(inner))
    return bool(is_text or _CURRENCY.search(bare))


def may_become_formula(text: str, before: str) -> bool:
    """Say whether a text that begins with an opening mark may be the beginning of a formula."""
    if environment := bare_environment(text, 0):
        return environment[1] not in text and len(text) <= MAX_TEX_CHARS
    pair = text[:2]
    opener = pair if pair in _CLOSERS else text[:1]
    inner = text.removeprefix(opener).strip()
    if opener not in _CLOSERS or _SPANS[opener].match(text) or not may_follow(opener, before):
        return False
    if (opener == "$" and text[1:2].isspace()) or inner[:1] in _NO_START or len(inner) > MAX_TEX_CHARS:
        return False
    bare = _COMMAND.sub(" ", _QUOTED.sub(" ", inner))
    if _MARKUP.search(bare) or _PROSE.search(bare) or (opener[0] == "$" and is_money(inner, bare)):
        return False
    return bool(_OPERATOR.search(inner)) or not (_AMOUNT.match(inner) or _PHRASE.search(bare))


# TeX to MathML. latex2mathml accepts anything, so its input is bounded in length and nesting, and a formula that it
# doesn't know in full is refused; the sanitizer drops every attribute that isn't listed here.

MAX_TEX_CHARS = 2_000
MAX_TEX_NESTING = 20
MAX_DEPTH = 30  # of MathML elements
MAX_ELEMENTS = 1_500

_SWITCH = re.compile("true|false")
# Too short to cover neighbouring text.
_LENGTH = re.compile(r"0|[0-2]?(?:\.[0-9]{1,4})?em")
_SIDE = re.compile("left|center|right")
_VARIANT = {"mathvariant": re.compile("normal|bold|italic|bold-italic|sans-serif|monospace")}
# The MathML elements that a page may hold, their attributes, and the values of these.
ELEMENTS: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    **{name: {} for name in ("mrow", "msqrt", "mroot", "msub", "msup", "msubsup", "munderover", "mtr")},
    "math": {"display": re.compile("block|inline")},
    **dict.fromkeys(("mi", "mn", "mtext"), _VARIANT),
    "mo": _VARIANT
    | dict.fromkeys(["stretchy", "fence", "movablelimits", "largeop", "separator", "accent"], _SWITCH)
    | {"form": re.compile("prefix|infix|postfix"), "minsize": _LENGTH, "maxsize": _LENGTH},
    "mspace": {"width": _LENGTH},
    "mpadded": {"width": re.compile("0")},
    "mstyle": {"displaystyle": _SWITCH, "scriptlevel": re.compile("[012]")},
    "mfrac": {"linethickness": re.compile("0")},
    "munder": {"accentunder": _SWITCH},
    "mover": {"accent": _SWITCH},
    "menclose": {"notation": re.compile("box|(?:up|down)diagonalstrike|horizontalstrike")},
    "mtable": {
        "displaystyle": _SWITCH,
        "rowlines": re.compile("(?:none|solid|dashed)(?: (?:none|solid|dashed)){0,59}"),
        "columnlines": re.compile("(?:none|solid)(?: (?:none|solid)){0,59}"),
    },
    "mtd": {"columnalign": _SIDE},
    # The source of a formula: text, which browsers don't draw.
    "semantics": {},
    "annotation": {"encoding": re.compile("application/x-tex")},
}

_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+\*?)\}")
# Environments that the library knows; others map to one that is set the same way, or to none.
_KNOWN = "matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array cases align* split"
_ENVIRONMENTS = {
    **{name: name for name in _KNOWN.split()},
    **dict.fromkeys(("align", "aligned", "flalign", "flalign*"), "align*"),
    **dict.fromkeys(("eqnarray", "eqnarray*", "gather", "gather*", "gathered", "multline", "multline*"), "matrix"),
    **dict.fromkeys(("equation", "equation*"), ""),
    "dcases": "cases",
}
_GROUP = re.compile(
    r"(?P<open>\{|\\(?:left|begin)(?![A-Za-z]))|(?P<close>\}|\\(?:right|end)(?![A-Za-z]))|\\.", re.DOTALL
)
# What the library leaves where it doesn't know a command.
_UNKNOWN = re.compile(r"\\[A-Za-z]|\A[&{}]\Z")
_ESCAPED = re.compile(r"\\([%$&#_{}])")
_REFUSED = frozenset({"href", "style", "class"})  # \href, \style and \class change what their content means
_THOUSANDS = re.compile(r"[0-9]{3}(?:\.[0-9]+)?")
_LIMITS = frozenset({"lim", "max", "min", "sup", "inf"})
# Set as letters, without an operator's space on both sides.
_SYMBOLS = frozenset("∞∅∂∇∀∃")


class UnknownTexError(ValueError):
    """The formula holds something unknown, or too much."""


def to_mathml(tex: str, *, is_display: bool) -> str | None:
    """Return a formula as MathML, to be sanitized; None where it can't be converted in full."""
    # The library recurses, so few groups may be nested, and every one is closed.
    steps = [(step["open"] is not None) - (step["close"] is not None) for step in _GROUP.finditer(tex)]
    depths = [0, *accumulate(steps)]
    if len(tex) > MAX_TEX_CHARS or min(depths) < 0 or max(depths) > MAX_TEX_NESTING or depths[-1]:
        return None
    if any(name not in _ENVIRONMENTS for _mark, name in _ENVIRONMENT.findall(tex)):
        return None
    content = _ENVIRONMENT.sub(
        lambda found: rf"\{found[1]}{{{name}}}" if (name := _ENVIRONMENTS[found[2]]) else " ", tex
    )
    try:
        root = convert(content, is_display=is_display)
        if any(node.get("linebreak") for node in root.iter("mspace")):
            # Line ends outside of an environment.
            around = "align*" if "&" in content else "matrix"
            root = convert(rf"\begin{{{around}}}{content}\end{{{around}}}", is_display=is_display)
        # A short formula can expand to a large one by nested matrices.
        if sum(1 for _ in root.iter()) > MAX_ELEMENTS:
            return None
        correct(root, is_display=is_display)
        semantics = ElementTree.Element("semantics")
        semantics[:] = root
        ElementTree.SubElement(semantics, "annotation", {"encoding": "application/x-tex"}).text = tex.strip()
        root[:] = [semantics]
        return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    except Exception:  # noqa: BLE001  # the library fails in many ways, and all mean the same
        return None


def convert(tex: str, *, is_display: bool) -> ElementTree.Element:
    """Return what the library makes of a formula."""
    converter = Converter(display="block" if is_display else "inline")
    # No definitions: a few that use one another would expand to a formula of any size.
    converter.macros = MappingProxyType({})  # type: ignore[assignment]  # a dict that nothing can write to
    return converter.convert_to_element(tex)


def correct(node: ElementTree.Element, *, is_display: bool, depth: int = 0) -> None:
    """Refuse unknown elements, unescape text, and rename what browsers set differently from TeX."""
    if node.tag not in ELEMENTS or depth > MAX_DEPTH or not _REFUSED.isdisjoint(node.keys()):
        raise UnknownTexError(node.tag)
    text = node.text or ""
    if _UNKNOWN.search(text):
        raise UnknownTexError(text)
    node.text = text = unescape(_ESCAPED.sub(r"\1", text) if node.tag == "mtext" else text)
    match node.tag:
        case "mi" | "mo" if text in _SYMBOLS:
            node.tag = "mi"
        case "mi" if len(text) == 1 and unicodedata.category(text) == "Sm":
            node.tag = "mo"
        case "msub" if is_display and len(node) and (node[0].text or "") in _LIMITS:
            node.tag = "munder"
        case "math":
            node.set("display", "block" if is_display else "inline")
        case "mtable" if is_display:
            node.set("displaystyle", node.get("displaystyle", "true"))
    node[:] = join_thousands(node)
    for child in node:
        correct(child, is_display=is_display, depth=depth + 1)


def join_thousands(node: ElementTree.Element) -> list[ElementTree.Element]:
    """Return an element's children with ``1,234.56`` as one number, which would otherwise be set with a gap."""
    out: list[ElementTree.Element] = []
    for child in node:
        if child.tag == "mn" and len(out) >= 2 and _THOUSANDS.fullmatch(child.text or ""):
            comma, number = out[-1][0] if len(out[-1]) == 1 else out[-1], out[-2]  # 1{,}234 has a group
            is_number = number.tag == "mn" and (number.text or "").rpartition(",")[2].isdigit()
            if is_number and unescape(comma.text or "") == "," and len((number.text or "").partition(",")[0]) <= 3:
                number.text = f"{number.text},{child.text}"
                out.pop()
                continue
        out.append(child)
    return out
