"""What a user may see now: site flags, profile, permission and session combined into a ``Visibility``.

Nothing is cached: callers ask once per request and once per socket message (product 15). All functions are synchronous.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.models import Session as SessionRow
from django.utils import timezone
from django.utils.crypto import constant_time_compare

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
    user: User,
    session: Session | None,
    *,
    conversation_layer: Layer | None = None,
    model_layer: Layer | None = None,
    is_administrator: bool | None = None,
) -> Visibility:
    """Decide what the user sees; a conversation's and a model's settings count too (spec 001 BR-003).

    ``session`` is None for a bearer token, which never sees a scratchpad. ``is_administrator`` saves a query where it
    is known.
    """
    session = session or {}
    # types are checked below: an older version, or a script, may have stored something else
    show_reasoning, show_trace = session.get(SHOW_REASONING), session.get(SHOW_TRACE)
    scratchpad_until = session.get(SCRATCHPAD_UNTIL)
    joined = reasoning_settings(user, model_layer=model_layer, conversation_layer=conversation_layer)
    viewer = Viewer(
        is_administrator=user.is_administrator if is_administrator is None else is_administrator,
        is_staff=user.is_staff,
        show_reasoning=show_reasoning if isinstance(show_reasoning, bool) else user.show_reasoning,
        show_trace=show_trace if isinstance(show_trace, bool) else None,
        include_in_response=joined.include_in_response,
        scratchpad_on=isinstance(scratchpad_until, int) and scratchpad_until > timezone.now().timestamp(),
    )
    return core.visibility(site_flags(), viewer)


def read_sessions(keys: Collection[str]) -> dict[str, tuple[User, Session]]:
    """Read sessions with their users again, by key, in two queries; without those that have ended.

    As for a request, a session ends when the password of its user changes.
    """
    sessions = _decoded_sessions(keys)
    user_ids = {session[auth.SESSION_KEY] for session in sessions.values() if auth.SESSION_KEY in session}
    users = {str(user.pk): user for user in User.objects.filter(pk__in=user_ids, is_active=True)}
    return {
        key: (user, session)
        for key, session in sessions.items()
        if (user := users.get(session.get(auth.SESSION_KEY, ""))) and _fits_password(session, user)
    }


def reread(user: User, session_key: str | None) -> tuple[User, Session] | None:
    """Read a socket's user and session again; None if either has ended since the socket opened."""
    current = read_sessions([session_key]).get(session_key) if session_key else None
    return current if current and current[0].pk == user.pk else None


def has_session(user: User, session_key: str | None) -> bool:
    """Whether this is the session of a user who was read just now, and it has not ended. One query."""
    session = _decoded_sessions([session_key]).get(session_key) if session_key else None
    return (
        session is not None
        and session.get(auth.SESSION_KEY) == str(user.pk)
        and user.is_active
        and _fits_password(session, user)
    )


def _decoded_sessions(keys: Collection[str]) -> dict[str, Session]:
    rows = SessionRow.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {row.session_key: row.get_decoded() for row in rows}


def _fits_password(session: Session, user: User) -> bool:
    # As django.contrib.auth.get_user does, which reads one session and one user at a time.
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(session.get(auth.HASH_SESSION_KEY, ""), each) for each in hashes)
