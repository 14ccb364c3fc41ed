"""Personal access tokens for the JSON API: shown once, kept as a SHA-256 digest, good until revoked.

A token stands for its person without a session, so it never opens a scratchpad (product 14).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from accounts import audit
from accounts.models import AccessToken, User

PREFIX = "lgb_"
NOTE_USE_EVERY = timedelta(minutes=1)


def create_token(user: User, name: str = "") -> tuple[AccessToken, str]:
    """Make a token; return its row and its plain text, which cannot be had again."""
    plaintext = PREFIX + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(user=user, name=name, digest=_digest(plaintext))
    audit.record(user, audit.TOKEN_CREATED)
    return token, plaintext


def revoke(token: AccessToken) -> None:
    """Delete a token; it opens nothing from now on."""
    audit.record(token.user, audit.TOKEN_REVOKED)
    token.delete()


def authenticate(header: str | None) -> User | None:
    """Return the active person whose token an ``Authorization`` header carries as ``Bearer lgb_…``, or None."""
    scheme, _, plaintext = (header or "").partition(" ")
    plaintext = plaintext.strip()
    if scheme.lower() != "bearer" or not plaintext.startswith(PREFIX):
        return None
    digest = _digest(plaintext)
    token = AccessToken.objects.select_related("user").filter(digest=digest, user__is_active=True).first()
    if token is None or not hmac.compare_digest(token.digest, digest):
        return None
    _note_use(token)
    return token.user


def _note_use(token: AccessToken) -> None:
    """Write at most once a minute: a busy script must not turn each read into a write."""
    now = timezone.now()
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTE_USE_EVERY)
    AccessToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def _digest(plaintext: str) -> str:
    return hashlib.sha256(plaintext.encode("utf-8", "replace")).hexdigest()
