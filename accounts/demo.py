"""The demo users and their password: from the environment, else generated once and stored in ``.env``."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import Group, Permission
from django.contrib.auth.password_validation import password_changed

from accounts.models import User

USERS = {  # and what they may do
    "demo": {"is_staff": False, "is_superuser": False},
    "sam": {"is_staff": True, "is_superuser": False},
    "admin": {"is_staff": True, "is_superuser": True},
}
STAFF_PERMISSIONS = (
    "view_auditentry",
    *("add_filing", "delete_filing"),
    *("add_collection", "change_collection", "delete_collection"),  # the site's; nobody else's
    *("add_document", "delete_document"),
    *("add_sitesettings", "change_sitesettings"),
    "change_share",  # to revoke a link; nothing else of a link can be changed
    *("view_user", "add_user", "change_user"),  # within the limits of UserAdmin
    *("view_accesstoken", "delete_accesstoken"),
)


def demo_password() -> str:
    """Return ``DEMO_PASSWORD``; if it is empty, generate one and append it to ``.env``. Contracts, Commands."""
    if not settings.DEMO_PASSWORD:
        settings.DEMO_PASSWORD = secrets.token_urlsafe(9)
        path = settings.ENV_FILE
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        gap = "" if not before or before.endswith("\n") else "\n"
        # readable by its owner only, before a secret is written into it
        path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{gap}DEMO_PASSWORD={settings.DEMO_PASSWORD}\n")
    return str(settings.DEMO_PASSWORD)


def ensure_users() -> dict[str, User]:
    """Create the missing demo users and set everyone's password. Idempotent."""
    users = {}
    for username, flags in USERS.items():
        users[username], _created = User.objects.get_or_create(username=username, defaults=flags)
    users["sam"].groups.add(staff_group())
    # All share one hash: hashing or checking a password takes a good part of a second.
    hashes = {user.password for user in users.values()}
    password = demo_password()
    if len(hashes) != 1 or not check_password(password, hashes.pop()):
        encoded = make_password(password)
        for user in users.values():
            user.password = encoded
            user.save(update_fields=["password"])
            password_changed(password, user)
    return users


def logins() -> list[str]:
    """Return the demo users who sign in with ``DEMO_PASSWORD``: an administrator ``admin`` may be no part of a demo."""
    encoded = dict(User.objects.filter(username__in=USERS).values_list("username", "password"))
    right = {each for each in set(encoded.values()) if check_password(settings.DEMO_PASSWORD, each)}
    return [username for username in USERS if encoded.get(username) in right]


def staff_group() -> Group:
    """Return the group of those who run the site: they see public data, and manage models, filings, users and texts."""
    group, _created = Group.objects.get_or_create(name="Staff")
    in_chat = Permission.objects.filter(content_type__app_label__in=("chat", "filings"))
    group.permissions.add(
        *in_chat.filter(codename__startswith="view_"),
        *in_chat.filter(codename__endswith="_modelprofile"),
        *in_chat.filter(codename__endswith="_mcpserver"),
        *in_chat.filter(codename__endswith="_mcptool"),
        *Permission.objects.filter(codename__in=STAFF_PERMISSIONS),
    )
    return group
