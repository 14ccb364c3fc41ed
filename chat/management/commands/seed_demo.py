"""``manage.py seed_demo``: the demo people, the bundled corpus and one finished conversation. Safe to run twice."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.test.utils import override_settings

from accounts.demo import ensure_users
from accounts.models import User
from chat.conversations import actions
from chat.filings.ingest import load_demo
from chat.models import Conversation, Turn
from chat.turns.manager import turn_manager
from chat.validation import Message

QUESTION = "What did Northwind Tidal Power say about its turbines at Skerry Sound?"
# The demo never asks a real model, whatever .env connects: seeding needs no key and no network.
OFFLINE = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None, "OPENAI_MODEL": None}


class Command(BaseCommand):
    """Create the demo users, filings and conversation."""

    help = "Make the demo people, load the bundled filings, and hold one conversation with the offline analyst."

    def handle(self, *args: Any, **options: Any) -> None:
        people = ensure_users()
        load_demo()
        if not people["demo"].conversations.exists():
            make_conversation(people["demo"])
        if options["verbosity"]:
            self.stdout.write(f"Demo people: {', '.join(people)}; password: {settings.DEMO_PASSWORD}")


def make_conversation(owner: User) -> Conversation:
    """Ask one question and wait for the answer: a real turn by the offline analyst."""
    conversation = actions.start(owner)

    async def ask() -> None:
        accepted = await turn_manager.submit(conversation.pk, Message(QUESTION))
        if accepted.turn_id is not None:
            await turn_manager.wait_until_finished(conversation.pk, accepted.turn_id)

    logging.disable(logging.INFO)  # log lines would hide what `make run` prints
    try:
        with override_settings(**OFFLINE):
            asyncio.run(ask())
    finally:
        logging.disable(logging.NOTSET)
    status = conversation.turns.get().status
    if status != Turn.Status.COMPLETED:
        conversation.delete()  # the next run tries again
        raise CommandError(f"The demo conversation did not finish: {status}.")
    return conversation
