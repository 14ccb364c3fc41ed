"""No vector becomes more than text: in any context, through either sanitizer, by either of two readers of HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from bleach._vendor import html5lib

from chat.html import check_url, render_answer, render_markdown, sanitize_html
from chat.html.mathml import ELEMENTS as MATHML
from reasoning.citations import Citation
from tests.chat import xss_vectors as vectors
from tests.chat.xss_urls import URLS

BLOCKS = ["p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "td", "th", "pre", "figure", "bdi", "a"]
PLAIN = ["br", "hr", "code", "em", "strong", "s", "thead", "tbody", "tr", "figcaption", "button", "span", "div"]
VALUES = {
    "dir": r"auto|ltr|rtl",
    "class": r"code|btn btn--quiet|scroll|scroll formula(?:--long)?|n|host|plain|c|k|s|m|f|b|gd|gi",
    "start": r"[0-9]{1,9}",
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
    "td": {"dir", "class"},
    "th": {"dir", "class", "scope"},
    "bdi": {"dir", "class"},
    "figure": {"dir", "class"},
    "pre": {"tabindex", "class", "dir"},
    "button": {"type", "class", "data-copy-code"},
    "span": {"class", "tabindex", "role", "aria-label"},
    "math": {"dir"},
    "div": {"class", "tabindex", "role", "aria-label"},
}
IN_MATHML = "{http://www.w3.org/1998/Math/MathML}"
SANITIZED = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}}
CONTEXTS = {
    "alone": "{}",
    "in words": "Before {} after",
    "in a list": "- one\n- {}",
    "in a quotation": "> {}",
    "in a heading": "# {}",
    "in a table": "| a | b |\n|---|---|\n| {} | 2 |",
    "in emphasis": "**{}**",
    "after a block": "first\n\n{}\n\nlast",
    "as a link's words": "[{}](https://www.sec.gov/)",
    "as a link's title": '[x](https://www.sec.gov/ "{}")',
    "as an image's words": "![{}](https://evil.example/x.png)",
    "as a fence's language": "```{}\ncode\n```",
    "in a fence": "```html\n{}\n```",
    "in code": "`{}`",
}


class Reader(HTMLParser):
    """Collects the elements of a text with Python's own reader."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_comment(self, data):
        self.found.append(("!comment", {}))

    def handle_decl(self, decl):
        self.found.append(("!doctype", {}))

    handle_pi = unknown_decl = handle_comment


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.found


def read_as_browser(html):
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return [(str(node.tag), dict(node.attrib)) for node in tree.iter()][1:]


def faults(html, names=None):
    allowed = {tag: NAMES.get(tag, {"dir"} if tag in BLOCKS else set()) for tag in BLOCKS + PLAIN}
    for tag, attrs in without_namespace(read(html) + read_as_browser(html)):
        values = MATHML.get(tag, {})
        if tag not in MATHML and tag not in allowed:
            yield tag
        for name, value in attrs.items():
            known = values[name].pattern if name in values else VALUES.get(name, "")
            if name not in {*values, *allowed.get(tag, NAMES.get(tag, ()))} or not re.fullmatch(known, value):
                yield tag, name, value
    yield from misplaced(html)


def misplaced(html):
    """Find elements of formulas outside of them, and others inside."""
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    inside = {id(node) for math in tree.iter(f"{IN_MATHML}math") for node in math.iter()}
    for node in tree.iter():
        if (id(node) in inside) != str(node.tag).startswith(IN_MATHML) or node.tag in MATHML:
            yield node.tag, "misplaced"


def sanitizer_faults(html):
    html_tags = {*BLOCKS, *PLAIN, "h1", "h2", "del"} - {"figure", "figcaption", "button", "span", "div", "bdi"}
    for tag, attrs in without_namespace(read(html) + read_as_browser(html)):
        if tag not in html_tags | MATHML.keys():
            yield tag
        for name, value in attrs.items():
            kept = {*MATHML.get(tag, ()), *SANITIZED.get(tag, ())}
            if name not in kept or (name == "href" and check_url(value) is None):
                yield tag, name, value


def without_namespace(elements):
    return [(tag.removeprefix(IN_MATHML), attrs) for tag, attrs in elements]


@pytest.fixture(params=["bleach", "nh3"])
def engine(request, settings):
    settings.HTML_SANITIZER = request.param
    return request.param


def test_list_of_vectors_is_broad():
    assert len({*vectors.MARKUP, *URLS}) >= 250


@pytest.mark.parametrize("context", CONTEXTS)
def test_no_vector_leaves_the_allow_list(engine, context):
    texts = [CONTEXTS[context].replace("{}", vector) for vector in vectors.MARKUP]

    broken = {text: found for text in texts if (found := list(faults(render_markdown(text))))}

    assert not broken


def test_no_vector_survives_raw_sanitizing(engine):
    inputs = [*vectors.MARKUP, *(f'<a href="{url}">x</a>' for url in URLS)]

    broken = {
        text: found
        for text in inputs
        if (
            found := list(
                sanitizer_faults(sanitize_html(text.replace("\ud83d", "").replace("\udc00", ""), engine=engine))
            )
        )
    }

    assert not broken


def test_sanitizing_twice_changes_nothing(engine):
    once = [sanitize_html(text, engine=engine) for text in vectors.MUTATION]

    assert [sanitize_html(html, engine=engine) for html in once] == once


@pytest.mark.parametrize("form", ["[x]({})", "[x](<{}>)", "<{}>", "![x]({})", '[x]({} "t")', "[x][y]\n\n[y]: {}"])
def test_no_refused_address_becomes_a_link(engine, form):
    texts = [form.replace("{}", url) for url in URLS]

    linked = {
        text: attrs["href"]
        for text in texts
        for tag, attrs in read(render_markdown(text))
        if tag == "a"
        and re.search(r"javascript|data:|logout|%40|^/leaving/\?to=(?!https)", attrs["href"], re.IGNORECASE)
    }

    assert not linked
    assert not {text: found for text in texts if (found := list(faults(render_markdown(text))))}


@pytest.mark.parametrize("url", URLS)
def test_check_refuses_odd_address(url):
    assert check_url(url) is None


def test_no_element_bears_an_id(engine):
    whole = "\n\n".join(vectors.MARKUP)

    assert not re.search(r"<[^>]*\s(?:id|hx-\S*|data-hx-\S*|x-\S*|style|on\w+)=", render_markdown(whole))


def test_vectors_stay_harmless_beside_citations(engine):
    citation = Citation(
        3, "10-K", "N", None, None, 'A"><script>', "#a", "/filings/1/#a", "", 'x" onclick="y', verified=True
    )
    texts = [f'{vector} [3] "x" onclick="y"' for vector in vectors.MARKUP]

    rendered = [read_as_browser(render_answer(text, [citation])) for text in texts]

    assert not [
        tag for tags in rendered for tag, _ in tags if tag in {"script", "img", "svg", "iframe", "style", "form"}
    ]
    assert not [name for tags in rendered for _, attrs in tags for name in attrs if name.startswith(("on", "hx", "id"))]
