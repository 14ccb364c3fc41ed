"""A title that the model writes after the first answer of a conversation, unless ``MODEL_TITLES`` is off."""

from __future__ import annotations

import asyncio
import logging

from channels.db import database_sync_to_async
from django.conf import settings

from chat.conversations import model_choice
from chat.conversations.titles import title_from
from chat.live.publish import publish_changes
from chat.models import Conversation, Turn
from chat.turns.queue import StartedTurn
from chat.turns.requests import planning
from chat.turns.requests.side_request import ask_aside
from reasoning.prompt import TITLER

logger = logging.getLogger(__name__)
TIMEOUT_S = 60.0
MAX_READ_CHARS = 2_000  # of the question, and of the answer
MAX_OUTPUT_TOKENS = 1_000  # some models reason before they write six words
MAX_WORDS = 12
MAX_CHARS = 120  # of an answer; a longer one is no title


async def write_title(started: StartedTurn, answer: str) -> None:
    """Name the conversation after its first question and answer, in one request. Never over a title of its owner."""
    turn, chosen = started.turn, started.choice
    if not settings.MODEL_TITLES or turn.number > 1 or started.replaces or chosen.config.is_offline or not answer:
        return
    # A temporary conversation is never listed.
    present = Turn.objects.filter(pk=turn.pk, deleted_at=None).values("conversation")  # it may be deleted meanwhile
    unnamed = Conversation.objects.filter(pk__in=present, is_renamed=False, expires_at=None)
    if not await unnamed.aexists():
        return
    try:
        async with asyncio.timeout(TIMEOUT_S):
            provider = await model_choice.provider(chosen)
            target = planning.target_of(chosen, model=provider.model, identity=provider.identity)
            text = f"{started.question[:MAX_READ_CHARS]}\n\n---\n\n{answer[:MAX_READ_CHARS]}"
            said = await ask_aside(
                provider,
                target,
                TITLER,
                text,
                max_output_tokens=MAX_OUTPUT_TOKENS,
                max_chars=MAX_CHARS,
                thinking_format=chosen.thinking_format,
            )
    except Exception:  # the title stays what it was
        logger.warning("title not written", exc_info=True, extra={"turn": turn.public_id})
        return
    title = title_from(said.strip(" \n\"'“”„«»*#."))
    # Some models answer the question instead.
    if not title or len(said.split()) > MAX_WORDS or "\n" in said:
        return
    if await unnamed.aupdate(title=title):
        await database_sync_to_async(publish_changes)(turn.conversation_id, "settings")
