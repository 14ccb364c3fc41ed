"""Continue: whether the answer of a turn was cut off, so that its rest can be asked for. Product 41."""

from __future__ import annotations

from chat.models import Turn
from reasoning.envelope import AnswerRecord

_CUT_OFF = frozenset({Turn.Status.INTERRUPTED, Turn.Status.ABORTED, Turn.Status.ERRORED})


def can_continue(turn: Turn, record: AnswerRecord) -> bool:
    """Say whether the answer of a turn was cut off after some text or some steps."""
    if turn.status == Turn.Status.ITERATION_CAPPED:
        return True
    return bool(record.answer or record.trace) and (turn.status in _CUT_OFF or turn.error_code == "length")
