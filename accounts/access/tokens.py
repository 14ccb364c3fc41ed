"""Personal access tokens for the JSON API: shown once, stored as a SHA-256 digest, valid until revoked or the
user's password changes.

A token authenticates its user without a session, so it never reveals a scratchpad (product 14).
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import timedelta

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import AccessToken, AuditEntry, User

# So that scanners of repositories, and our own redaction, recognise a token.
PREFIX = "lgb_"
LAST_USED_RESOLUTION = timedelta(minutes=1)
MAX_TOKENS = 50  # of a user: their page lists all of them


def create_token(user: User, name: str = "") -> tuple[AccessToken, str]:
    """Create a token; return its row and its plain text, which is not stored."""
    plaintext = PREFIX + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(user=user, name=name, digest=digest_of(plaintext))
    AuditEntry.record(user, AuditEntry.Action.TOKEN_CREATED)
    return token, plaintext


def revoke(token: AccessToken, *, by: User | None = None) -> None:
    """Delete a token. ``by``: who does so, where it isn't its user."""
    AuditEntry.record(by or token.user, AuditEntry.Action.TOKEN_REVOKED)
    token.delete()


class TokensEndWithPassword:
    """End a user's tokens when their password is changed: on the page, in the admin, and by ``changepassword``.

    One of ``AUTH_PASSWORD_VALIDATORS``: Django calls them wherever a password is changed.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Accept every password."""

    def get_help_text(self) -> str:
        return gettext("A new password ends all sessions and access tokens of the user.")

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is not None:
            revoke_all(user)


def revoke_all(user: User) -> None:
    """Delete all tokens of a user whose password was changed."""
    # one entry without the names of tokens: who changed the password is unknown here
    if user.access_tokens.all().delete()[0]:
        AuditEntry.record(user, AuditEntry.Action.TOKENS_ENDED)


def authenticate(header: str | None) -> User | None:
    """Return the active user whose token an ``Authorization: Bearer lgb_…`` header carries, or None."""
    # a scheme is compared without case (RFC 9110); spaces after it are allowed
    scheme, _, plaintext = (header or "").partition(" ")
    plaintext = plaintext.strip()
    if scheme.lower() != "bearer" or not plaintext.startswith(PREFIX):
        return None
    token = AccessToken.objects.select_related("user").filter(digest=digest_of(plaintext), user__is_active=True).first()
    if token is None:
        return None
    # At most one write a minute, asked here: SQLite locks for an UPDATE also where no row fits. Where nothing can be
    # written, as on a full disk, reading still works.
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - LAST_USED_RESOLUTION:
        with suppress(OperationalError), transaction.atomic():
            AccessToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token.user


def digest_of(plaintext: str) -> str:
    """Return what is stored of a token."""
    # unsalted: 256 random bits can't be guessed from their hash
    return hashlib.sha256(plaintext.encode("utf-8", "replace")).hexdigest()
