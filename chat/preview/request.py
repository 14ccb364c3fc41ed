"""The next request itself: planned from the log, and put together by its provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from cryptography.fernet import InvalidToken
from django.utils.translation import gettext as _

from chat import log, modelchoice, planning, upstream
from chat.models import Conversation
from chat.providers.base import Provider, ProviderError
from chat.upstream import ChosenModel
from reasoning.egress import EgressPlan, RequestTarget
from reasoning.events import Event


class NoPreview(Exception):
    """There is no next request: its key is missing, its endpoint names no model, or history can't be opened."""


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The plan, and ``body``: what goes over the wire, to the letter. ``events`` are those that it was made from."""

    chosen: ChosenModel
    target: RequestTarget
    plan: EgressPlan
    body: dict[str, Any]
    events: Sequence[Event]
    instructions: str
    tools: Sequence[Any]


async def chosen_model(conversation: Conversation, name: str | None) -> ChosenModel:
    """Return the model that answers here next, or the offered one of this name. Raises MessageRefused, NoPreview."""
    if name is None:
        return await sync_to_async(upstream.chosen_model)(conversation)
    try:
        return await modelchoice.find(name) or (await sync_to_async(upstream.offered_models)())[0]
    except ProviderError as error:
        raise NoPreview(error.message) from error


async def read(conversation: Conversation, chosen: ChosenModel) -> NextRequest:
    """Return a conversation's next request to this model; its owner is loaded. Raises NoPreview in plain words."""
    try:
        provider = await upstream.provider(chosen)
        return await sync_to_async(_planned)(conversation, chosen, provider)
    except ProviderError as error:
        raise NoPreview(upstream.in_its_words(error, chosen).message) from error
    except InvalidToken as lost:
        raise NoPreview(_("What was said here can’t be opened: none of CONTENT_KEYS fits it.")) from lost


def as_json(found: NextRequest) -> dict[str, Any]:
    """Return the exact body, what was left out and why, and the figures. For the command alone (product 10)."""
    plan = found.plan
    omissions = [{"seq": one.seq, "rule": one.rule, "reason": one.reason} for one in plan.omissions]
    return {
        "body": found.body,
        "omissions": omissions,
        "effectiveTokens": plan.effective_tokens,
        "storedTokens": plan.stored_tokens,
        "limit": found.target.limit,
        "shouldCompact": plan.should_compact,
        "notes": [*plan.notes, *(f"repaired: {repair.rule}" for repair in plan.repairs)],
    }


def _planned(conversation: Conversation, chosen: ChosenModel, provider: Provider) -> NextRequest:
    target = planning.target_of(chosen, model=provider.model, identity=provider.identity)
    plan = planning.plan_coming(conversation, chosen, target)
    request = planning.request_of(plan, chosen, conversation.pk)
    return NextRequest(
        chosen=chosen,
        target=target,
        plan=plan,
        body=provider.request_body(request),
        events=log.history(conversation.pk),
        instructions=request.instructions,
        tools=request.tools,
    )
