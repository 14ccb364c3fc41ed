"""``manage.py rotate_keys``: seal everything again under the newest of ``CONTENT_KEYS``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat import log


class Command(BaseCommand):
    """After this the older keys can go."""

    help = "Seal every sealed half again under the newest key of CONTENT_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Sealed {log.rotate_keys()} halves under the newest key. Older keys can be removed now.")
