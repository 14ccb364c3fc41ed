"""What the pages show: contexts for the templates, read in one go and then joined with the running turn."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.preferences import Session, reasoning_settings, visibility
from chat import backlog, cards, log, upstream
from chat.cardviews import ContextView, QueuedView
from chat.live import LiveTurn
from chat.models import Conversation, Filing, QueuedMessage
from reasoning.egress import RequestTarget, plan_request
from reasoning.policy import Visibility

# English in every language, as the filings are: the offline analyst finds nothing for words that are not in them.
STARTERS = (
    "What would breach Northwind Tidal’s debt covenants?",
    "How does Calder Ridge explain the fall in its gross margin?",
    "What did ammonia leaks cost Calder Ridge, and is any of it insured?",
    "How does Northwind Tidal describe its interest rate risk?",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Read:
    """What a conversation's page needs from the database."""

    conversation: Conversation
    sees: Visibility
    rows: tuple[log.TurnRows, ...]
    waiting: tuple[QueuedMessage, ...]
    groups: tuple[tuple[str, tuple[Conversation, ...]], ...]
    context: ContextView
    corpus: Mapping[str, Any] | None


def read(person: User, conversation_id: uuid.UUID, session: Session) -> Read | None:
    """Read one's own conversation; None where this person has no such conversation."""
    found = person.conversations.filter(pk=conversation_id).first()
    if found is None:
        return None
    rows = log.turns(conversation_id)
    return Read(
        conversation=found,
        sees=visibility(person, session),
        rows=rows,
        waiting=backlog.waiting(conversation_id),
        groups=by_day(_begun(person)),
        context=context_usage(person, conversation_id),
        corpus=None if rows else corpus(),
    )


def context(page: Read, live: LiveTurn | None) -> dict[str, Any]:
    """Return the template context of a conversation. A turn that runs here is drawn from memory, not from the log."""
    items = [
        {"question": cards.question_card(rows), "answer": cards.answer_card(rows, page.sees)}
        for rows in page.rows
        if live is None or rows.turn.pk != live.id
    ]
    if live is not None:
        items.append({"question": cards.live_question_card(live), "answer": cards.live_answer_card(live, page.sees)})
    return {
        "conversation": page.conversation,
        "groups": page.groups,
        "items": items,
        "queued": [QueuedView(str(message.pk), message.text) for message in page.waiting],
        "running": live is not None,
        "sees": page.sees,
        "scratchpad_on": page.sees.scratchpad,
        "context": page.context,
        "limit_chars": settings.MESSAGE_MAX_CHARS,
        "socket_path": f"/ws/chats/{page.conversation.pk}/",
        "starters": () if items else starters(page.corpus),
        "corpus": page.corpus,
        "model_name": _model_name(page),
    }


def _model_name(page: Read) -> str:
    """Name the model that answers; where the endpoint chooses it, the one that answered last."""
    config = upstream.provider_config()
    if config.is_offline:
        return _("Offline analyst")
    return config.model_name or (page.rows[-1].turn.model if page.rows else "")


def with_thinking_open(page: Read, items: Sequence[Mapping[str, Any]], opened: str) -> list[Mapping[str, Any]]:
    """Return the items with one finished card's thinking open, as this viewer may read it."""
    return [_opened(page, item) if item["answer"].id == opened else item for item in items]


def listed(person: User, conversation_id: uuid.UUID) -> tuple[str, tuple[tuple[str, tuple[Conversation, ...]], ...]]:
    """Return a conversation's title, and the list that it now stands in."""
    title = person.conversations.values_list("title", flat=True).get(pk=conversation_id)
    return title, by_day(_begun(person))


def by_day(conversations: Iterable[Conversation]) -> tuple[tuple[str, tuple[Conversation, ...]], ...]:
    """Group conversations, newest first, by day: today, yesterday, this week, then by month."""
    today = timezone.localdate()
    return tuple((label, tuple(group)) for label, group in groupby(conversations, key=lambda found: _day(found, today)))


def context_usage(person: User, conversation_id: uuid.UUID) -> ContextView:
    """Return what the next request would cost: ``effective/limit`` (spec 001 BR-004)."""
    target = RequestTarget(api="chat", model="", provider="", context_limit=settings.CONTEXT_LIMIT)
    try:
        plan = plan_request(log.history(conversation_id), reasoning_settings(person), target)
    except InvalidToken:  # a key is lost: what is public can still be read
        logger.error("history cannot be opened", extra={"conversation": conversation_id.hex})
        return ContextView(0, settings.CONTEXT_LIMIT)
    effective = plan.effective_tokens if plan.body["messages"] else 0
    return ContextView(effective, settings.CONTEXT_LIMIT)


def corpus() -> dict[str, Any]:
    """Return how many filings of how many companies are loaded, and whether all are invented."""
    found = Filing.objects.values_list("company", "is_demo")
    return {
        "filings": len(found),
        "companies": len({company for company, _demo in found}),
        "is_demo": bool(found) and all(demo for _company, demo in found),
        "has_demo": any(demo for _company, demo in found),
    }


def starters(loaded: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return questions to start with: those of the demo corpus, where it is loaded."""
    return STARTERS if loaded and loaded["has_demo"] else ()


def _begun(person: User) -> Iterable[Conversation]:
    return person.conversations.filter(turns__isnull=False).distinct()


def _opened(page: Read, item: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = next((rows for rows in page.rows if rows.turn.public_id == item["answer"].id), None)
    text = log.thinking_for(rows.turn, page.sees) if rows else None
    if rows is None or text is None:
        return item
    return {**item, "answer": cards.answer_card(rows, page.sees, opened=text)}


def _day(found: Conversation, today: date) -> str:
    day = timezone.localdate(found.updated_at)
    if day >= today:
        return _("Today")
    if day == today - timedelta(days=1):
        return _("Yesterday")
    if day > today - timedelta(days=7):
        return _("Previous 7 days")
    return date_format(day, "F Y")
