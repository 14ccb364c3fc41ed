"""``manage.py rotate_keys``: encrypt every private payload again with the newest of ``CONTENT_KEYS``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat.eventlog import maintenance


class Command(BaseCommand):
    """Encrypt stored private payloads with the newest key."""

    help = "Encrypt every private payload again with the newest key of CONTENT_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(
            f"Encrypted {maintenance.rotate_keys()} payloads with the newest key. Older keys can be removed now."
        )
