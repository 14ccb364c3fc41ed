"""Rebuild the search indexes, of passages and of conversations."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from chat.conversations.search_index import INDEX as CONVERSATIONS
from chat.search.fts5 import PASSAGE_INDEXES


class Command(BaseCommand):
    """Rebuild the indexes, and their triggers where they are missing."""

    help = "Rebuild the search indexes of passages and of conversations."

    def handle(self, *args: Any, **options: Any) -> None:
        for indexes, line in (
            (PASSAGE_INDEXES, _("%(count)d passages indexed.")),
            ((CONVERSATIONS,), _("%(count)d questions and answers indexed.")),
        ):
            for index in indexes:
                index.ensure()
            self.stdout.write(line % {"count": sum(index.rebuild() for index in indexes)})
