"""Rebuild the search index of passages."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from chat.filings.index import ensure_index, rebuild_index


class Command(BaseCommand):
    """Rebuild the index, and its triggers where they are missing."""

    help = "Rebuild the search index of passages."

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_index()
        count = rebuild_index()
        self.stdout.write(_("%(count)d passages indexed.") % {"count": count})
