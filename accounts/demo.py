"""The demo people, and their password: from the environment, else made once and kept in ``.env``."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.conf import settings

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


def demo_password() -> str:
    """Return ``DEMO_PASSWORD``; where there is none, make one and add it to ``.env``. Contracts, Commands."""
    if not settings.DEMO_PASSWORD:
        settings.DEMO_PASSWORD = secrets.token_urlsafe(9)
        _keep(settings.DEMO_PASSWORD)
    return str(settings.DEMO_PASSWORD)


def ensure_people() -> dict[str, User]:
    """Make the demo people that are missing and give all of them the password. Safe to run twice."""
    password = demo_password()
    return {person.username: _ensure(person, password) for person in PEOPLE}


def _ensure(person: DemoPerson, password: str) -> User:
    user, _created = User.objects.get_or_create(
        username=person.username, defaults={"is_staff": person.is_staff, "is_superuser": person.is_superuser}
    )
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    return user


def _keep(password: str) -> None:
    """Add a line at the end; what stands there already stays as it is."""
    path = settings.ENV_FILE
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    gap = "" if not before or before.endswith("\n") else "\n"
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{gap}DEMO_PASSWORD={password}\n")
