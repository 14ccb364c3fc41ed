"""Turn tokens back into text: as they came, or defused, for tags that were only quoted. Normaliser 9."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoning.tagscan import Tag, TagKind, Token


def raw_text(tokens: Iterable[Token]) -> str:
    """Return the characters as they came."""
    return "".join(token.raw if isinstance(token, Tag) else token for token in tokens)


def length_of(tokens: Iterable[Token]) -> int:
    """Return how many characters came."""
    return sum(len(token.raw if isinstance(token, Tag) else token) for token in tokens)


def closes_pad(token: Token) -> bool:
    """Say whether this is a scratchpad's closer."""
    return isinstance(token, Tag) and token.name == "scratchpad" and token.kind is TagKind.CLOSE


def as_literal(tokens: Sequence[Token]) -> tuple[str, list[str]]:
    """Return the text with its tags defused, and the scratchpads in it.

    A whole scratchpad stays private inside code as it does anywhere; an opener or a closer alone is a literal.
    Normaliser 7, 9.
    """
    last_closer = max((at for at, token in enumerate(tokens) if closes_pad(token)), default=-1)
    shown: list[str] = []
    pads: list[str] = []
    opener_at = -1
    for at, token in enumerate(tokens):
        if opener_at >= 0:
            if closes_pad(token):
                pads.append(raw_text(tokens[opener_at + 1 : at]))
                opener_at = -1
        elif _opens_pad(token) and at < last_closer:
            opener_at = at
        else:
            shown.append(token.defused if isinstance(token, Tag) else token)
    return "".join(shown), pads


def _opens_pad(token: Token) -> bool:
    return isinstance(token, Tag) and token.name == "scratchpad" and token.kind is TagKind.OPEN
