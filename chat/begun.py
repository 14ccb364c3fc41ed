"""The card of an answer that has just begun: drawn once, for no turn, and filled in for each.

When many ask at once, all of them are shown the same empty card; only ids, number and time differ. Drawing it takes as
long as all that is drawn of a short answer later.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from functools import lru_cache

from django.template.defaultfilters import date
from django.template.loader import render_to_string
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from chat.cards import live_answer_card
from chat.live import LiveTurn
from reasoning.policy import Visibility

REMEMBERED = 100
_CHAT, _TURN = (uuid.UUID(fields=(part, 0, 0x4000, 0x80, 0, 0)) for part in (0xC4A7, 0x7094))
_NUMBER = 8_070_605_040
_AT = datetime(1971, 2, 3, 4, 56, 7, 89, tzinfo=UTC)


def begun_card(live: LiveTurn, sees: Visibility) -> SafeString | None:
    """Return the card of a running turn of which nothing but its status is known yet; None for any other."""
    has_more = live.answer_told or live.frozen or live.thinking_chars or live.thinking_chars_elsewhere or live.steps
    if has_more or live.thought_line or live.reads or live.elapsed_s:
        return None
    mould = _mould(live.model, str(live.status_text), sees, get_language())
    return format_html(mould, *_differing(live)) if mould else None


@lru_cache(maxsize=REMEMBERED)
def _mould(model: str, status_text: str, sees: Visibility, _language: str | None) -> str:
    """Return the card with a turn's values left open, to be formatted; nothing where their places are not sure."""
    nothing = _turn(model, status_text)
    stand_ins = _differing(nothing)
    anywhere = re.compile(f"({'|'.join(map(re.escape, stand_ins))})")
    if anywhere.search(f"{model} {status_text}"):
        return ""
    pieces = anywhere.split(render_to_string("chat/_card.html", {"card": live_answer_card(nothing, sees)}))
    return "".join(f"{{{stand_ins.index(piece)}}}" if at % 2 else _escaped(piece) for at, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _differing(live: LiveTurn) -> tuple[str, ...]:
    """Return what stands in the card of this turn alone, in a fixed order; what holds another of them before it."""
    at = (str(date(live.started_at, form)) for form in ("c", "H:i"))
    return (str(live.conversation_id), str(live.id), live.public_id, str(localize(live.number)), *at)


def _turn(model: str, status_text: str) -> LiveTurn:
    """Return a turn that stands for any other."""
    return LiveTurn(
        id=_TURN,
        conversation_id=_CHAT,
        owner_id=0,
        number=_NUMBER,
        question="",
        model=model,
        started_at=_AT,
        tell=lambda _notice: None,
        status_text=status_text,
    )
