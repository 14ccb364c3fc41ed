"""Small words around quotations: what a message repeats is shown as it was typed, never as markup."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#~|]|&(?=#?\w+;))")


def escaped(text: str) -> str:
    """Return words that a person typed, or a filing's name, so that markdown shows them as they are."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def echoed(text: str) -> str:
    """Return a query in straight quotes."""
    return f'"{escaped(text.replace(chr(34), " "))}"'


def counted(count: int, noun: str) -> str:
    """Return ``1 passage``, ``2 passages``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, which a name such as *Inc.* may have brought along."""
    return sentence if sentence.endswith(".") else f"{sentence}."
