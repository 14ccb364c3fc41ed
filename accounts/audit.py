"""The append-only audit trail of scratchpad switches, access tokens and shared links. Never any content."""

from __future__ import annotations

import uuid

from django.utils.translation import gettext_lazy as _

from accounts.models import AuditEntry, User

SCRATCHPAD_ON = "scratchpad_on"
SCRATCHPAD_OFF = "scratchpad_off"
TOKEN_CREATED = "token_created"  # noqa: S105 - an action's name
TOKEN_REVOKED = "token_revoked"  # noqa: S105 - an action's name
SHARE_CREATED = "share_created"
SHARE_REVOKED = "share_revoked"

ACTION_LABELS = {
    SCRATCHPAD_ON: _("scratchpad switched on"),
    SCRATCHPAD_OFF: _("scratchpad switched off"),
    TOKEN_CREATED: _("access token made"),
    TOKEN_REVOKED: _("access token revoked"),
    SHARE_CREATED: _("link made"),
    SHARE_REVOKED: _("link revoked"),
}


def record(user: User, action: str, conversation: uuid.UUID | None = None) -> AuditEntry:
    """Add one entry: user, action, time and, where it applies, conversation. Spec 004 scratchpad."""
    return AuditEntry.objects.create(user=user, action=action, conversation=conversation)
