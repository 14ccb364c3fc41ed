"""Markdown to plain HTML: the parser's settings, and what is taken out of its tokens before they become markup.

No raw HTML, no bare words made links, no reference definitions (they hide where a link leads, and each block must
read the same alone as in the whole), no images: fetching one needs no click, so it would carry text out by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from chat.html import formulas
from chat.html.links import check_url
from chat.html.mathml import to_mathml

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
formulas.add_formulas(_PARSER)
_CONTAINERS = frozenset({"blockquote_open", "list_item_open"})  # what is inside is a level deeper
_MARKS = frozenset({"em_open", "strong_open", "s_open"})
_LEFT = "left"  # in the renderer's environment: how many more characters and elements of formulas are taken


class _Renderer(RendererHTML):
    """Writes formulas as MathML, or as their source where that can't be, or would be too much."""

    def formula(self, tokens: Sequence[Token], idx: int, _options: object, env: dict[str, Any]) -> str:
        token = tokens[idx]
        return _mathml(token, env) or f"<code>{escapeHtml(formulas.source(token.content, token.markup))}</code>"

    def formula_block(self, tokens: Sequence[Token], idx: int, _options: object, env: dict[str, Any]) -> str:
        token = tokens[idx]
        source = escapeHtml(formulas.source(token.content, token.markup))
        return _mathml(token, env) or f'<pre><code class="language-TeX">{source}\n</code></pre>\n'


class TooDenseError(ValueError):
    """The text makes more markup, or nests deeper, than is rendered; it is shown plain."""


_RENDERER = _Renderer(_PARSER)


def to_html(text: str) -> str:
    """Return the HTML of one block of markdown, model ``#`` as h3, images and refused links as text.

    Raises TooDenseError where the parser would drop text that nests too deep, or the markup would be too much.
    """
    tokens = _PARSER.parse(text)
    if any(token.type in _CONTAINERS and token.level >= MAX_NESTING - 1 for token in tokens):
        raise TooDenseError("nesting")
    for token in tokens:
        _tame(token)
    count = _count_tags(tokens)
    if count > MAX_TAGS:
        raise TooDenseError("markup")
    return _RENDERER.render(tokens, _PARSER.options, {_LEFT: MAX_TAGS - count})


def top_level_blocks(text: str) -> list[tuple[int, Token]]:
    """Return the first line and the opening token of every top-level block of a text that may go on.

    Words inside are not looked at.
    """
    tokens: list[Token] = []
    _PARSER.block.parse(text, _PARSER, {formulas.GROWING: True}, tokens)
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
    words = [_as_text(child) for child in token.children or ()]
    alt = _RENDERER.renderInlineAsText(words, _PARSER.options, {}).strip()
    address = check_url(str(token.attrGet("src")))
    host = address.host if address else ""
    match bool(alt), bool(host):
        case True, True:
            return gettext("[image: %(alt)s, %(host)s]") % {"alt": alt, "host": host}
        case False, False:
            return gettext("[image]")
    return gettext("[image: %(name)s]") % {"name": alt or host}


def _as_text(token: Token) -> Token:
    is_formula = token.type == formulas.INLINE
    return Token("text", "", 0, content=formulas.source(token.content, token.markup)) if is_formula else token


def _mathml(token: Token, env: dict[str, Any]) -> str | None:
    if env[_LEFT] <= 0:
        return None
    mathml = to_mathml(token.content, is_display=token.markup in formulas.DISPLAYED)
    env[_LEFT] -= max(len(token.content), (mathml or "").count("</"))
    return mathml
