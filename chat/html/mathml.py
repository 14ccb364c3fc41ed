"""A formula from TeX to MathML, within bounds.

The library that reads TeX lets anything through, so it is asked only about short formulas that nest little, and what
it makes is copied element by element: what isn't listed here never becomes markup. A formula that it doesn't know
wholly is None to the caller, who shows its source. The library is loaded by the first formula of a process.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from html import escape, unescape
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CHARS = 2_000
MAX_NESTING = 20
MAX_DEPTH = 30  # of elements, so that a tree of answers has room for it
MAX_ELEMENTS = 1_500

_SWITCH = re.compile("true|false")
_LENGTH = re.compile(r"0|[0-2]?(?:\.[0-9]{1,4})?em")  # nothing that could lay a formula over what is beside it
_SIDE = re.compile("left|center|right")
_VARIANT = re.compile("normal|bold|italic|bold-italic|sans-serif|monospace")
_LETTERS = {"mathvariant": _VARIANT}
# What may be in a page of MathML: its elements, their attributes, and the values of these.
ELEMENTS: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "math": {"display": re.compile("block|inline")},
    "mrow": {},
    "mi": _LETTERS,
    "mn": _LETTERS,
    "mtext": _LETTERS,
    "mo": _LETTERS
    | dict.fromkeys(["stretchy", "fence", "movablelimits", "largeop", "separator", "accent"], _SWITCH)
    | {"form": re.compile("prefix|infix|postfix"), "minsize": _LENGTH, "maxsize": _LENGTH},
    "mspace": {"width": _LENGTH},
    "mpadded": {"width": re.compile("0")},
    "mstyle": {"displaystyle": _SWITCH, "scriptlevel": re.compile("[012]")},
    "mfrac": {"linethickness": re.compile("0")},
    "msqrt": {},
    "mroot": {},
    "msub": {},
    "msup": {},
    "msubsup": {},
    "munder": {"accentunder": _SWITCH},
    "mover": {"accent": _SWITCH},
    "munderover": {},
    "menclose": {"notation": re.compile("box|(?:up|down)diagonalstrike|horizontalstrike")},
    "mtable": {
        "displaystyle": _SWITCH,
        "rowlines": re.compile("(?:none|solid|dashed)(?: (?:none|solid|dashed)){0,59}"),
        "columnlines": re.compile("(?:none|solid)(?: (?:none|solid)){0,59}"),
    },
    "mtr": {},
    "mtd": {"columnalign": _SIDE},
}

_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+\*?)\}")
# Those that the library knows, and others by the one that is set the same; an empty one is left out.
_KNOWN = "matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array cases align* split"
_ENVIRONMENTS = {name: name for name in _KNOWN.split()} | {
    "align": "align*",
    "aligned": "align*",
    "dcases": "cases",
    "eqnarray": "matrix",
    "eqnarray*": "matrix",
    "equation": "",
    "equation*": "",
    "gather": "matrix",
    "gather*": "matrix",
    "gathered": "matrix",
}
_STEP = re.compile(
    r"(?P<open>\{|\\(?:left|begin)(?![A-Za-z]))|(?P<close>\}|\\(?:right|end)(?![A-Za-z]))|\\.", re.DOTALL
)
_UNREAD = re.compile(r"\\[A-Za-z]|\A[&{}]\Z")  # as the library leaves what it doesn't know
_ESCAPED = re.compile(r"\\([%$&#_{}])")
_REFUSED = frozenset({"href", "style", "class"})  # left out they would take words with them
_GROUPED = re.compile(r"[0-9]{3}(?:\.[0-9]+)?")
_LIMITS = frozenset({"lim", "max", "min", "sup", "inf"})
_NAMES_OF_THINGS = frozenset("∞∅∂∇∀∃")  # set as letters, without room for an operator's two sides


class UnreadError(ValueError):
    """The formula holds something that isn't known, or that is too much."""


def to_mathml(tex: str, *, is_display: bool) -> str | None:
    """Return a formula as MathML markup, or None where it can't be read whole."""
    try:
        source = _prepared(tex)
        root = _converted(source, is_display=is_display)
        if any(node.get("linebreak") for node in root.iter("mspace")):  # lines outside of an environment: no table yet
            around = "align*" if "&" in source else "matrix"
            root = _converted(rf"\begin{{{around}}}{source}\end{{{around}}}", is_display=is_display)
        return _Writer(is_display=is_display).written(root)
    except Exception:  # noqa: BLE001  # the library fails in many ways, and all mean the same
        return None


def _prepared(tex: str) -> str:
    if len(tex) > MAX_CHARS or not _nests_little(tex):
        raise UnreadError("size")
    return _ENVIRONMENT.sub(lambda found: _renamed(found[1], found[2]), tex)


def _renamed(side: str, name: str) -> str:
    known = _ENVIRONMENTS.get(name)
    if known is None:
        raise UnreadError("environment")
    return rf"\{side}{{{known}}}" if known else " "


def _nests_little(tex: str) -> bool:
    """Whether every group that is opened is closed, and few stand in one another."""
    depth = 0
    for step in _STEP.finditer(tex):
        depth += (step["open"] is not None) - (step["close"] is not None)
        if not 0 <= depth <= MAX_NESTING:
            return False
    return depth == 0


def _converted(tex: str, *, is_display: bool) -> Element:
    from latex2mathml.converter import Converter  # noqa: PLC0415 - its tables are for answers with formulas only

    converter = Converter(display="block" if is_display else "inline")
    # Nothing can be defined: a few definitions of one another would be a formula of any size.
    converter.macros = MappingProxyType({})  # type: ignore[assignment]
    return converter.convert_to_element(tex)


class _Writer:
    """Writes one formula, element by element."""

    def __init__(self, *, is_display: bool) -> None:
        self._is_display = is_display
        self._count = 0

    def written(self, node: Element, depth: int = 0) -> str:
        """Return the markup of an element. Raises UnreadError where something in it isn't known."""
        self._count += 1
        if node.tag not in ELEMENTS or depth > MAX_DEPTH or self._count > MAX_ELEMENTS:
            raise UnreadError(node.tag)
        raw = node.text or ""
        if _UNREAD.search(raw) or not _REFUSED.isdisjoint(node.keys()):
            raise UnreadError("command")
        text = unescape(_ESCAPED.sub(r"\1", raw) if node.tag == "mtext" else raw)
        tag = self._tag(node, text)
        inner = "".join(self.written(child, depth + 1) for child in _with_whole_numbers(node))
        return f"<{tag}{self._attributes(node, tag)}>{escape(text, quote=False)}{inner}</{tag}>"

    def _tag(self, node: Element, text: str) -> str:
        """Return the element's name, put right where the library's doesn't make the browser set it as TeX does."""
        if node.tag in ("mi", "mo") and len(text) == 1:
            if text in _NAMES_OF_THINGS:
                return "mi"
            return "mo" if unicodedata.category(text) == "Sm" else node.tag
        has_limits = self._is_display and node.tag == "msub" and len(node) > 0 and (node[0].text or "") in _LIMITS
        return "munder" if has_limits else node.tag

    def _attributes(self, node: Element, tag: str) -> str:
        given = dict(node.attrib)
        if node.tag == "math":
            given = {"display": "block" if self._is_display else "inline"}
        elif node.tag == "mtable" and self._is_display:
            given["displaystyle"] = given.get("displaystyle", "true")
        allowed = ELEMENTS[tag]
        return "".join(
            f' {name}="{escape(value)}"'
            for name, value in given.items()
            if name in allowed and allowed[name].fullmatch(value)
        )


def _with_whole_numbers(node: Element) -> list[Element]:
    """Return an element's children, ``1,234.56`` as one number: as a list of two it would be set with a gap."""
    out: list[Element] = []
    for child in node:
        if child.tag == "mn" and len(out) >= 2 and _GROUPED.fullmatch(child.text or ""):
            comma, number = out[-1][0] if len(out[-1]) == 1 else out[-1], out[-2]  # 1{,}234 has a group
            is_grouped = number.tag == "mn" and (number.text or "").rpartition(",")[2].isdigit()
            if is_grouped and unescape(comma.text or "") == "," and len((number.text or "").partition(",")[0]) <= 3:
                number.text = f"{number.text},{child.text}"
                out.pop()
                continue
        out.append(child)
    return out
