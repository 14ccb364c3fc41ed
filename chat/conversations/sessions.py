"""Have the open pages of a user authorized again at once when a session, a password or an account ends.

``chat.socket`` closes those that may no longer show anything. What ends without these signals, such as a row that SQL
deletes, is found by the regular check.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete, post_save

from accounts.models import User
from chat.live.publish import publish_viewer_change

FIELDS = frozenset({"password", "is_active"})


def connect() -> None:
    # not user_logged_out: it is sent before the session is deleted
    post_delete.connect(on_session_deleted, sender=Session, dispatch_uid="chat.session_deleted")
    post_save.connect(on_user_saved, sender=User, dispatch_uid="chat.user_saved")
    post_delete.connect(on_user_deleted, sender=User, dispatch_uid="chat.user_deleted")


def on_session_deleted(instance: Session, **_more: Any) -> None:
    user_id = instance.get_decoded().get(SESSION_KEY, "")
    if user_id.isdecimal():  # else nobody was signed in
        publish_viewer_change(int(user_id))


def on_user_saved(instance: User, created: bool, update_fields: frozenset[str] | None, **_more: Any) -> None:
    if not created and (update_fields is None or FIELDS & update_fields):
        publish_viewer_change(instance.pk)


def on_user_deleted(instance: User, **_more: Any) -> None:
    publish_viewer_change(instance.pk)
