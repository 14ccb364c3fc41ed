"""``manage.py purge_thinking``: delete thinking older than ``THINKING_RETENTION_DAYS``. Run it from cron or a timer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from chat.eventlog import maintenance


class Command(BaseCommand):
    """Delete stored thinking that is older than the retention period."""

    help = "Delete thinking older than THINKING_RETENTION_DAYS; without that setting nothing is deleted."

    def handle(self, *args: Any, **options: Any) -> None:
        days = settings.THINKING_RETENTION_DAYS
        if days is None:
            self.stdout.write("THINKING_RETENTION_DAYS is not set: no thinking is deleted.")
            return
        count = maintenance.purge_thinking(timezone.now() - timedelta(days=days))
        self.stdout.write(f"Deleted the thinking of {count} events older than {days} days.")
