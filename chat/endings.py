"""How a stored turn ended, in words for its card, and whether its answer can be continued."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from chat import continuing
from chat.models import Turn
from chat.wording import shown
from reasoning.envelope import AnswerRecord


def ended_label(turn: Turn) -> str:
    """Return how long a stopped turn ran, never ``0 s``; empty for any other."""
    if turn.status != Turn.Status.ABORTED or turn.is_unasked or turn.ended_at is None:
        return ""
    seconds = round((turn.ended_at - turn.started_at).total_seconds())
    if seconds < 1:
        return _("Stopped after less than 1 s")
    return _("Stopped after %(seconds)s s") % {"seconds": seconds}


def error(turn: Turn) -> str:
    """Return why a turn failed; empty where it did not."""
    return shown(turn.error_message) if turn.status == Turn.Status.ERRORED else ""


def notice(turn: Turn, record: AnswerRecord) -> str:
    """Return what else there is to know of a turn that did not end as it should."""
    match turn.status:
        case Turn.Status.ABORTED if turn.is_unasked:
            return _("Saved, not asked yet.")
        case Turn.Status.INTERRUPTED:
            return _("Interrupted: the server restarted. What was written is kept.")
        case Turn.Status.ITERATION_CAPPED:
            return _("Stopped at the limit of steps for one answer.")
        case Turn.Status.COMPLETED if turn.error_code == "length":
            return _("The model reached the length that it may write; the answer is cut off here.")
        case Turn.Status.COMPLETED if turn.error_code == "content_filter":
            return _("The model’s service withheld the rest of this answer.")
        case Turn.Status.COMPLETED if not record.answer:
            return _("The model ended without an answer.")
    return ""


def continue_url(turn: Turn, record: AnswerRecord) -> str:
    """Return where to ask for the rest of an answer that was cut off; empty where it was not."""
    if not continuing.may_go_on(turn, record.answer):
        return ""
    return reverse("chat:continue", args=[turn.conversation_id, turn.pk])
