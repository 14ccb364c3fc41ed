"""Have the model summarise older history, so that the next request fits.

A summary is accepted only if it has text, ended normally and really shrinks the request; otherwise history stays as it
was. The summariser gets no tools and no reasoning (replay 2.8).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import aclosing

from channels.db import database_sync_to_async

from chat import eventlog
from chat.conversations import model_choice
from chat.models import Conversation, Turn
from chat.providers.base import Provider, ProviderError, ProviderRequest
from chat.turns import planning
from reasoning.deltas import Channel, Delta, RawEnd, RawFields
from reasoning.events import Compaction, UserMessage
from reasoning.prompt import SUMMARISER
from reasoning.replay.compaction import choose_border, is_worth_it, transcript
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.settings import ReasoningSettings
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.output import BLOCK_BREAK

logger = logging.getLogger(__name__)
MAX_SUMMARY_CHARS = 12_000


async def compact(
    turn: Turn, chosen: model_choice.ModelChoice, provider: Provider, plan: EgressPlan, *, is_overflow: bool = False
) -> bool:
    """Summarise what lies before the running turn; say whether history is shorter now. Never raises ProviderError."""
    if chosen.config.is_offline:
        return False  # it reads the question alone
    target = planning.target_of(chosen, model=provider.model, identity=provider.identity)
    events = await database_sync_to_async(eventlog.history)(turn.conversation_id)
    border = choose_border(events, target, is_overflow=is_overflow)
    if border is None:
        return False
    summary = await _summary(provider, target, transcript(events, border, target))
    compaction = Compaction(to_seq=border, summary=summary, seq=events[-1].seq + 1, turn=turn.public_id)
    is_accepted = bool(summary) and await database_sync_to_async(_accept)(turn, chosen, target, compaction, plan)
    logger.info("compaction", extra={"turn": turn.public_id, "to_seq": border, "accepted": is_accepted})
    return is_accepted


def _accept(
    turn: Turn, chosen: model_choice.ModelChoice, target: RequestTarget, compaction: Compaction, before: EgressPlan
) -> bool:
    """Store a summary if the request is shorter with it."""
    conversation = Conversation.all_objects.select_related("owner").get(pk=turn.conversation_id)
    after = planning.plan_next(conversation, chosen, target, and_then=(compaction,))
    if not is_worth_it(before, after):
        return False
    eventlog.append(turn, [compaction])
    return True


async def _summary(provider: Provider, target: RequestTarget, text: str) -> str:
    """Return the model's summary; empty where it gave none that is usable."""
    question = UserMessage(text=text, seq=1, turn="summary")
    plan = plan_request([question], ReasoningSettings(enabled=False), target)
    request = ProviderRequest(plan.body, SUMMARISER, tools=(), conversation="", optional=plan.optional)
    normalizer, ended = Normalizer(starts_in_reasoning=provider.starts_in_reasoning), ""
    pieces: list[str] = []
    message = 0
    try:
        async with aclosing(provider.stream(request)) as stream:
            async for raw in stream:
                if isinstance(raw, RawFields):
                    if raw.message != message and "content" in raw.fields:
                        message = raw.message
                        pieces += [*visible_texts(normalizer.end_message()), BLOCK_BREAK]
                    pieces += visible_texts(normalizer.feed(raw.fields))
                elif isinstance(raw, RawEnd):
                    ended = raw.finish_reason
    except ProviderError as error:
        logger.warning("summariser failed", extra={"code": error.code, "detail": error.detail})
        return ""
    pieces += visible_texts(normalizer.finish())
    summary = "".join(pieces).strip()
    return summary if ended == "stop" and len(summary) <= MAX_SUMMARY_CHARS else ""


def visible_texts(deltas: Iterable[Delta]) -> list[str]:
    return [str(delta.text) for delta in deltas if delta.channel is Channel.VISIBLE]
