"""``manage.py rotate_keys``: encrypt every private payload again with the newest of ``CONTENT_KEYS``."""

from __future__ import annotations

from typing import Any

from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from chat.eventlog import maintenance


class Command(BaseCommand):
    """Encrypt stored private payloads with the newest key."""

    help = "Encrypt every private payload again with the newest key of CONTENT_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = maintenance.rotate_keys()
        except InvalidToken as error:
            words = (
                "A payload can't be decrypted: CONTENT_KEYS lacks the key that encrypted it. Append it and run again."
            )
            raise CommandError(words) from error
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Encrypted {count} payloads with the newest key. Older keys can be removed now.")
