"""The demo people, and their password: from the environment, else made once and kept in ``.env``."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import Group, Permission

from accounts.models import User


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """One of them, and what makes them different."""

    username: str
    is_staff: bool = False
    is_superuser: bool = False


PEOPLE = (
    DemoPerson("demo"),
    DemoPerson("sam", is_staff=True),
    DemoPerson("admin", is_staff=True, is_superuser=True),
)
STAFF_RIGHTS = (
    "view_auditentry",
    *("add_filing", "delete_filing"),
    "change_share",  # to end a link: nothing else of one can be changed
    *("view_user", "add_user", "change_user"),  # within the bounds of PersonAdmin
    *("view_accesstoken", "delete_accesstoken"),
)


def demo_password() -> str:
    """Return ``DEMO_PASSWORD``; where there is none, make one and add it to ``.env``. Contracts, Commands."""
    if not settings.DEMO_PASSWORD:
        settings.DEMO_PASSWORD = secrets.token_urlsafe(9)
        _keep(settings.DEMO_PASSWORD)
    return str(settings.DEMO_PASSWORD)


def ensure_people() -> dict[str, User]:
    """Make the demo people that are missing and give all of them the password. Safe to run twice.

    They share one hash: it is one password, and each hash or check of one takes a good part of a second.
    """
    people = {person.username: _ensure(person) for person in PEOPLE}
    hashes = {user.password for user in people.values()}
    password = demo_password()
    if len(hashes) != 1 or not check_password(password, hashes.pop()):
        _give(password, list(people.values()))
    return people


def _ensure(person: DemoPerson) -> User:
    user, _created = User.objects.get_or_create(
        username=person.username, defaults={"is_staff": person.is_staff, "is_superuser": person.is_superuser}
    )
    if person.is_staff and not person.is_superuser:
        user.groups.add(staff_group())
    return user


def staff_group() -> Group:
    """Return the group of people who look after the site: they see public halves, run models, filings and people."""
    group, _created = Group.objects.get_or_create(name="Staff")
    seen = Permission.objects.filter(content_type__app_label="chat", codename__startswith="view_")
    models = Permission.objects.filter(content_type__app_label="chat", codename__endswith="_modelprofile")
    group.permissions.add(*seen, *models, *Permission.objects.filter(codename__in=STAFF_RIGHTS))
    return group


def _give(password: str, people: list[User]) -> None:
    encoded = make_password(password)
    for user in people:
        user.password = encoded
        user.save(update_fields=["password"])


def _keep(password: str) -> None:
    """Add a line at the end; what stands there already stays as it is."""
    path = settings.ENV_FILE
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    gap = "" if not before or before.endswith("\n") else "\n"
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{gap}DEMO_PASSWORD={password}\n")
