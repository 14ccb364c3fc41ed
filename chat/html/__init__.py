"""Model text to safe HTML. Everything that a page shows of a model's words is rendered here."""

from __future__ import annotations

from chat.html.citations import MAX_QUOTE_CHARS, cite, cite_label, source_url
from chat.html.cost import RenderBudget, any_heavy
from chat.html.links import Address, check_url
from chat.html.markdown import BlockSplitter, split_blocks
from chat.html.render import (
    arender,
    render_answer,
    render_markdown,
    render_policy,
    render_unfinished,
    renumber_citations,
)
from chat.html.sanitize import sanitize_html
from chat.html.unfinished import OpenBlock

__all__ = [
    "MAX_QUOTE_CHARS",
    "Address",
    "BlockSplitter",
    "OpenBlock",
    "RenderBudget",
    "any_heavy",
    "arender",
    "check_url",
    "cite",
    "cite_label",
    "render_answer",
    "render_markdown",
    "render_policy",
    "render_unfinished",
    "renumber_citations",
    "sanitize_html",
    "source_url",
    "split_blocks",
]
