"""What a user may see now: site flags, profile, permission and session combined into a ``Visibility``.

Nothing is cached: callers ask once per request and once per socket message (product 15). All functions are synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from accounts.preferences import Layer, reasoning_settings
from reasoning import visibility as core
from reasoning.visibility import SiteFlags, Viewer, Visibility

# Keys of the session.
SHOW_REASONING = "show_reasoning"
SHOW_TRACE = "show_trace"
SCRATCHPAD_UNTIL = "scratchpad_until"  # seconds since the epoch

Session = Mapping[str, Any]


def site_flags() -> SiteFlags:
    """Return the flags of this deployment. Spec 004 flags."""
    return SiteFlags(
        enabled=settings.REASONING_ENABLED,
        show_summary_default=settings.REASONING_SHOW_SUMMARY_DEFAULT,
        tool_trace_default=settings.REASONING_TOOL_TRACE_DEFAULT,
        scratchpad_enabled=settings.REASONING_SCRATCHPAD_ENABLED,
        scratchpad_admin_only=settings.SCRATCHPAD_ADMIN_ONLY,
        thinking_for_users=settings.REASONING_THINKING_FOR_USERS,
    )


def visibility(
    user: User, session: Session | None, *, conversation_layer: Layer | None = None, model_layer: Layer | None = None
) -> Visibility:
    """Decide what the user sees; a conversation's and a model's settings count too (spec 001 BR-003).

    ``session`` is None for a bearer token, which never sees a scratchpad.
    """
    session = session or {}
    show_reasoning, show_trace = session.get(SHOW_REASONING), session.get(SHOW_TRACE)
    scratchpad_until = session.get(SCRATCHPAD_UNTIL)
    joined = reasoning_settings(user, model_layer=model_layer, conversation_layer=conversation_layer)
    viewer = Viewer(
        is_administrator=user.is_administrator,
        show_reasoning=show_reasoning if isinstance(show_reasoning, bool) else user.show_reasoning,
        show_trace=show_trace if isinstance(show_trace, bool) else None,
        include_in_response=joined.include_in_response,
        scratchpad_on=isinstance(scratchpad_until, int) and scratchpad_until > timezone.now().timestamp(),
    )
    return core.visibility(site_flags(), viewer)


def reread(user: User, session_key: str | None) -> tuple[User, Session] | None:
    """Read a socket's user and session again; None if either has ended since the socket opened.

    As for a request, a session ends when the password changes.
    """
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    current = auth.get_user(request)
    return (current, dict(request.session.items())) if isinstance(current, User) and current.pk == user.pk else None
