"""The gate of the scratchpad: the only maker of grants, and the only place that opens one.

A grant is made where all five conditions of product 9 hold at that moment: the person is an administrator,
``REASONING_ENABLED``, ``REASONING_SCRATCHPAD_ENABLED``, ``SCRATCHPAD_ADMIN_ONLY``, and their own switch is on in this
session and has not run out. Whoever keeps a socket open asks again before each send.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone

from accounts import audit
from accounts.models import User
from accounts.preferences import SCRATCHPAD_UNTIL, Session, visibility
from reasoning import scratchpad as core
from reasoning.scratchpad import Scratchpad, ScratchpadGrant


def grant_for(user: User, session: Session | None) -> ScratchpadGrant | None:
    """Return a grant where this person may see scratchpads in this session now, else None."""
    if session is None or not visibility(user, session).scratchpad:
        return None
    return ScratchpadGrant(core.GRANT_KEY)


def reveal(scratchpad: Scratchpad, grant: ScratchpadGrant) -> str:
    """Return the text for the one panel that shows it, at most about 200 tokens. Spec 004 scratchpad."""
    return core.reveal(scratchpad, grant)


def switch(user: User, session: SessionBase, *, on: bool, conversation: uuid.UUID | None = None) -> None:
    """Turn this session's switch, for ``SCRATCHPAD_TOGGLE_MINUTES`` when on, and put it into the audit."""
    if on:
        until = timezone.now() + timedelta(minutes=settings.SCRATCHPAD_TOGGLE_MINUTES)
        session[SCRATCHPAD_UNTIL] = int(until.timestamp())
    else:
        session.pop(SCRATCHPAD_UNTIL, None)
    audit.record(user, audit.SCRATCHPAD_ON if on else audit.SCRATCHPAD_OFF, conversation)
