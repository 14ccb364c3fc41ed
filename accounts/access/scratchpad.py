"""The admin-gated scratchpad: its switch, its gate and its panel (product 9, spec 004 scratchpad).

This is the only module that makes grants and reveals scratchpads. A grant needs all of these, at that moment: the user
is an administrator; ``REASONING_ENABLED``, ``REASONING_SCRATCHPAD_ENABLED`` and ``SCRATCHPAD_ADMIN_ONLY`` are true; the
user switched the scratchpad on in this session, and the switch hasn't expired.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import Signal
from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.access.visibility import SCRATCHPAD_UNTIL, Session, reread, visibility
from accounts.forms import ToggleForm
from accounts.models import AuditEntry, User
from accounts.views import HtmxHttpRequest, invalid_toggle, respond_to_toggle
from reasoning import scratchpad as core
from reasoning.scratchpad import Scratchpad, ScratchpadGrant

switched = Signal()  # ``user`` switched the scratchpad of a session on or off, and that is stored


@require_POST
def toggle(request: HtmxHttpRequest) -> HttpResponse:
    """Switch this session's scratchpad on or off. 404 for users who may not see it."""
    user = request.user
    if not isinstance(user, User) or not visibility(user, request.session).scratchpad_possible:
        # they needn't know that there is one
        raise Http404
    form = ToggleForm(request.POST)
    if not form.is_valid():
        return invalid_toggle(form)
    switch(user, request.session, **form.cleaned_data)
    return respond_to_toggle(request)


def switch(user: User, session: SessionBase, *, on: bool, conversation: uuid.UUID | None = None) -> None:
    """Switch this session's scratchpad on for ``SCRATCHPAD_TOGGLE_MINUTES``, or off, and record it in the audit."""
    if on:
        until = timezone.now() + timedelta(minutes=settings.SCRATCHPAD_TOGGLE_MINUTES)
        session[SCRATCHPAD_UNTIL] = int(until.timestamp())
    else:
        session.pop(SCRATCHPAD_UNTIL, None)
    AuditEntry.record(user, AuditEntry.Action.SCRATCHPAD_ON if on else AuditEntry.Action.SCRATCHPAD_OFF, conversation)
    session.save()  # not with the response only: open pages read it as soon as the event reaches them
    switched.send(sender=switch, user=user)


def grant_for(user: User, session: Session | None) -> ScratchpadGrant | None:
    """Return a grant if this user may see scratchpads in this session now. A bearer token has no session."""
    # product 14: a token has no session, so nobody switched anything on
    if session is None or not visibility(user, session).scratchpad:
        return None
    return ScratchpadGrant(core.GRANT_KEY)


def reveal(scratchpad: Scratchpad, user: User, session_key: str | None) -> str | None:
    """Return the text, at most about 200 tokens, or None if the user may not see it at this moment."""
    return _reveal(scratchpad, reread(user, session_key))


def _reveal(scratchpad: Scratchpad, current: tuple[User, Session] | None) -> str | None:
    """Reveal it to a user and session that were just read: rights, flags and the switch may have changed."""
    grant = grant_for(*current) if current else None
    return core.reveal(scratchpad, grant) if grant else None


def render_panel(
    scratchpad: Scratchpad, user: User, session_key: str | None, *, card_id: str, is_first: bool
) -> SafeString | None:
    """Return the panel of a card as a live frame, or None if the user may not see it at this moment."""
    current = reread(user, session_key)
    text = _reveal(scratchpad, current)
    if current is None or text is None:
        return None
    if is_first:
        left_s = int(current[1][SCRATCHPAD_UNTIL] - timezone.now().timestamp())
        context = {"card_id": card_id, "text": text, "left_s": left_s, "left": f"{left_s // 60}:{left_s % 60:02}"}
        return render_to_string("accounts/scratchpad.html", context)
    # only the text is replaced, so that a panel that the user closed stays closed
    return format_html('<pre id="{}-pad-text" hx-swap-oob="innerHTML">{}</pre>', card_id, text)


def render_elsewhere_notice(card_id: str) -> SafeString:
    """Return why no scratchpad is shown: it stays in the memory of the process that runs the turn."""
    text = _("The scratchpad of this answer is in another server process and can’t be shown here.")
    return format_html('<p id="{}-pad" class="hint" hx-swap-oob="outerHTML">{}</p>', card_id, text)
