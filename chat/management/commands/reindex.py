"""Rebuild the search indexes, of passages and of conversations."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from chat.filings.index import ensure_index, rebuild_index
from chat.searchindex import ensure_talk_index, rebuild_talk_index


class Command(BaseCommand):
    """Rebuild the indexes, and their triggers where they are missing."""

    help = "Rebuild the search indexes of passages and of conversations."

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_index()
        count = rebuild_index()
        self.stdout.write(_("%(count)d passages indexed.") % {"count": count})
        ensure_talk_index()
        count = rebuild_talk_index()
        self.stdout.write(_("%(count)d questions and answers indexed.") % {"count": count})
