"""What the pages show: contexts for the templates, read in one go and then joined with the running turn."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.preferences import Session, is_administrator
from chat import backlog, cards, efforts, layers, listing, log, modelchoice, orders, planning, upstream, windows
from chat.cardviews import ContextView, ModelOption, ModelView, QueuedView
from chat.listing import Listing
from chat.live import LiveTurn
from chat.models import Conversation, Filing, QueuedMessage
from reasoning.policy import Visibility

# English in every language, as the filings are: the offline analyst finds nothing for words that are not in them.
STARTERS = (
    "What would breach Northwind Tidal’s debt covenants?",
    "How does Calder Ridge explain the fall in its gross margin?",
    "What did ammonia leaks cost Calder Ridge, and is any of it insured?",
    "How does Northwind Tidal describe its interest rate risk?",
)

_NOT_SHOWN = ContextView(0, 0), ModelView("", "", "")  # a part holds cards alone
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Read:
    """What a conversation's page needs from the database."""

    conversation: Conversation
    sees: Visibility
    rows: tuple[log.TurnRows, ...]
    window: windows.Window
    waiting: tuple[QueuedMessage, ...]
    listed: Listing
    model: ModelView
    context: ContextView
    corpus: Mapping[str, Any] | None
    completions: str


def read(
    person: User, conversation_id: uuid.UUID, session: Session, query: Mapping[str, str], *, is_part: bool = False
) -> Read | None:
    """Read one's own conversation, the window that ``query`` asks for; None where this person has no such one."""
    found = person.conversations.filter(pk=conversation_id).first()
    if found is None:
        return None
    found.owner = person  # who looks, with what is known of them already
    window = windows.asked(conversation_id, query, is_part=is_part)
    rows = log.turns(conversation_id, since=window.since, before=window.before)
    is_long = bool(rows) and rows[-1].turn.number > windows.TURNS
    count_later = is_long and "count" not in query
    usage, model = _NOT_SHOWN if is_part else next_request(found, count_later=count_later)
    return Read(
        conversation=found,
        sees=layers.sees(person, session, found),
        rows=rows,
        window=window,
        waiting=backlog.waiting(conversation_id),
        listed=Listing() if is_part else listing.newest(person, deleted=query.get("deleted")),
        model=model,
        context=usage,
        corpus=None if rows else corpus(),
        completions=json.dumps(orders.completions(person), ensure_ascii=False),
    )


def context(page: Read, live: LiveTurn | None) -> dict[str, Any]:
    """Return the template context of a conversation. A turn that runs here is drawn from memory, not from the log."""
    stored = [rows for rows in page.rows if live is None or rows.turn.pk != live.id]
    items = cards.items(stored, page.sees, whole=0 if page.window.before else cards.WHOLE)
    if live is not None and page.window.holds(live.number):
        items.append({"question": cards.live_question_card(live), "answer": cards.live_answer_card(live, page.sees)})
    return {
        "conversation": page.conversation,
        "list": page.listed,
        "items": items,
        "earlier": windows.earlier(page.rows),
        "queued": [QueuedView(str(message.pk), message.text) for message in page.waiting],
        "running": live is not None,
        "sees": page.sees,
        "scratchpad_on": page.sees.scratchpad,
        "context": page.context,
        "limit_chars": settings.MESSAGE_MAX_CHARS,
        "socket_path": f"/ws/chats/{page.conversation.pk}/?shows={items[-1]['answer'].id if items else ''}",
        "starters": () if items else starters(page.corpus),
        "corpus": page.corpus,
        "model": page.model,
        "completions": page.completions,
    }


def model_view(
    conversation: Conversation, chosen: upstream.ChosenModel, offered: Sequence[upstream.ChosenModel]
) -> ModelView:
    """Return the model that answers next, and those that may be chosen instead."""
    options = model_options(conversation, chosen, offered)
    current = next((option for option in options if option.is_chosen), options[0])
    return ModelView(
        value=current.value,
        label=current.label,
        url=reverse("chat:model", args=[conversation.pk]),
        options=options,
        efforts=efforts.options(conversation, chosen),
        effort_url=reverse("chat:effort", args=[conversation.pk]),
    )


def model_options(
    conversation: Conversation, chosen: upstream.ChosenModel, offered: Sequence[upstream.ChosenModel]
) -> tuple[ModelOption, ...]:
    """Return the models that may be chosen here, this one marked."""
    return tuple(_option(model, chosen, conversation) for model in offered)


def _option(model: upstream.ChosenModel, chosen: upstream.ChosenModel, conversation: Conversation) -> ModelOption:
    if model.is_profile:
        return ModelOption(model.name, model.label, is_chosen=model == chosen)
    return ModelOption(modelchoice.SITES_OWN, _own_label(model, conversation), is_chosen=model == chosen)


def _own_label(model: upstream.ChosenModel, conversation: Conversation) -> str:
    """Name the site's own model; where the endpoint chooses it, as far as that is known without asking there."""
    if model.name:
        return model.label
    if known := upstream.known_provider(model):
        return known.name
    answered = conversation.turns.filter(provider=upstream.request_target(model).provider).last()
    return answered.model if answered else _("The endpoint’s model")


def with_card_open(page: Read, items: Sequence[Mapping[str, Any]], opened: str) -> list[Mapping[str, Any]]:
    """Return the items with one finished card's thinking open, as this viewer may read it, and its steps at hand."""
    return [_opened(page, item) if item["answer"].id == opened else item for item in items]


def next_request(
    conversation: Conversation, *, count_later: bool = False, is_running: bool | None = None
) -> tuple[ContextView, ModelView]:
    """Return what a page says of the next request: how full it is, and who answers it.

    A long history takes longer to plan than its page to draw: with ``count_later`` the page asks for the figures.
    ``is_running``: whether a turn runs, where that is known.
    """
    chosen, offered = upstream.chosen_and_offered(conversation)
    model = model_view(conversation, chosen, offered)
    if count_later:
        return _uncounted(conversation, chosen), model
    return context_usage(conversation, chosen, is_running=is_running), model


def _uncounted(conversation: Conversation, chosen: upstream.ChosenModel) -> ContextView:
    count_url = reverse("chat:context", args=[conversation.pk])
    return ContextView(0, chosen.context_limit, preview_url=_preview_url(conversation), count_url=count_url)


def context_usage(
    conversation: Conversation, chosen: upstream.ChosenModel, *, is_running: bool | None = None
) -> ContextView:
    """Return what the next request would cost: ``effective/limit`` (spec 001 BR-004)."""
    try:
        plan = planning.plan_coming(conversation, chosen, planning.target_of(chosen), is_running=is_running)
    except InvalidToken:  # a key is lost: what is public can still be read
        logger.error("history cannot be opened", extra={"conversation": conversation.pk.hex})
        return ContextView(0, chosen.context_limit)
    return ContextView(
        plan.effective_tokens,
        chosen.context_limit,
        unsent=plan.stored_tokens - plan.effective_tokens,
        preview_url=_preview_url(conversation),
    )


def _preview_url(conversation: Conversation) -> str:
    """Return where an administrator sees the next request; only owners see a conversation, so it is theirs."""
    return reverse("chat:preview", args=[conversation.pk]) if is_administrator(conversation.owner) else ""


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


def _opened(page: Read, item: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = next((rows for rows in page.rows if rows.turn.public_id == item["answer"].id), None)
    if rows is None:
        return item
    text = log.thinking_for(rows.turn, page.sees)
    return {**item, "answer": cards.answer_card(rows, page.sees, opened=text)}
