"""What the server says once it listens: where, who may sign in, and how to ask a real model."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from accounts.demo import PEOPLE
from accounts.models import User

_ANYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - compared with, not bound to


def greeting(host: str, port: int, logins: Sequence[str]) -> str:
    """Return a few lines for the terminal, each ending in a newline."""
    shown = "127.0.0.1" if host in _ANYWHERE else f"[{host}]" if ":" in host else host
    lines = [f"Legible is at http://{shown}:{port}/"]
    if logins:
        lines.append(f"Sign in as {', '.join(logins)} with the password {settings.DEMO_PASSWORD}")
    if settings.SESSION_COOKIE_SECURE:
        lines.append("Other machines sign in over https:// only: put a proxy that ends TLS in front")
    return "".join(f"{line}\n" for line in [*lines, _model()])


def demo_logins() -> tuple[str, ...]:
    """Return the demo people that there are; none where the site has no demo password. Reads the database."""
    names = [person.username for person in PEOPLE]
    present = set(User.objects.filter(username__in=names).values_list("username", flat=True))
    return tuple(name for name in names if name in present) if settings.DEMO_PASSWORD else ()


def _model() -> str:
    if settings.OPENAI_BASE_URL is None:
        return (
            "The offline analyst answers. For a real model put one line into .env and start again: "
            "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"
        )
    return f"Answers come from {settings.OPENAI_MODEL or 'the first model'} at {settings.OPENAI_BASE_URL}"
