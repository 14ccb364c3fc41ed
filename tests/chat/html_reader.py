"""Rendered HTML as two other readers of HTML see it, and what in it is not on the allow-list."""

import re
from html.parser import HTMLParser

from bleach._vendor import html5lib

from chat.html.math import ELEMENTS as MATHML

BLOCKS = ["p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "td", "th", "pre", "figure", "bdi", "a"]
BLOCKS += ["details", "summary"]
PLAIN = [
    "br",
    "hr",
    "code",
    "em",
    "strong",
    "sub",
    "sup",
    "kbd",
    "u",
    "s",
    "thead",
    "tbody",
    "tr",
    "figcaption",
    "button",
    "span",
    "div",
]
VALUES = {
    "dir": r"auto|ltr|rtl",
    "class": r"code|btn btn--quiet|scroll|scroll formula(?:--long)?|host|task|plain|c|k|s|f|b|gd|gi",
    "start": r"[0-9]{1,9}",
    "align": r"left|center|right",
    "open": r"",
    "scope": r"col",
    "type": r"button",
    "tabindex": r"0",
    "role": r"region|group",
    "rel": r"noopener noreferrer nofollow ugc",
    "href": r"https?://(www\.)?sec\.gov(/.*)?|/leaving/\?to=https?%3A%2F%2F[\w%.~-]+|mailto:[\w.+-]+@[\w.-]+|#[\w.~-]+",
    "data-copy-code": r"",
    "title": r"(?s).*",
    "aria-label": r"(?s).*",
}
NAMES = {
    "a": {"href", "title", "rel", "dir"},
    "ol": {"dir", "start"},
    "p": {"dir", "class"},
    "li": {"dir", "class"},
    "details": {"dir", "open"},
    "td": {"dir", "align"},
    "th": {"dir", "align", "scope"},
    "bdi": {"dir", "class"},
    "figure": {"dir", "class"},
    "pre": {"tabindex", "class", "dir"},
    "button": {"type", "class", "data-copy-code"},
    "span": {"class", "tabindex", "role", "aria-label"},
    "math": {"dir"},
    "div": {"class", "tabindex", "role", "aria-label"},
}
IN_MATHML = "{http://www.w3.org/1998/Math/MathML}"


class Reader(HTMLParser):
    """Collects elements and text with Python's own parser."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data):
        self.words.append(data)

    def handle_comment(self, data):
        self.found.append(("!comment", {}))

    def handle_decl(self, decl):
        self.found.append(("!doctype", {}))

    handle_pi = unknown_decl = handle_comment


def parsed(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def read(html):
    """Return the elements with their attributes."""
    return parsed(html).found


def tags(html):
    return [tag for tag, _ in read(html)]


def words(html):
    return "".join(parsed(html).words)


def read_as_browser(html):
    """Return the elements that a browser's parser finds."""
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return [(str(node.tag).removeprefix(IN_MATHML), dict(node.attrib)) for node in tree.iter()][1:]


def faults(html):
    """Yield every element, attribute and value that is not on the allow-list of a rendered answer."""
    allowed = {tag: NAMES.get(tag, {"dir"} if tag in BLOCKS else set()) for tag in BLOCKS + PLAIN}
    for tag, attrs in read(html) + read_as_browser(html):
        values = MATHML.get(tag, {})
        if tag not in MATHML and tag not in allowed:
            yield tag
        for name, value in attrs.items():
            known = values[name].pattern if name in values else VALUES.get(name, "")
            if name not in {*values, *allowed.get(tag, NAMES.get(tag, ()))} or not re.fullmatch(known, value):
                yield tag, name, value
    yield from misplaced(html)


def misplaced(html):
    """Yield elements of formulas outside of them, and others inside."""
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    inside = {id(node) for math in tree.iter(f"{IN_MATHML}math") for node in math.iter()}
    for node in tree.iter():
        if (id(node) in inside) != str(node.tag).startswith(IN_MATHML) or node.tag in MATHML:
            yield node.tag, "misplaced"
