"""Render answers before they are drawn: markdown takes long, and cards are drawn in the loop, in step with notices.

What was rendered is remembered by ``chat.html``, so that drawing the same answers afterwards costs little.
"""

from __future__ import annotations

from collections.abc import Sequence

from chat.cards import record_of
from chat.html import arender, render_answer
from chat.log import TurnRows


async def rendered(rows: Sequence[TurnRows]) -> None:
    """Render the answers of these turns off the event loop, in the language of the caller."""
    if rows:
        await arender(_render, rows)


def _render(rows: Sequence[TurnRows]) -> None:
    for row in rows:
        record = record_of(row)
        render_answer(record.answer, record.citations)
