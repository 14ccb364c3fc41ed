"""Our additions to sanitized HTML: links over our page, highlighted code, scrolling boxes, text direction."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from operator import itemgetter
from time import thread_time
from unicodedata import bidirectional

from django.utils.translation import gettext
from lxml import html as lxml_html
from lxml.builder import ElementMaker
from lxml.html import HtmlElement
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Operator, String, _TokenType

from chat.html.link_check import EMPTY, UserText
from chat.html.links import check_url, link_target
from chat.html.unfinished import HELD, TIP

REL = "noopener noreferrer nofollow ugc"
_DIRECTED = frozenset({"p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "details", "summary"})
_FRAMES = frozenset({"ul", "ol", "blockquote", "table"})
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
_STRONG_DIRECTIONS = frozenset({"L", "R", "AL"})
_UNSPOKEN = re.compile(r"[^\w\s,.()%$€£/-]")
_TASK_BOXES = ("☐", "☑")
_NARROW_CHARS, _WIDE_CHARS = 20, 60  # a formula that fits on a line of a phone; of any page

MAX_HIGHLIGHTED_CHARS = 16_384
# Many lexers look through the rest of the code for each token, so some texts take seconds: of processor time, in which
# a whole block of ordinary code is read several times over.
MAX_HIGHLIGHT_S = 0.2
TOKENS_PER_CHECK = 64
_NAMES = """
    bash c c++ console cpp csharp css diff docker dockerfile go graphql html http ini java javascript js json jsx
    kotlin lua make makefile markdown md nginx php powershell py python r rb rs ruby rust sh shell sql swift toml ts tsx
    typescript xml yaml yml zsh
"""
# A model names the language, so only these lexers run.
LANGUAGES = frozenset(_NAMES.split())
# First match wins; the classes are documented in static/css/app.css. Numbers stay plain: a table of them would need an
# element for each.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
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


def append_text(element: HtmlElement, text: str) -> None:
    """Add text at the end of an element."""
    # len() counts all children.
    last = next(element.iterchildren(reversed=True), None)
    if last is None:
        element.text = (element.text or "") + text
    else:
        last.tail = (last.tail or "") + text


def replace(element: HtmlElement, new: HtmlElement) -> None:
    """Put another element in the place of one, before the text that follows it."""
    new.tail, element.tail = element.tail, None
    element.getparent().replace(element, new)


def wrap(element: HtmlElement, wrapper: HtmlElement) -> None:
    """Put an element into another one, in its place."""
    replace(element, wrapper)
    wrapper.append(element)


def decorate(html: str, user_text: UserText = EMPTY) -> str:
    """Return sanitized HTML with our additions. ``user_text``: see ``link_target``."""
    root = parse_fragment(html)
    for element in list(root.iterdescendants()):
        if element.tag in _DIRECTED:
            element.set("dir", "auto")
        if element.tag in _FRAMES:
            # "auto" skips inner elements that have a direction of their own, so it finds no text in a list, quotation
            # or table and would leave its marks, such as a quotation's edge, on the wrong side.
            first = next((kind for kind in map(bidirectional, text_of(element)) if kind in _STRONG_DIRECTIONS), "L")
            element.set("dir", "auto" if first == "L" else "rtl")
        match element.tag:
            case "a":
                decorate_link(element, user_text)
            case "li" if text_of(element).lstrip().startswith(_TASK_BOXES):
                element.set("class", "task")
            case "pre":
                replace(element, code_figure(element))
            case "math":
                element.set("dir", "ltr")
                width = len(text_of(element)) - sum(len(text_of(tex)) for tex in element.iter("annotation"))
                is_block = element.get("display") == "block" or width > _WIDE_CHARS
                if is_block or width > _NARROW_CHARS:
                    # It may be wider than the page, so it scrolls.
                    name = "scroll formula" if is_block else "scroll formula--long"
                    box = {"class": name, "tabindex": "0", "role": "group", "aria-label": gettext("Formula")}
                    wrap(element, E.span(box))
            case "table":
                decorate_table(element)
    return serialize(root)


def decorate_link(link: HtmlElement, user_text: UserText) -> None:
    """Let a link lead through the page that shows its address, where needed, and name its host."""
    address = check_url(link.get("href", ""))
    if address is None:
        link.drop_tag()
        return
    label = text_of(link).strip()
    written = next(filter(None, map(check_url, (label, f"mailto:{label}", f"https://{label}"))), None)
    if address.host:
        link.set("title", address.url)
        if label != address.host and (written is None or written.host != address.host):
            # Words of the link may name another site. Screen readers read the host; others see it on focus.
            host = gettext("%(host)s, international name") if address.is_international else "%(host)s"
            link.append(E.bdi(f" {host % {'host': address.host}}", {"class": "host", "dir": "ltr"}))
    link.set("href", link_target(address, user_text))
    link.set("rel", REL)
    link.set("dir", "auto")


def decorate_table(table: HtmlElement) -> None:
    """Mark the heads of a table, and put it into a box that scrolls, named by them."""
    rows = [list(row) for row in table.iterdescendants("tr")]
    for cell in (cell for row in rows for cell in row):
        if cell.tag == "th":
            cell.set("scope", "col")
        if _RIGHT_TO_LEFT.search(text_of(cell)):
            cell.set("dir", "auto")
    heads = ", ".join(text_of(cell).strip() for cell in rows[0]) if rows else ""
    name = _UNSPOKEN.sub("", heads)[:80]
    label = gettext("Table: %(columns)s") % {"columns": name} if name.strip(", ") else gettext("Table")
    wrap(table, E.div({"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}))


def code_figure(pre: HtmlElement) -> HtmlElement:
    """Return a code block with its language, a copy button and highlighted code."""
    source = text_of(pre).removesuffix("\n")
    tip = source[len(source.rstrip(TIP + HELD)) :]
    source = source.removesuffix(tip)
    language = (pre[0].get("class", "") if len(pre) else "").removeprefix("language-")
    name = language.lower()
    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False) if name in LANGUAGES else None
    code = E.code()
    # Some lexers read whole lines only.
    is_short = len(source) <= MAX_HIGHLIGHTED_CHARS
    tokens = read_tokens(lexer, f"{source}\n") if lexer and is_short else []
    if "".join(text for _kind, text in tokens) == f"{source}\n":
        kind, last = tokens.pop()
        tokens.append((kind, last.removesuffix("\n")))
        # A type of tokens contains those below it; for the stubs it is a tuple of strings.
        spans = [
            (next((name for group, name in _CLASSES if kind in group), ""), text)  # type: ignore[comparison-overlap]
            for kind, text in tokens
        ]
        for css_class, run in groupby(spans, key=itemgetter(0)):
            text = "".join(part for _class, part in run)
            if css_class and text:
                code.append(E.span(text, {"class": css_class}))
            else:
                append_text(code, text)
    else:
        # Not highlighted, not in time, or by a lexer that changes its input: copies would differ.
        code.text = source
    append_text(code, tip)
    copy = E.button(gettext("Copy"), {"type": "button", "class": "btn btn--quiet", "data-copy-code": ""})
    name = lexer.name if lexer else language or gettext("Code")
    caption = E.figcaption(f"{name} ", copy)
    return E.figure(caption, E.pre(code, {"tabindex": "0"}), {"class": "code", "dir": "ltr"})


def read_tokens(lexer: Lexer, source: str) -> list[tuple[_TokenType, str]]:
    """Return the tokens of code, as far as they are found in time."""
    tokens: list[tuple[_TokenType, str]] = []
    started = thread_time()
    for token in lexer.get_tokens(source):
        # Reading the clock costs more than a token.
        if len(tokens) % TOKENS_PER_CHECK == 0 and thread_time() - started > MAX_HIGHLIGHT_S:
            break
        tokens.append(token)
    return tokens
