"""Split one whole message at its ``<REASONING>`` block, to the letter of spec 000.

For finished text only, and for callers that need the letter of the specification: nothing in the server calls it. Every
response, streamed or whole, passes the normaliser, whose rules for these tags are wider (any case, more than one
block, no tag shown where its partner is missing; product 5, normaliser 6). The tags count in exactly this spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reasoning.replay.tokens import estimate_tokens

_TAG = re.compile(r"<(/?)REASONING>")


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """The text of the block, trimmed, and its estimated tokens. Spec 000 rule 4, rule 5."""

    text: str
    tokens_est: int


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """What a reader sees, and the reasoning, or None where the message holds no whole block. Spec 000 shape."""

    visible: str
    reasoning: ReasoningBlock | None = None


def parse_message(text: str) -> ParsedMessage:
    """Return the message without its one block, and the block.

    The block starts at the first opener and ends at the closer that balances it or, where none does, at the last
    closer. Later blocks stay visible. With either tag missing the message comes back unchanged. Linear in the length of
    the message. Spec 000 rule 1, 2.
    """
    first = last = None
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[1] and first is None:
            continue  # a closer before the first opener
        first = first or tag
        last = tag if tag[1] else last
        depth += -1 if tag[1] else 1
        # Later blocks are text: a message has one block at most (rule 1).
        if depth == 0:
            break
    if first is None or last is None:
        return ParsedMessage(text)
    body = text[first.end() : last.start()].strip()
    visible = (text[: first.start()] + text[last.end() :]).strip()
    return ParsedMessage(visible, ReasoningBlock(body, estimate_tokens(body)))
