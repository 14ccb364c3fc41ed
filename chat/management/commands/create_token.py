"""``manage.py create_token USER``: print a personal access token, once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.access.tokens import create_token
from accounts.models import User


class Command(BaseCommand):
    """Create a token for the JSON API. Only its digest is stored."""

    help = "Print a personal access token for USER. It cannot be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="a user name")
        parser.add_argument("--name", default="", help="what the token is for")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {options['user']!r}.")
        # cut to the length of the column
        _token, plaintext = create_token(user, options["name"][:100])
        self.stdout.write(plaintext)
