"""What the composer shows of the next request: its size, its model, and the models and efforts to choose from.

Everything is synchronous and reads the database.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

from cryptography.fernet import InvalidToken
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.preferences import value_label
from chat.cards.view_models import ContextView, ModelOption, ModelView
from chat.conversations import model_choice, reasoning_settings
from chat.conversations.model_choice import ModelChoice
from chat.live.turn import RequestSize
from chat.models import Conversation, Turn
from chat.turns.requests import planning
from reasoning.replay.dialects import GENERIC, dialect_named
from reasoning.replay.wire import FORMATS
from reasoning.settings import SETTINGS

EFFORT = "reasoning.effort"
_ON_OR_OFF = ("none", "medium")  # the efforts of a service that can only switch reasoning on and off
logger = logging.getLogger(__name__)


def next_request(conversation: Conversation, turns: Sequence[Turn] | None = None) -> tuple[ContextView, ModelView]:
    """Return the size of the next request and the model that gets it; ``turns`` as ``context_usage`` takes them."""
    chosen, offered = model_choice.resolve(conversation)
    return context_usage(conversation, chosen, turns), model_view(conversation, chosen, offered)


def context_usage(conversation: Conversation, chosen: ModelChoice, turns: Sequence[Turn] | None = None) -> ContextView:
    """Return what the next request would cost: ``effective/limit`` (spec 001 BR-004).

    ``turns`` are the newest ones of the selected branch, if they were read already.
    """
    if turns is None:
        newest = conversation.turns.filter(is_active=True).select_related("stored_card").order_by("-number")
        turns = list(newest[:2])[::-1]
    limit = planning.target_of(chosen).limit
    # a running turn has no size yet: the newest ended one is counted
    ended = [turn for turn in turns if turn.status != Turn.Status.RUNNING]
    try:
        effective, unsent = planning.context_size(
            conversation, chosen, newest=ended[-1] if ended else None, is_running=len(ended) < len(turns)
        )
    except InvalidToken:  # a key is lost: the public payloads can still be shown
        logger.error("history cannot be decrypted", extra={"conversation": conversation.pk.hex})
        return ContextView(0, limit)
    size = RequestSize(effective, limit, unsent)
    return context_view(size, conversation.pk, may_preview=conversation.owner.is_administrator)


def context_view(size: RequestSize, conversation_id: uuid.UUID, *, may_preview: bool) -> ContextView:
    """Return the context meter of a conversation, with links to what its next request contains."""
    preview_url = reverse("chat:preview", args=[conversation_id]) if may_preview else ""
    parts_url = reverse("chat:next_request", args=[conversation_id])
    return ContextView(size.tokens, size.limit, unsent=size.unsent, parts_url=parts_url, preview_url=preview_url)


def model_view(conversation: Conversation, chosen: ModelChoice, offered: Sequence[ModelChoice]) -> ModelView:
    """Return the model that answers next, and those that may be chosen instead."""
    options = model_options(conversation, chosen, offered)
    current = next((option for option in options if option.is_chosen), options[0])
    return ModelView(
        value=current.value,
        label=current.label,
        url=reverse("chat:model", args=[conversation.pk]),
        options=options,
        efforts=effort_options(conversation, chosen),
        others=compared_options(conversation, chosen, offered),
        effort_url=reverse("chat:effort", args=[conversation.pk]),
    )


def model_options(
    conversation: Conversation, chosen: ModelChoice, offered: Sequence[ModelChoice]
) -> tuple[ModelOption, ...]:
    """Return the models that may be chosen, with ``chosen`` marked."""
    return tuple(
        ModelOption(model.name, option_label(model), is_chosen=model == chosen)
        if model.is_profile
        else ModelOption(model_choice.SITE_DEFAULT, default_label(model, conversation), is_chosen=model == chosen)
        for model in offered
    )


def compared_options(
    conversation: Conversation, chosen: ModelChoice, offered: Sequence[ModelChoice]
) -> tuple[ModelOption, ...]:
    """Return the models that may answer the next question beside the one that is chosen. Product 47."""
    return tuple(
        ModelOption(
            model_choice.compared_name(model),
            model.label if model.is_profile else default_label(model, conversation),
            is_chosen=False,
        )
        for model in model_choice.comparable(chosen, offered)
    )


def option_label(model: ModelChoice) -> str:
    """Return a model's label; of one that can't be used, marked so."""
    return _("%(model)s (not usable)") % {"model": model.label} if model.problem else model.label


def efforts_of(chosen: ModelChoice) -> tuple[str, ...]:
    """Return the efforts that a model's service accepts; none where it has no such parameter."""
    wire, dialect = FORMATS[chosen.config.api], dialect_named(chosen.dialect)
    is_unknown = not wire.dialect and dialect == GENERIC
    if chosen.config.is_offline or is_unknown:
        return ()
    match wire.control(dialect):
        case "none":
            return ()
        case "thinking" | "template" | "enable_thinking":
            return _ON_OR_OFF
    return SETTINGS[EFFORT].allowed


def effort_options(conversation: Conversation, chosen: ModelChoice) -> tuple[ModelOption, ...]:
    """Return the efforts to choose from, first the default of the other layers; none where there is no choice."""
    efforts = efforts_of(chosen)
    if not efforts or not reasoning_settings.effective_settings(conversation.owner, conversation, chosen).enabled:
        return ()
    own = (conversation.reasoning or {}).get(EFFORT, "")
    # one that was set while another model was chosen is listed too
    offered = dict.fromkeys(("", *efforts, own))
    return tuple(ModelOption(effort, effort_label(effort, efforts), is_chosen=effort == own) for effort in offered)


def default_label(model: ModelChoice, conversation: Conversation) -> str:
    """Name the site's default; where its endpoint chooses the model, as far as that is known without a request."""
    if model.name:
        return model.label
    if provider := model_choice.known_provider(model):
        return provider.name
    # nothing was asked here yet, or since the server started: what it answered its user with elsewhere
    mine = Turn.objects.filter(conversation__owner=conversation.owner).exclude(model="")
    answered = mine.filter(provider=model_choice.request_target(model).provider).order_by("started_at").last()
    return answered.model if answered else _("Default model")


def effort_label(effort: str, efforts: tuple[str, ...]) -> str:
    if not effort:
        return _("Effort: default")
    if efforts == _ON_OR_OFF and effort in efforts:
        return _("Reasoning: off") if effort == "none" else _("Reasoning: on")
    return _("Effort: %(word)s") % {"word": value_label(EFFORT, effort)}
