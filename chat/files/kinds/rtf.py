"""Rich Text Format: its paragraphs."""

from __future__ import annotations

from collections.abc import Iterable

from striprtf.striprtf import rtf_to_text

from chat.files.blocks import Block, Details, paragraphs


def read(content: bytes, details: Details) -> Iterable[Block]:
    text = rtf_to_text(content.decode("latin-1"), errors="replace")
    # An emoji is written as the halves of its surrogate pair.
    return paragraphs(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
