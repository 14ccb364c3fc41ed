"""What a person thinks of an answer: good or poor, why, and a note. One opinion a turn; taking it back deletes it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from chat.cards.view_models import FeedbackView
from chat.models import Feedback, Turn

NOTE_CHARS = 1000
# The stored value and its label.
REASONS: Mapping[bool, Mapping[str, str]] = {
    True: {
        "correct": gettext_noop("Correct"),
        "sourced": gettext_noop("Well sourced"),
        "clear": gettext_noop("Clear"),
    },
    False: {
        "incorrect": gettext_noop("Not correct"),
        "unsupported": gettext_noop("Sources don’t support it"),
        "incomplete": gettext_noop("Something is missing"),
        "unclear": gettext_noop("Hard to follow"),
        "other": gettext_noop("Something else"),
    },
}


def give(turn: Turn, *, is_good: bool) -> None:
    """Say that an answer is good, or poor; the same again takes it back, the other replaces it with its reason."""
    deleted, _rows = Feedback.objects.filter(turn=turn, is_good=is_good).delete()
    if not deleted:
        Feedback.objects.update_or_create(turn=turn, defaults={"is_good": is_good, "reason": "", "note": ""})


def explain(turn: Turn, *, reason: str, note: str) -> None:
    """Add why to what was said. A reason that is not offered counts as none."""
    given = Feedback.objects.filter(turn=turn).first()
    if given is None:
        return
    given.reason = reason if reason in REASONS[given.is_good] else ""
    given.note = note.replace("\x00", "").strip()[:NOTE_CHARS]
    given.save(update_fields=["reason", "note", "created_at"])


def feedback_view(turn: Turn) -> FeedbackView:
    """Return what a card shows. A turn that was not read with its feedback has just ended, and has none."""
    was_read = Turn._meta.get_field("feedback").is_cached(turn)
    given: Feedback | None = getattr(turn, "feedback", None) if was_read else None
    verdict = "" if given is None else "good" if given.is_good else "poor"
    labels = {"good": _("Good answer"), "poor": _("Bad answer")}
    verdicts = tuple((value, label, value == verdict) for value, label in labels.items())
    if given is None:
        return FeedbackView(turn.public_id, verdicts)
    reasons = tuple((value, _(words), value == given.reason) for value, words in REASONS[given.is_good].items())
    return FeedbackView(turn.public_id, verdicts, verdict, reasons, given.note)
