"""What an answer and its steps cost, in words: tokens and time."""

from __future__ import annotations

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.models import Turn
from reasoning.envelope import AnswerRecord
from reasoning.policy import Visibility


def duration_label(duration_ms: float) -> str:
    """Return ``412 ms``, or ``1.2 s``."""
    if duration_ms < 1000:
        return _("%(count)s ms") % {"count": round(duration_ms)}
    return _("%(count)s s") % {"count": number_format(duration_ms / 1000, decimal_pos=1)}


def usage_label(turn: Turn, record: AnswerRecord, sees: Visibility) -> str:
    """Return ``812 in · 340 think · 410 out · 6.1 s``; without what was not reported. Nothing was asked: empty."""
    if turn.is_unasked:
        return ""
    lasted_ms = (turn.ended_at - turn.started_at).total_seconds() * 1000 if turn.ended_at else None
    parts = (_tokens(record, sees), duration_label(lasted_ms) if lasted_ms is not None else "")
    return " · ".join(part for part in parts if part)


def _tokens(record: AnswerRecord, sees: Visibility) -> str:
    if record.input_tokens is None and record.output_tokens is None:
        return ""
    reasoning = record.reasoning_tokens or 0
    counts = {
        "in": record.input_tokens or 0,
        "think": reasoning or record.thinking_tokens,
        "out": max(0, (record.output_tokens or 0) - reasoning),
    }
    shape = _("%(in)s in · %(think)s think · %(out)s out") if sees.reasoning_possible else _("%(in)s in · %(out)s out")
    return shape % counts
