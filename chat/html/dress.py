"""Our own pass over sanitized HTML: links with their host, code with colour, what scrolls, text direction."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unicodedata import bidirectional

from django.utils.translation import gettext

from chat.html.asked import NOTHING, Asked
from chat.html.highlight import highlight, language_label
from chat.html.links import Address, Place, check_url, leaving_url, place
from chat.html.mathml import ELEMENTS as MATHML
from chat.html.tree import Node, Piece, joined, text_of

REL = "noopener noreferrer nofollow ugc"
_AUTO = frozenset({"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table"})
_FRAMES = frozenset({"ul", "ol", "blockquote", "table"})
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
_STRONG = frozenset({"L", "R", "AL"})
_UNSPOKEN = re.compile(r"[^\w\s,.()%$€£/-]")
_UNIT = r"(?:%|x|×|bps?|pp|[KMB]|[mb]n|million|billion)"
_NUMBER = re.compile(rf"[(+\-−–~≈≥≤<>±]*+ ?[$€£¥]? ?[(\-−]*+[0-9][0-9.,'’\u00a0\u202f]*+\)? ?{_UNIT}?\)?")
_NOTHING = frozenset({"", "-", "–", "—", "n/a", "N/A", "nm", "NM"})
_NARROW, _WIDE = 20, 60  # signs of a formula: fit on a line of a phone, of any page
_MARKER = re.compile(r"\[[0-9]{1,3}(?:, ?[0-9]{1,3})*+\]")


@dataclass(frozen=True, slots=True)
class Dresser:
    """Adds what is ours to the tree of one block. ``asked``: see ``links.place``."""

    asked: Asked = NOTHING

    def children(self, node: Node) -> list[Piece]:
        """Return the dressed children of ``node``; the node itself stays as it is."""
        out: list[Piece] = []
        for child in node.children:
            out.extend(self._piece(child))
        return joined(out)

    def _piece(self, piece: Piece) -> Sequence[Piece]:
        if isinstance(piece, str):
            return (piece,)
        match piece.tag:
            case "a":
                return self._link(piece)
            case "pre":
                return (_figure(piece),)
            case "math":
                return (_formula(piece),)
        piece.children = self.children(piece)
        if piece.tag in MATHML:
            return piece.children  # outside of a formula it is no formula
        if piece.tag in _AUTO:
            piece.attrs["dir"] = _direction(piece)
        return (_scroller(piece),) if piece.tag == "table" else (piece,)

    def _link(self, node: Node) -> Sequence[Piece]:
        label = self.children(node)
        address = check_url(node.attrs.get("href", ""))
        if address is None:
            return label
        host = _host(address, text_of(node))
        match place(address, self.asked):
            case Place.TEXT:
                return [*label, *host]
            case Place.DIRECT:
                attrs = {"href": address.url}  # without the model's title, which could name another target
            case Place.LEAVING:
                attrs = {"href": leaving_url(address), "title": address.url}
        return [Node("a", attrs | {"rel": REL, "dir": "auto"}, label), *host]


def _direction(node: Node) -> str:
    """Return ``auto``, or ``rtl`` for what a right-to-left text stands in.

    ``auto`` passes over inner elements that have a direction themselves, so it finds no text in a list and leaves its
    marks, as a quotation's edge, on the wrong side.
    """
    first = next((kind for kind in map(bidirectional, text_of(node)) if kind in _STRONG), "L")
    return "rtl" if node.tag in _FRAMES and first != "L" else "auto"


def _host(address: Address, label: str) -> list[Piece]:
    """Return the host to show beside a link, unless the link's own words are an address of that host."""
    if not address.host or _names_host(label.strip(), address):
        return []
    name = address.host
    if address.is_international:
        name = gettext("%(host)s, international name") % {"host": name}
    return [" ", Node("bdi", {"class": "host", "dir": "ltr"}, [f"({name})"])]


def _names_host(label: str, address: Address) -> bool:
    written = check_url(label) or check_url(f"mailto:{label}")
    return label == address.host or (written is not None and written.host == address.host)


def _figure(pre: Node) -> Node:
    inner = next((child for child in pre.children if isinstance(child, Node)), pre)
    language = inner.attrs.get("class", "").removeprefix("language-")
    code = text_of(pre).removesuffix("\n")
    copy = Node("button", {"type": "button", "class": "btn btn--quiet", "data-copy-code": ""}, [gettext("Copy")])
    return Node(
        "figure",
        {"class": "code", "dir": "ltr"},
        [
            Node("figcaption", {}, [f"{language_label(language)} ", copy]),
            Node("pre", {"tabindex": "0"}, [Node("code", {}, highlight(code, language))]),
        ],
    )


def _formula(math: Node) -> Node:
    """Return a formula; one that may be wider than the page in a box that scrolls."""
    math.attrs["dir"] = "ltr"
    math.children = _only_mathml(math.children)
    width = len(text_of(math))
    is_block = math.attrs.get("display") == "block" or width > _WIDE
    if not is_block and width <= _NARROW:
        return math
    kind = "scroll formula" if is_block else "scroll formula--long"
    box = {"class": kind, "tabindex": "0", "role": "group", "aria-label": gettext("Formula")}
    return Node("span", box, [math])


def _only_mathml(children: Sequence[Piece]) -> list[Piece]:
    """Return what is in a formula without elements of another kind, whose words stay."""
    out: list[Piece] = []
    for child in children:
        if isinstance(child, Node):
            child.children = _only_mathml(child.children)
        out += [child] if isinstance(child, str) or child.tag in MATHML else child.children
    return out


def _scroller(table: Node) -> Node:
    rows = _all(table, lambda node: node.tag == "tr")
    cells = [[cell for cell in row.children if isinstance(cell, Node)] for row in rows]
    for column in zip(*cells, strict=False):
        _dress_column(column)
    heads = ", ".join(text_of(cell).strip() for cell in cells[0]) if cells else ""
    plain = _UNSPOKEN.sub("", heads)[:80]
    label = gettext("Table: %(columns)s") % {"columns": plain} if plain.strip(", ") else gettext("Table")
    return Node("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}, [table])


def _dress_column(column: Sequence[Node]) -> None:
    numeric = _is_numeric([text_of(cell) for cell in column if cell.tag == "td"])
    for cell in column:
        cell.attrs |= {"scope": "col"} if cell.tag == "th" else {}
        cell.attrs |= {"class": "n"} if numeric else {}
        if _RIGHT_TO_LEFT.search(text_of(cell)):
            cell.attrs["dir"] = "auto"


def _is_numeric(values: Sequence[str]) -> bool:
    bare = [_MARKER.sub("", value).strip() for value in values]
    told = [value for value in bare if value not in _NOTHING]
    return bool(told) and all(len(value) <= 40 and _NUMBER.fullmatch(value) for value in told)


def _all(node: Node, wanted: Callable[[Node], bool]) -> list[Node]:
    found: list[Node] = []
    for child in node.children:
        if isinstance(child, Node):
            found += [child] if wanted(child) else _all(child, wanted)
    return found
