"""The end of an answer for a page that saw all of it grow: what its final HTML has beyond, or other than, its blocks.

Most often that is the last blocks alone, for what was drawn block by block reads as the whole does. A block may end
otherwise: an answer is checked as a whole, and drawn in the language of who looks.
"""

from __future__ import annotations

from dataclasses import dataclass

from chat.cardviews import dom_id
from chat.html import elements
from chat.live import LiveTurn
from chat.textframes import last_blocks

MOST_CHANGED = 0.5  # of an answer; where it is more, all of it is sent


@dataclass(frozen=True, slots=True)
class Growth:
    """What brings a page from the open answer to the final one: a frame, then elements that go where others were."""

    frame: str
    changed: str


def growth(live: LiveTurn, html: str) -> Growth | None:
    """Return what a page with all of ``live`` lacks of its final HTML; None where it is better sent whole."""
    blocks = "".join(live.frozen)
    if html.startswith(blocks):
        return Growth(last_blocks(live.tail, html[len(blocks) :]), "")
    now, then = elements(blocks), elements(html)
    if now is None or then is None or len(then) < len(now):
        return None
    others = [(at, new) for at, (old, new) in enumerate(zip(now, then, strict=False), start=1) if old != new]
    changed = "".join(_in_place(live.public_id, at, new) for at, new in others)
    if len(changed) > MOST_CHANGED * len(html):
        return None
    return Growth(last_blocks(live.tail, "\n".join([*then[len(now) :], ""])), changed)


def _in_place(message_id: str, at: int, html: str) -> str:
    """Return an element of an answer, marked to go where the one at this place is."""
    place = f"outerHTML:#{dom_id(message_id, 'answer')}>:nth-child({at})"
    end = min(found for found in (html.find(" "), html.find(">")) if found > 0)
    return f'{html[:end]} hx-swap-oob="{place}"{html[end:]}'
