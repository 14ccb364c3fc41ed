"""One person's settings and ``Visibility``, now: profile, session and site flags meet here.

Nothing is cached: callers ask once per request, per socket or per request to a provider (spec 001 BR-008, product 15).
All functions read the database and are synchronous.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Permission
from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User
from accounts.prepared import Given, Prepared
from reasoning.policy import ReasoningSettings, SiteFlags, Viewer, Visibility
from reasoning.policy import visibility as decide

SHOW_REASONING = "show_reasoning"
SHOW_TRACE = "show_trace"
SCRATCHPAD_UNTIL = "scratchpad_until"  # seconds since the epoch

_DECIDES = ("password", "is_superuser", "show_reasoning", "reasoning")
_OWN_BACKEND = "django.contrib.auth.backends.ModelBackend"

_PERSON = Prepared(lambda: User.objects.filter(pk=Given("person", BigIntegerField()), is_active=True))

Session = Mapping[str, Any]
Layer = Mapping[str, Any]  # ``{"reasoning.x": value}``
LayerName = Literal["site", "model", "user", "conversation"]


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
    known: bool | None = getattr(user, "holds_view_scratchpad", None)  # read with the person, see ``reread``
    return user.has_perm("accounts.view_scratchpad") if known is None else known or user.is_superuser


def visibility(
    user: User, session: Session | None, *, conversation_layer: Layer | None = None, model_layer: Layer | None = None
) -> Visibility:
    """Decide what this person sees, in a conversation by what is set there too (spec 001 BR-003).

    ``session`` is None for a bearer token, which never sees a scratchpad.
    """
    chosen = session or {}
    joined = reasoning_settings(user, model_layer=model_layer, conversation_layer=conversation_layer)
    viewer = Viewer(
        is_administrator=is_administrator(user),
        show_reasoning=_choice(chosen.get(SHOW_REASONING), user.show_reasoning),
        show_trace=_choice(chosen.get(SHOW_TRACE), None),
        include_in_response=joined.include_in_response,
        scratchpad_on=_is_scratchpad_on(chosen),
    )
    return decide(site_flags(), viewer)


def layers(
    user: User, *, model_layer: Layer | None = None, conversation_layer: Layer | None = None
) -> dict[LayerName, Layer]:
    """Return the layers by name, the strongest last; each holds only what was set there."""
    return {
        "site": settings.REASONING_DEFAULTS,
        "model": model_layer or {},
        "user": user.reasoning or {},
        "conversation": conversation_layer or {},
    }


def reasoning_settings(
    user: User, *, model_layer: Layer | None = None, conversation_layer: Layer | None = None
) -> ReasoningSettings:
    """Join the layers: built in, site, model, person, conversation. The last one that was set wins.

    A site with ``REASONING_ENABLED=false`` asks no model for reasoning (product 13). Raises SettingError for a stored
    value that is no longer allowed.
    """
    found = layers(user, model_layer=model_layer, conversation_layer=conversation_layer)
    joined = ReasoningSettings.from_layers(*found.values())
    return replace(joined, enabled=joined.enabled and settings.REASONING_ENABLED)


def reread(user: User, session_key: str | None) -> tuple[User, Session] | None:
    """Read a socket's person and session again, or None where either has ended since it was opened.

    As for a request, a session ends with the password that it was opened with.
    """
    return _with_session(_with_permission(User.objects.filter(pk=user.pk, is_active=True)).first(), session_key)


def is_signed_in(user: User, session_key: str | None) -> bool:
    """Say whether this person is there and the session is theirs; what they may see is not asked."""
    return _with_session(_PERSON.first(person=user.pk), session_key) is not None


def _with_session(found: User | None, session_key: str | None) -> tuple[User, Session] | None:
    store = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    if found is None or str(store.get(SESSION_KEY)) != str(found.pk) or not _is_current(found, store):
        return None
    return found, dict(store.items())


def session_marks(keys: Collection[str]) -> dict[str | None, str]:
    """Return what these sessions hold, as it is stored; one that has ended is missing."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    found = store.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return dict(found.values_list("session_key", "session_data"))


def person_marks(ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return of these people what may decide what they see, with the permission; who is gone is missing.

    Where another backend decides on permissions, a mark is like no other: ask again.
    """
    found = _with_permission(User.objects.filter(pk__in=ids, is_active=True))
    is_known = "holds_view_scratchpad" in found.query.annotations
    rows = found.values_list("pk", *_DECIDES, *found.query.annotations)
    return {row[0]: row if is_known else (object(),) for row in rows}


def _with_permission(people: QuerySet[User]) -> QuerySet[User]:
    """Read with a person what would take two queries more; another backend may know more, so there it is asked."""
    if settings.AUTHENTICATION_BACKENDS != [_OWN_BACKEND]:
        return people
    named = Permission.objects.filter(codename="view_scratchpad", content_type__app_label="accounts")
    held = named.filter(Q(user=OuterRef("pk")) | Q(group__user=OuterRef("pk")))
    return people.annotate(holds_view_scratchpad=Exists(held))


def _is_current(user: User, session: Session) -> bool:
    kept = str(session.get(HASH_SESSION_KEY, ""))
    valid = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(kept, each) for each in valid)


def _is_scratchpad_on(session: Session) -> bool:
    until = session.get(SCRATCHPAD_UNTIL)
    return isinstance(until, int) and until > timezone.now().timestamp()


def _choice(chosen: Any, default: bool | None) -> bool | None:
    return chosen if isinstance(chosen, bool) else default
