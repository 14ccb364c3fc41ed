"""The next request, planned as a turn plans it and built by its provider, so that preview and reality can't differ.

Nothing is sent. The next question isn't known yet, so it isn't part of the preview: it will be one more entry at the
end. History that is too long for the model is shown in full, because it is summarised only before that question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from cryptography.fernet import InvalidToken
from django.utils.translation import gettext as _

from chat import eventlog
from chat.conversations import model_choice
from chat.conversations.model_choice import ModelChoice
from chat.models import Conversation
from chat.providers.base import Provider, ProviderError
from chat.texts.error_texts import failure_text
from chat.turns.requests import planning
from reasoning.events import Event
from reasoning.replay.plan import EgressPlan, RequestTarget


class PreviewError(Exception):
    """No request can be planned: its key is missing, its endpoint names no model, or history can't be decrypted."""


@dataclass(frozen=True, slots=True)
class NextRequest:
    """A plan, the ``body`` that would be sent, byte for byte, and the ``events`` that it was planned from."""

    chosen: ModelChoice
    target: RequestTarget
    plan: EgressPlan
    body: dict[str, Any]
    events: Sequence[Event]
    instructions: str
    tools: Sequence[Any]


async def chosen_model(conversation: Conversation, name: str | None) -> ModelChoice:
    """Return the model that answers next, or the offered one of this name. Raises InvalidInputError, PreviewError."""
    if name is None:
        return await sync_to_async(model_choice.chosen_model)(conversation)
    try:
        return await model_choice.find_model(name) or (await sync_to_async(model_choice.offered_models)())[0]
    except ProviderError as error:
        raise PreviewError(failure_text(error, for_staff=True)) from error


async def plan_preview(conversation: Conversation, chosen: ModelChoice, *, for_staff: bool = True) -> NextRequest:
    """Plan a conversation's next request to this model; the owner must be loaded.

    Raises PreviewError, worded ``for_staff`` or for anybody.
    """

    @sync_to_async
    def plan_for(provider: Provider) -> NextRequest:
        target = planning.target_of(chosen, model=provider.model, identity=provider.identity)
        plan = planning.plan_next_question(conversation, chosen, target)
        request = planning.request_of(plan, chosen, conversation.pk)
        body = provider.request_body(request)
        # read once more for the page: a plan names events by their number only
        events = eventlog.history(conversation.pk)
        return NextRequest(chosen, target, plan, body, events, request.instructions, request.tools)

    try:
        return await plan_for(await model_choice.provider(chosen))
    except ProviderError as error:
        raise PreviewError(failure_text(error, for_staff=for_staff, place=chosen.place)) from error
    except InvalidToken as error:
        if not for_staff:
            raise PreviewError(_("This conversation can’t be decrypted. Tell your administrator.")) from error
        raise PreviewError(_("This conversation can’t be decrypted: none of CONTENT_KEYS fits it.")) from error


def exact_json(preview: NextRequest) -> dict[str, Any]:
    """Return the exact body, the omissions and the figures: for ``manage.py preview_request`` only (product 10)."""
    plan = preview.plan
    return {
        "body": preview.body,
        "omissions": [{"seq": one.seq, "rule": one.rule, "reason": one.reason} for one in plan.omissions],
        "effectiveTokens": plan.effective_tokens,
        "storedTokens": plan.stored_tokens,
        "limit": preview.target.limit,
        "shouldCompact": plan.should_compact,
        "notes": [*map(str, plan.notes), *(f"repaired: {repair.rule}" for repair in plan.repairs)],
    }
