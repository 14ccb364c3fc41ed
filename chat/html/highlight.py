"""Colour for fenced code: Pygments' tokens under a few classes of ours, for languages that filings chats meet.

The language comes from a model, so only listed lexers run, and only on code short enough for any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from django.utils.translation import gettext
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

from chat.html.tree import Node, Piece

MAX_CODE = 16_384
_NAMES = """
    bash c c++ console cpp csharp css diff docker dockerfile go graphql html http ini java javascript js json jsx
    kotlin lua make makefile markdown md nginx php powershell py python r rb rs ruby rust sh shell sql swift toml ts tsx
    typescript xml yaml yml zsh
"""
LANGUAGES = frozenset(_NAMES.split())
# First match wins; classes are documented in static/css/chat.css.
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
CLASSES = frozenset(name for _, name in _CLASSES)


def language_label(language: str) -> str:
    """Return the caption of a code block: the language's usual name, as given where it isn't known."""
    lexer = _lexer(language)
    return str(lexer.name) if lexer else language or gettext("Code")


def highlight(code: str, language: str) -> list[Piece]:
    """Return the code as spans with classes, or as it is where the language isn't listed or the code is long."""
    lexer = _lexer(language) if len(code) <= MAX_CODE else None
    if lexer is None:
        return [code]
    spans = [(_class_of(kind), text) for kind, text in lexer.get_tokens(f"{code}\n")]  # some read whole lines only
    name, last = spans.pop() if spans else ("", "")
    spans.append((name, last.removesuffix("\n")))
    if "".join(text for _, text in spans) != code:
        return [code]  # a lexer that changes its input would change what is copied
    return list(_runs(spans))


def _lexer(language: str) -> Lexer | None:
    name = language.lower()
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name in LANGUAGES else None


def _class_of(kind: _TokenType) -> str:
    return next((name for group, name in _CLASSES if kind in group), "")  # type: ignore[comparison-overlap]  # of token types it means "is a kind of"


def _runs(spans: Iterable[tuple[str, str]]) -> Iterator[Piece]:
    for name, run in groupby(spans, key=lambda span: span[0]):
        text = "".join(part for _, part in run)
        if text:
            yield Node("span", {"class": name}, [text]) if name else text
