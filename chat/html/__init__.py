"""Model text to safe HTML. Everything that a page shows of a model's words is rendered here."""

from __future__ import annotations

from chat.html.citations import cite_label
from chat.html.cost import RenderBudget
from chat.html.links import Address, check_url
from chat.html.markdown import BlockSplitter, split_blocks
from chat.html.render import arender, is_quick, render_answer, render_markdown, render_policy
from chat.html.sanitize import sanitize_html

__all__ = [
    "Address",
    "BlockSplitter",
    "RenderBudget",
    "arender",
    "check_url",
    "cite_label",
    "is_quick",
    "render_answer",
    "render_markdown",
    "render_policy",
    "sanitize_html",
    "split_blocks",
]
