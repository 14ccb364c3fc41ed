"""``preview_request``: print the exact body of a conversation's next request, the omissions and the figures.

Only this command prints the body unredacted (product 10): run it where only administrators read. Nothing is sent.
"""

from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat.conversations.learned_facts import learned_facts
from chat.models import Conversation
from chat.providers.connections import close_clients
from chat.request_preview.plan import PreviewError, chosen_model, exact_json, plan_preview
from chat.validation import InvalidInputError


class Command(BaseCommand):
    """Print what the next request of a conversation contains."""

    help = "Print as JSON what the next request of a conversation will hold. Not redacted; nothing is sent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("conversation", help="the id, as in the address of its page")
        parser.add_argument("--model", help="the name of a model that may be chosen; else the one that answers next")

    def handle(self, *args: Any, **options: Any) -> None:
        learned_facts.refresh()
        name = options["conversation"]
        try:
            conversation = Conversation.objects.select_related("owner", "profile").get(pk=uuid.UUID(name))
        except (ValueError, Conversation.DoesNotExist):
            raise CommandError(_("No conversation has the id %(id)s.") % {"id": name}) from None

        @async_to_sync
        async def preview() -> dict[str, Any]:
            try:
                return exact_json(await plan_preview(conversation, await chosen_model(conversation, options["model"])))
            finally:
                # they belong to the event loop, which ends with this command
                await close_clients()

        try:
            form = preview()
        except (InvalidInputError, PreviewError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps(form, ensure_ascii=False, indent=2))
