"""Split one whole message at its ``<REASONING>`` block, to the letter of spec 000.

For finished text only: a stream goes through the normaliser. The tags count in exactly this spelling, case included.
Cost is linear in the length of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reasoning.tokens import estimate_tokens

_TAG = re.compile(r"<(/?)REASONING>")


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The text of the block, trimmed, and its estimated tokens. Spec 000 rule 4, rule 5."""

    text: str
    tokens_est: int


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """What a reader sees, and the reasoning, or None where the message holds no whole block. Spec 000 shape."""

    visible: str
    reasoning: Reasoning | None = None


def parse_message(text: str) -> ParsedMessage:
    """Return the message without its one block, and the block.

    The block starts at the first opener and ends at the closer that balances it or, where none does, at the last
    closer. Later blocks stay visible. With either tag missing the message comes back unchanged. Spec 000 rule 1, 2.
    """
    block = _outermost(text)
    if block is None:
        return ParsedMessage(text)
    opener, closer = block
    body = text[opener.end() : closer.start()].strip()
    visible = (text[: opener.start()] + text[closer.end() :]).strip()
    return ParsedMessage(visible, Reasoning(body, estimate_tokens(body)))


def _outermost(text: str) -> tuple[re.Match[str], re.Match[str]] | None:
    first = last = None
    depth = 0
    for tag in _TAG.finditer(text):
        is_closer = bool(tag[1])
        if first is None:
            if is_closer:
                continue
            first = tag
        depth += -1 if is_closer else 1
        last = tag if is_closer else last
        if depth == 0:
            break
    return (first, last) if first is not None and last is not None else None
