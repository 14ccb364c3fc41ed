"""One person's settings and ``Visibility``, now: profile, session and site flags meet here.

Nothing is cached: callers ask once per request, per socket or per request to a provider (spec 001 BR-008, product 15).
All functions read the database and are synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User
from reasoning.policy import ReasoningSettings, SiteFlags, Viewer, Visibility
from reasoning.policy import visibility as decide

SHOW_REASONING = "show_reasoning"
SHOW_TRACE = "show_trace"
SCRATCHPAD_UNTIL = "scratchpad_until"  # seconds since the epoch

Session = Mapping[str, Any]


def site_flags() -> SiteFlags:
    """Return the deployment's flags as they stand. Spec 004 flags."""
    return SiteFlags(
        enabled=settings.REASONING_ENABLED,
        show_summary_default=settings.REASONING_SHOW_SUMMARY_DEFAULT,
        tool_trace_default=settings.REASONING_TOOL_TRACE_DEFAULT,
        scratchpad_enabled=settings.REASONING_SCRATCHPAD_ENABLED,
        scratchpad_admin_only=settings.SCRATCHPAD_ADMIN_ONLY,
        thinking_for_users=settings.REASONING_THINKING_FOR_USERS,
    )


def is_administrator(user: User) -> bool:
    """Return whether this person holds ``accounts.view_scratchpad``; superusers do. Product 9."""
    return user.has_perm("accounts.view_scratchpad")


def visibility(user: User, session: Session | None) -> Visibility:
    """Decide what this person sees. ``session`` is None for a bearer token, which never sees a scratchpad."""
    chosen = session or {}
    viewer = Viewer(
        is_administrator=is_administrator(user),
        show_reasoning=_choice(chosen.get(SHOW_REASONING), user.show_reasoning),
        show_trace=_choice(chosen.get(SHOW_TRACE), None),
        include_in_response=reasoning_settings(user).include_in_response,
        scratchpad_on=_is_scratchpad_on(chosen),
    )
    return decide(site_flags(), viewer)


def reasoning_settings(
    user: User,
    *,
    model_layer: Mapping[str, Any] | None = None,
    conversation_layer: Mapping[str, Any] | None = None,
) -> ReasoningSettings:
    """Join the layers, each a ``{"reasoning.x": value}``: built in, model, person, conversation. The last one set wins.

    A site with ``REASONING_ENABLED=false`` asks no model for reasoning (product 13). Raises SettingError for a stored
    value that is no longer allowed.
    """
    joined = ReasoningSettings.from_layers(model_layer, user.reasoning, conversation_layer)
    return replace(joined, enabled=joined.enabled and settings.REASONING_ENABLED)


def reread(user: User, session_key: str | None) -> tuple[User, Session] | None:
    """Read a socket's person and session again, or None where either has ended since it was opened.

    As for a request, a session ends with the password that it was opened with.
    """
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    found = User.objects.filter(pk=user.pk, is_active=True).first()
    if found is None or str(store.get(SESSION_KEY)) != str(found.pk) or not _is_current(found, store):
        return None
    return found, dict(store.items())


def _is_current(user: User, session: Session) -> bool:
    kept = str(session.get(HASH_SESSION_KEY, ""))
    valid = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(kept, each) for each in valid)


def _is_scratchpad_on(session: Session) -> bool:
    until = session.get(SCRATCHPAD_UNTIL)
    return isinstance(until, int) and until > timezone.now().timestamp()


def _choice(chosen: Any, default: bool | None) -> bool | None:
    return chosen if isinstance(chosen, bool) else default
