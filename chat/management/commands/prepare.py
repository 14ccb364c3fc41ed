"""``manage.py prepare``: migrate, and fill a new database so that somebody can sign in and ask. Safe to run twice."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

from accounts.models import User
from chat.filings.ingest import load_demo

LOCK = 0x6C656769626C65  # "legible": a number that no other program is likely to lock in this database


class Command(BaseCommand):
    """What each start of the server does first."""

    help = (
        "Migrate. With --demo also load the demo; otherwise, where there is no user yet, create an administrator, "
        "print the password once, and load the demo filings."
    )

    requires_system_checks = ()  # `check` runs them; they would double the time of a start

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="create the demo people and one answered question")

    def handle(self, *args: Any, **options: Any) -> None:
        with one_at_a_time():
            self.prepare(with_demo=options["demo"])

    def prepare(self, *, with_demo: bool) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        if with_demo:
            call_command("seed_demo", verbosity=0)
        elif not User.objects.exists():
            load_demo()
            password = secrets.token_urlsafe(12)
            User.objects.create_superuser("admin", password=password)
            self.stdout.write(
                f"Sign in as admin with the password {password} (shown only now; Settings changes it). "
                "Three filings of invented companies are loaded to try it; staff delete them in the admin."
            )


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process prepares the same PostgreSQL database, and keep others waiting.

    Django doesn't lock: of two processes that start at once, one would fail because a table exists already. On SQLite
    ``config.serve`` has locked the file. PostgreSQL releases the lock if this process ends early.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
