"""Rebuild the search indexes, of passages and of conversations."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from chat.conversations.search_index import INDEX as CONVERSATIONS
from chat.filings.search_index import INDEX as PASSAGES


class Command(BaseCommand):
    """Rebuild the indexes, and their triggers where they are missing."""

    help = "Rebuild the search indexes of passages and of conversations."

    def handle(self, *args: Any, **options: Any) -> None:
        for index, line in (
            (PASSAGES, _("%(count)d passages indexed.")),
            (CONVERSATIONS, _("%(count)d questions and answers indexed.")),
        ):
            index.ensure()
            self.stdout.write(line % {"count": index.rebuild()})
