"""What the end of a session, a changed password or account, and the scratchpad's switch mean for conversations.

Open pages of the user are authorized again at once: ``chat.socket`` closes those that may no longer show anything.
What ends without these signals, such as a row that SQL deletes, is found by the regular check.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_out
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from accounts.access import scratchpad
from accounts.models import User
from chat.live.publish import publish_viewer_change

FIELDS = frozenset({"password", "is_active"})


def connect() -> None:
    # not user_logged_out: it is sent before the session is deleted
    post_delete.connect(on_session_deleted, sender=Session, dispatch_uid="chat.session_deleted")
    post_save.connect(on_user_saved, sender=User, dispatch_uid="chat.user_saved")
    post_delete.connect(on_user_deleted, sender=User, dispatch_uid="chat.user_deleted")
    scratchpad.switched.connect(on_scratchpad_switched, dispatch_uid="chat.scratchpad")
    user_logged_out.connect(on_sign_out, dispatch_uid="chat.temporary")


def on_session_deleted(instance: Session, **_more: Any) -> None:
    user_id = instance.get_decoded().get(SESSION_KEY, "")
    if user_id.isdecimal():  # else nobody was signed in
        publish_viewer_change(int(user_id))


def on_user_saved(instance: User, created: bool, update_fields: frozenset[str] | None, **_more: Any) -> None:
    # Every sign-in saves the user too, for ``last_login``: that changes nothing for open pages.
    if not created and (update_fields is None or FIELDS & update_fields):
        publish_viewer_change(instance.pk)


def on_user_deleted(instance: User, **_more: Any) -> None:
    publish_viewer_change(instance.pk)


def on_scratchpad_switched(user: User, **_more: Any) -> None:
    publish_viewer_change(user.pk)


def on_sign_out(user: User | None, **_more: Any) -> None:
    """Expire the temporary conversations of a user who signs out."""
    if user is not None:
        user.conversations.exclude(expires_at=None).update(expires_at=timezone.now())
