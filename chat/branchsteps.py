"""Where a turn stands among those asked in its place, as its card shows it: ``‹ 2/3 ›``."""

from __future__ import annotations

import uuid

from django.urls import reverse

from chat.cardviews import BranchStep, BranchView
from chat.log import TurnRows


def branch_view(rows: TurnRows) -> BranchView | None:
    """Return the place of a stored turn, or None where it is the only one."""
    if len(rows.siblings) < 2:
        return None
    at = rows.siblings.index(rows.turn.pk)
    around = (None, *rows.siblings, None)[at : at + 3]
    before, _itself, after = (_step_to(rows.turn.conversation_id, each) for each in around)
    return BranchView(at + 1, len(rows.siblings), before, after)


def _step_to(conversation_id: uuid.UUID, sibling: uuid.UUID | None) -> BranchStep | None:
    return BranchStep(sibling.hex, reverse("chat:select", args=[conversation_id, sibling])) if sibling else None
