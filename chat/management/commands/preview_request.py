"""``preview_request``: the exact body of a conversation's next request, what was left out and why, and the figures.

This command alone prints the exact body, unredacted (product 10): run it where only administrators read. Sends nothing.
"""

from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat import preview
from chat.forms import MessageRefused
from chat.models import Conversation
from chat.providers.openai_client import close_clients


class Command(BaseCommand):
    """See the module."""

    help = "Print as JSON what the next request of a conversation will hold. Not redacted; nothing is sent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("conversation", help="the id, as in the address of its page")
        parser.add_argument("--model", help="the name of a model that may be chosen; else the one that answers next")

    def handle(self, *args: Any, **options: Any) -> None:
        found = _conversation(options["conversation"])
        try:
            form = async_to_sync(_previewed)(found, options["model"])
        except (MessageRefused, preview.NoPreview) as none:
            raise CommandError(str(none)) from none
        self.stdout.write(json.dumps(form, ensure_ascii=False, indent=2))


def _conversation(name: str) -> Conversation:
    try:
        return Conversation.objects.select_related("owner", "profile").get(pk=uuid.UUID(name))
    except (ValueError, Conversation.DoesNotExist):
        raise CommandError(_("No conversation has the id %(id)s.") % {"id": name}) from None


async def _previewed(conversation: Conversation, model: str | None) -> dict[str, Any]:
    try:
        chosen = await preview.chosen_model(conversation, model)
        return preview.as_json(await preview.read(conversation, chosen))
    finally:
        await close_clients()
