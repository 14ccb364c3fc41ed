"""The small tree that sanitized HTML is read into, so that our own pass can add to it.

It is a third fence: reading keeps only the elements and attributes that the caller lists, and writing escapes every
text and every value again, so no markup can come out that was not asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape, unescape

MAX_DEPTH = 80
VOID = frozenset({"br", "hr"})

type_names = Mapping[str, frozenset[str]]

_TOKEN = re.compile(
    r"""<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*)(?P<attrs>(?:\s[a-z-]+(?:="[^"]*"|='[^']*')?)*+)\s*/?>|(?P<text>[^<]+|<)"""
)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^>]*>")
_ATTR = re.compile(r"""\s([a-z-]+)(?:="([^"]*)"|='([^']*)')?""")


@dataclass(slots=True)
class Node:
    """One element. It is changed in place while an answer is dressed, and never leaves this package."""

    tag: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)


Piece = Node | str


def parse(html: str, allowed: type_names) -> Node:
    """Read well-formed HTML into a tree; elements and attributes that aren't in ``allowed`` are left out.

    The words inside an element that is left out stay, as they do below ``MAX_DEPTH`` levels.
    """
    root = Node("")
    stack = [root]
    for token in _TOKEN.finditer(html):
        if token["text"] is not None:
            _add_text(stack[-1].children, unescape(token["text"]))
        elif token["end"]:
            _close(stack, token["tag"])
        else:
            _open(stack, token["tag"], token["attrs"], allowed)
    return root


def serialize(pieces: Iterable[Piece]) -> str:
    """Write a tree as HTML, everything escaped."""
    return "".join(_written(pieces))


def elements(html: str) -> list[str] | None:
    """Return the elements that HTML made by ``serialize`` has at its top, one by one; None where text is among them."""
    found: list[str] = []
    depth = start = 0
    for tag in _TAG.finditer(html):
        if depth == 0 and html[start : tag.start()].strip():
            return None
        start = start if depth else tag.start()
        depth += 0 if tag[2] in VOID else -1 if tag[1] else 1
        if depth == 0:
            found.append(html[start : tag.end()])
            start = tag.end()
    return None if html[start:].strip() else found


def text_of(piece: Piece) -> str:
    """Return the words of a piece without its markup."""
    return piece if isinstance(piece, str) else "".join(map(text_of, piece.children))


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces with neighbouring texts made one, so that a search sees whole runs."""
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str):
            _add_text(out, piece)
        else:
            out.append(piece)
    return out


def _add_text(children: list[Piece], text: str) -> None:
    if children and isinstance(last := children[-1], str):
        children[-1] = last + text
    elif text:
        children.append(text)


def _open(stack: list[Node], tag: str, attrs: str, allowed: type_names) -> None:
    parent = stack[-1]
    known = allowed.get(tag)
    if known is None or len(stack) > MAX_DEPTH:
        if tag not in VOID:
            stack.append(Node(tag, {}, parent.children))  # no element of its own: what is inside goes to its parent
        return
    node = Node(tag, {name: value for name, value in _attributes(attrs) if name in known})
    parent.children.append(node)
    if tag not in VOID:
        stack.append(node)


def _attributes(attrs: str) -> Iterator[tuple[str, str]]:
    for name, double, single in _ATTR.findall(attrs):
        yield name, unescape(double or single)


def _close(stack: list[Node], tag: str) -> None:
    for index in range(len(stack) - 1, 0, -1):
        if stack[index].tag == tag:
            del stack[index:]
            return


def _written(pieces: Iterable[Piece]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, str):
            yield escape(piece, quote=False)
            continue
        attrs = "".join(f' {name}="{escape(value)}"' if value else f" {name}" for name, value in piece.attrs.items())
        yield f"<{piece.tag}{attrs}>"
        if piece.tag not in VOID:
            yield from _written(piece.children)
            yield f"</{piece.tag}>"
