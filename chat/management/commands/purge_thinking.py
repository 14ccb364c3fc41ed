"""``manage.py purge_thinking``: forget thinking older than ``THINKING_RETENTION_DAYS``. For cron or a timer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from chat import log


class Command(BaseCommand):
    """Keep no more than the site promises."""

    help = "Forget sealed thinking older than THINKING_RETENTION_DAYS; without that setting nothing is forgotten."

    def handle(self, *args: Any, **options: Any) -> None:
        days = settings.THINKING_RETENTION_DAYS
        if days is None:
            self.stdout.write("THINKING_RETENTION_DAYS is not set: all thinking is kept.")
            return
        count = log.purge_thinking(timezone.now() - timedelta(days=days))
        self.stdout.write(f"Forgot the thinking of {count} events older than {days} days.")
