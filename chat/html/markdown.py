"""Markdown to plain HTML: the parser's settings, and what is taken out of its tokens before they become markup.

No raw HTML, no bare words made links, no reference definitions (they hide where a link leads, and each block must
read the same alone as in the whole), no images: fetching one needs no click, so it would carry text out by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from chat.html.links import check_url

MAX_NESTING = 20
MAX_EMPHASIS = 6
MAX_TAGS = 10_000  # beyond it the sanitizer's cost, quadratic in neighbours, would pass a second

_PARSER = (
    MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False, "maxNesting": MAX_NESTING})
    .enable(["table", "strikethrough"])
    .disable(["reference"])
)
_PARSER.validateLink = lambda url: True  # type: ignore[method-assign]  # decided on tokens, so that the words stay
_PARSER.normalizeLink = str  # type: ignore[method-assign, assignment]  # it would spell odd addresses so that they look sound
_PARSER.normalizeLinkText = str  # type: ignore[method-assign, assignment]
_RENDERER = RendererHTML(_PARSER)
_CONTAINERS = frozenset({"blockquote_open", "list_item_open"})  # what is inside is a level deeper
_MARKS = frozenset({"em_open", "strong_open", "s_open"})


class TooDenseError(ValueError):
    """The text makes more markup, or nests deeper, than is rendered; it is shown plain."""


def to_html(text: str) -> str:
    """Return the HTML of one block of markdown, model ``#`` as h3, images and refused links as text.

    Raises TooDenseError where the parser would drop text that nests too deep, or the markup would be too much.
    """
    tokens = _PARSER.parse(text)
    if any(token.type in _CONTAINERS and token.level >= MAX_NESTING - 1 for token in tokens):
        raise TooDenseError("nesting")
    for token in tokens:
        _tame(token)
    if _count_tags(tokens) > MAX_TAGS:
        raise TooDenseError("markup")
    return _RENDERER.render(tokens, _PARSER.options, {})


def top_level_blocks(text: str) -> list[tuple[int, Token]]:
    """Return the first line and the opening token of every top-level block. Words inside are not looked at."""
    tokens: list[Token] = []
    _PARSER.block.parse(text, _PARSER, {}, tokens)
    return [(token.map[0], token) for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]


def _count_tags(tokens: Sequence[Token]) -> int:
    return sum((token.nesting >= 0 and token.tag != "") + _count_tags(token.children or ()) for token in tokens)


def _tame(token: Token) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
    elif token.children:
        token.children = _tame_inline(token.children)


def _tame_inline(tokens: Sequence[Token]) -> list[Token]:
    out: list[Token] = []
    depth = 0
    links: list[bool] = []
    for token in tokens:
        match token.type:
            case "image":
                out.append(Token("text", "", 0, content=_image_text(token)))
                continue
            case "link_open":
                links.append(check_url(str(token.attrGet("href"))) is not None)
                keep = links[-1]
            case "link_close":
                keep = links.pop()
            case _:
                depth += token.type in _MARKS
                keep = depth <= MAX_EMPHASIS or token.nesting == 0
                depth -= token.nesting == -1
        if keep:
            out.append(token)
    return out


def _image_text(token: Token) -> str:
    alt = _RENDERER.renderInlineAsText(token.children or [], _PARSER.options, {}).strip()
    address = check_url(str(token.attrGet("src")))
    host = address.host if address else ""
    match bool(alt), bool(host):
        case True, True:
            return gettext("[image: %(alt)s, %(host)s]") % {"alt": alt, "host": host}
        case False, False:
            return gettext("[image]")
    return gettext("[image: %(name)s]") % {"name": alt or host}
