"""Render answers before they are drawn: markdown takes long, and cards are drawn in the loop, in step with notices.

What was rendered is remembered by ``chat.html``, so that drawing the same answers afterwards costs little.
"""

from __future__ import annotations

from collections.abc import Sequence

from chat.cards import answer_card
from chat.html import arender
from chat.log import TurnRows
from reasoning.policy import Visibility

_NOBODY = Visibility(summary=False, trace=False, thinking="none")  # all that anybody sees differently costs little


async def rendered(rows: Sequence[TurnRows]) -> None:
    """Render the answers of these turns off the event loop, in the language of the caller."""
    if rows:
        await arender(_draw, rows)


def _draw(rows: Sequence[TurnRows]) -> None:
    for row in rows:
        answer_card(row, _NOBODY, folded=True)
