"""Render answers before they are drawn: markdown takes long, and cards are drawn in the loop, in step with notices.

What was rendered is remembered by ``chat.html``, so that drawing the same answers afterwards costs little.
"""

from __future__ import annotations

from collections.abc import Sequence

from chat.cards import answer_card
from chat.html import arender, is_quick
from chat.log import TurnRows
from reasoning.events import AssistantMessage
from reasoning.policy import Visibility

SHORT_CHARS = 3_000
_NOBODY = Visibility(summary=False, trace=False, thinking="none")  # all that anybody sees differently costs little


async def rendered(rows: Sequence[TurnRows]) -> None:
    """Render the answers of these turns off the event loop, in the language of the caller."""
    if rows:
        await arender(_draw, rows)


async def rendered_at_end(row: TurnRows) -> None:
    """Render the answer of a turn that has just ended; of a short one nearly all was rendered, block by block."""
    if not is_quick((event["text"] for event in row.events if event["type"] == AssistantMessage.type), SHORT_CHARS):
        await rendered([row])


def _draw(rows: Sequence[TurnRows]) -> None:
    for row in rows:
        answer_card(row, _NOBODY, folded=True)
