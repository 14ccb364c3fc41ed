"""``manage.py rerender [CONVERSATION…]``: render stored answers and redact stored traces again after a rule changed."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override

from chat import eventlog
from chat.cards import rendering
from chat.conversations import model_choice
from chat.eventlog import maintenance
from chat.models import Conversation, StoredCard, Turn
from chat.turns.requests import planning


class Command(BaseCommand):
    """Bring what is stored with ended turns up to today's rules."""

    help = "Render stored answers, redact stored traces and count the context again; of all conversations, or of some."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("conversations", nargs="*", type=uuid.UUID, metavar="CONVERSATION")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = set(options["conversations"])
        found = Conversation.all_objects.filter(pk__in=wanted) if wanted else Conversation.all_objects.all()
        ids = list(found.values_list("pk", flat=True))
        if unknown := wanted - set(ids):
            raise CommandError(f"No such conversation: {', '.join(map(str, unknown))}")
        answers = steps = 0
        for conversation_id in ids:
            ended = Turn.objects.filter(conversation=conversation_id).exclude(status=Turn.Status.RUNNING)
            for turn in ended.order_by("number").iterator():
                steps += maintenance.redact_traces(turn)
                if turn.deleted_at is None:  # of a deleted one the answer may be purged
                    render_again(turn)
                    answers += 1
            newest = ended.filter(is_active=True).select_related("stored_card").order_by("-number").first()
            if newest is not None:
                conversation = Conversation.all_objects.select_related("owner", "profile").get(pk=conversation_id)
                choice = model_choice.chosen_model(conversation)
                with suppress(InvalidToken):  # a key is lost, as after a restore without it
                    # counted here, so that no page view has to decrypt and plan
                    planning.context_size(conversation, choice, newest=newest, is_running=False)
        self.stdout.write(f"{answers} answers rendered, {steps} trace steps redacted.")


def render_again(turn: Turn) -> None:
    """Render an answer in each language that it is stored in, or in the site's; forget the size of its context."""
    stored = StoredCard.objects.filter(turn=turn).first()
    rows = eventlog.turn_record(turn)
    turn.stored_card = StoredCard(turn=turn)
    for language in (stored.answer_html if stored else None) or [settings.LANGUAGE_CODE]:
        # citations and labels inside an answer are translated
        with override(language):
            rendering.load([rows], again=True)
