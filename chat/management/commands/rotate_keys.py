"""``manage.py rotate_keys``: encrypt every private payload again with the newest of ``CONTENT_KEYS``."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from chat.eventlog import maintenance


class Command(BaseCommand):
    """Encrypt stored private payloads with the newest key."""

    help = "Encrypt every private payload again with the newest key of CONTENT_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count, unreadable = maintenance.rotate_keys()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        if unreadable:
            raise CommandError(
                f"Encrypted {count} payloads with the newest key; {unreadable} more can't be decrypted: CONTENT_KEYS "
                "lacks the key that encrypted them. Append it and run again. If it is lost, the older keys that are "
                "listed can be removed nevertheless."
            )
        self.stdout.write(f"Encrypted {count} payloads with the newest key. Older keys can be removed now.")
