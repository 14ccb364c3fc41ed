"""Our additions to sanitized HTML: links with their host, highlighted code, scrolling boxes, text direction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter
from unicodedata import bidirectional

from django.utils.translation import gettext
from lxml import html as lxml_html
from lxml.builder import ElementMaker
from lxml.html import HtmlElement
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

from chat.html.links import Address, LinkMode, check_url, link_mode, warning_url
from chat.user_text import EMPTY, UserText

REL = "noopener noreferrer nofollow ugc"
_DIRECTED = frozenset({"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table"})
_FRAMES = frozenset({"ul", "ol", "blockquote", "table"})
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
_STRONG_DIRECTIONS = frozenset({"L", "R", "AL"})
_UNSPOKEN = re.compile(r"[^\w\s,.()%$€£/-]")
_UNIT = r"(?:%|x|×|bps?|pp|[KMB]|[mb]n|million|billion)"
_NUMBER = re.compile(rf"[(+\-−–~≈≥≤<>±]*+ ?[$€£¥]? ?[(\-−]*+[0-9][0-9.,'’\u00a0\u202f]*+\)? ?{_UNIT}?\)?")
_NO_VALUE = frozenset({"", "-", "–", "—", "n/a", "N/A", "nm", "NM"})
_NARROW_CHARS, _WIDE_CHARS = 20, 60  # a formula that fits on a line of a phone; of any page
_MARKER = re.compile(r"\[[0-9]{1,3}(?:, ?[0-9]{1,3})*+\]")

E = ElementMaker(makeelement=lxml_html.html_parser.makeelement)


def parse_fragment(html: str) -> HtmlElement:
    """Parse HTML made by this package; its top-level elements are the children of the result."""
    return lxml_html.fragment_fromstring(html, create_parent="div")


def serialize(root: HtmlElement) -> str:
    """Return the HTML of the children of ``root``."""
    parts = [lxml_html.tostring(child, encoding="unicode") for child in root]
    return "".join([escape(root.text or "", quote=False), *parts])


def text_of(element: HtmlElement) -> str:
    """Return the words of an element without its markup."""
    return "".join(map(str, element.itertext()))


def decorate(html: str, user_text: UserText = EMPTY) -> str:
    """Return sanitized HTML with our additions. ``user_text``: see ``link_mode``."""
    root = parse_fragment(html)
    for element in list(root.iterdescendants()):
        if element.tag in _DIRECTED:
            element.set("dir", _direction(element))
        match element.tag:
            case "a":
                _decorate_link(element, user_text)
            case "pre":
                _replace(element, _code_figure(element))
            case "math":
                _decorate_formula(element)
            case "table":
                _decorate_table(element)
    return serialize(root)


def _replace(element: HtmlElement, new: HtmlElement) -> None:
    new.tail, element.tail = element.tail, None
    element.getparent().replace(element, new)


def _wrap(element: HtmlElement, wrapper: HtmlElement) -> None:
    _replace(element, wrapper)
    wrapper.append(element)


def _direction(element: HtmlElement) -> str:
    """Return ``auto``, or ``rtl`` for a list, quotation or table whose text begins right to left.

    ``auto`` skips inner elements that have a direction of their own, so for those it would find no text and leave
    their marks, such as a quotation's edge, on the wrong side.
    """
    if element.tag not in _FRAMES:
        return "auto"
    first = next((kind for kind in map(bidirectional, text_of(element)) if kind in _STRONG_DIRECTIONS), "L")
    return "auto" if first == "L" else "rtl"


def _decorate_link(link: HtmlElement, user_text: UserText) -> None:
    address = check_url(link.get("href", ""))
    if address is None:
        link.drop_tag()
        return
    if host := _host(address, text_of(link)):
        shown = E.bdi(f"({host})", {"class": "host", "dir": "ltr"})
        shown.tail, link.tail = link.tail, None
        link.addnext(shown)
        link.tail = " "
    mode = link_mode(address, user_text)
    if mode is LinkMode.TEXT:
        link.drop_tag()
        return
    link.set("href", address.url if mode is LinkMode.DIRECT else warning_url(address))
    if mode is LinkMode.WARNING:
        link.set("title", address.url)
    link.set("rel", REL)
    link.set("dir", "auto")


def _host(address: Address, label: str) -> str:
    """Return the host to show beside a link; empty where the link's words are an address of that host."""
    label = label.strip()
    written = check_url(label) or check_url(f"mailto:{label}")
    if label == address.host or (written is not None and written.host == address.host):
        return ""
    if address.is_international:
        return gettext("%(host)s, international name") % {"host": address.host}
    return address.host


def _code_figure(pre: HtmlElement) -> HtmlElement:
    language = (pre[0].get("class", "") if len(pre) else "").removeprefix("language-")
    code = E.code()
    for name, text in _highlighted(text_of(pre).removesuffix("\n"), language):
        if name:
            code.append(E.span(text, {"class": name}))
        else:
            append_text(code, text)
    lexer = _lexer(language)
    label = str(lexer.name) if lexer else language or gettext("Code")
    copy = E.button(gettext("Copy"), {"type": "button", "class": "btn btn--quiet", "data-copy-code": ""})
    caption = E.figcaption(f"{label} ", copy)
    return E.figure(caption, E.pre(code, {"tabindex": "0"}), {"class": "code", "dir": "ltr"})


def append_text(element: HtmlElement, text: str) -> None:
    """Add text at the end of an element."""
    last = next(element.iterchildren(reversed=True), None)  # len() counts all children
    if last is None:
        element.text = (element.text or "") + text
    else:
        last.tail = (last.tail or "") + text


def _decorate_formula(formula: HtmlElement) -> None:
    """Put a formula that may be wider than the page into a box that scrolls."""
    formula.set("dir", "ltr")
    width = len(text_of(formula))
    is_block = formula.get("display") == "block" or width > _WIDE_CHARS
    if is_block or width > _NARROW_CHARS:
        name = "scroll formula" if is_block else "scroll formula--long"
        _wrap(formula, E.span({"class": name, "tabindex": "0", "role": "group", "aria-label": gettext("Formula")}))


def _decorate_table(table: HtmlElement) -> None:
    """Mark heads and columns of figures, and put the table into a box that scrolls, named by its heads."""
    rows = [list(row) for row in table.iterdescendants("tr")]
    for column in zip(*rows, strict=False):
        is_numeric = _is_numeric([text_of(cell) for cell in column if cell.tag == "td"])
        for cell in column:
            if cell.tag == "th":
                cell.set("scope", "col")
            if is_numeric:
                cell.set("class", "n")
            if _RIGHT_TO_LEFT.search(text_of(cell)):
                cell.set("dir", "auto")
    heads = ", ".join(text_of(cell).strip() for cell in rows[0]) if rows else ""
    name = _UNSPOKEN.sub("", heads)[:80]
    label = gettext("Table: %(columns)s") % {"columns": name} if name.strip(", ") else gettext("Table")
    _wrap(table, E.div({"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}))


def _is_numeric(cells: Sequence[str]) -> bool:
    values = [value for cell in cells if (value := _MARKER.sub("", cell).strip()) not in _NO_VALUE]
    return bool(values) and all(len(value) <= 40 and _NUMBER.fullmatch(value) for value in values)


MAX_HIGHLIGHTED_CHARS = 16_384
_NAMES = """
    bash c c++ console cpp csharp css diff docker dockerfile go graphql html http ini java javascript js json jsx
    kotlin lua make makefile markdown md nginx php powershell py python r rb rs ruby rust sh shell sql swift toml ts tsx
    typescript xml yaml yml zsh
"""
LANGUAGES = frozenset(_NAMES.split())  # a model names the language, so only these lexers run
# First match wins; the classes are documented in static/css/chat.css.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "m"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Tag, "k"),
    (Name.Attribute, "f"),
    (Name.Builtin, "b"),
    (Name.Decorator, "b"),
    (Generic.Deleted, "gd"),
    (Generic.Inserted, "gi"),
    (Generic.Heading, "k"),
    (Generic.Subheading, "c"),
    (Generic.Prompt, "c"),
)
HIGHLIGHT_CLASSES = frozenset(name for _, name in _CLASSES)


def _lexer(language: str) -> Lexer | None:
    name = language.lower()
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name in LANGUAGES else None


def _highlighted(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield runs of code, each with its class; unhighlighted where the language isn't listed or the code is long."""
    lexer = _lexer(language) if len(code) <= MAX_HIGHLIGHTED_CHARS else None
    tokens = list(lexer.get_tokens(f"{code}\n")) if lexer else []  # some lexers read whole lines only
    if "".join(text for _, text in tokens) != f"{code}\n":  # also a lexer that changes its input: copies would differ
        yield "", code
        return
    kind, last = tokens.pop()
    tokens.append((kind, last.removesuffix("\n")))
    spans = [
        (next((name for group, name in _CLASSES if kind in group), ""), text)  # type: ignore[comparison-overlap]
        for kind, text in tokens
    ]
    for name, run in groupby(spans, key=itemgetter(0)):
        if text := "".join(part for _, part in run):
            yield name, text


def elements(html: str) -> list[str] | None:
    """Return the elements at the top of rendered HTML, one by one; None where text is among them."""
    root = parse_fragment(html)
    if any((text or "").strip() for text in (root.text, *(child.tail for child in root))):
        return None
    return [lxml_html.tostring(child, encoding="unicode", with_tail=False) for child in root]
