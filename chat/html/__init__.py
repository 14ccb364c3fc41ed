"""Model text to safe HTML. Everything a page shows of a model's words goes through here."""

from __future__ import annotations

from chat.html.blocks import BlockSplitter, split_blocks
from chat.html.links import Address, check_url
from chat.html.quotations import cite_label
from chat.html.render import arender, is_quick, render_answer, render_markdown
from chat.html.sanitize import sanitize_html
from chat.html.tree import elements

__all__ = [
    "Address",
    "BlockSplitter",
    "arender",
    "check_url",
    "cite_label",
    "elements",
    "is_quick",
    "render_answer",
    "render_markdown",
    "sanitize_html",
    "split_blocks",
]
