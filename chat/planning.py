"""The next request of a conversation, planned from the log and the settings of this moment.

Requests, the context meter, compaction and the administrator's preview ask here, so that all of them see one plan. All
functions are synchronous and read the database; nothing is kept (spec 001 BR-008).
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db.models import UUIDField

from accounts.preferences import site_flags
from accounts.prepared import Given, Prepared
from chat import layers, log, upstream
from chat.models import Conversation, Turn
from chat.providers.base import Provider, ProviderRequest
from chat.tools import registry
from reasoning.contextsize import UsageAnchor, entry_tokens, text_tokens
from reasoning.dialects import dialect_named
from reasoning.egress import EgressPlan, RequestTarget, plan_request
from reasoning.events import Event, UserMessage
from reasoning.prompt import instructions

logger = logging.getLogger(__name__)
_NEWEST_ANCHOR = Prepared(
    lambda: (
        Turn.objects.filter(
            conversation_id=Given("conversation", UUIDField()), is_active=True, context_anchor__isnull=False
        )
        .order_by("-number")
        .values_list("context_anchor", flat=True)[:1]
    )
)


def target_of(chosen: upstream.ChosenModel, *, model: str = "", identity: str = "") -> RequestTarget:
    """Return where the request goes; ``model`` and ``identity`` as its provider knows them, where it was asked."""
    target = upstream.request_target(chosen)
    overhead = _overhead(system_prompt(chosen.dialect), chosen.dialect)
    return replace(
        target,
        model=model or target.model,
        provider=identity or target.provider,
        compact_at=settings.COMPACTION_THRESHOLD,
        overhead_tokens=overhead,
    )


def plan_next(
    conversation: Conversation,
    chosen: upstream.ChosenModel,
    target: RequestTarget,
    *,
    anchor: UsageAnchor | None = None,
    omit_items: bool = False,
    and_then: Sequence[Event] = (),
) -> EgressPlan:
    """Plan the next request. ``anchor``: else the last one that was kept. ``and_then``: events as if recorded."""
    history = log.history(conversation.pk)
    is_first = all(isinstance(event, UserMessage) for event in history)  # nothing was answered, so nothing was counted
    return plan_request(
        (*history, *and_then),
        layers.in_force(conversation.owner, conversation, chosen),
        target,
        usage_anchor=None if is_first else anchor or _kept_anchor(conversation),
        omit_items=omit_items,
    )


def plan_coming(
    conversation: Conversation, chosen: upstream.ChosenModel, target: RequestTarget, *, is_running: bool | None = None
) -> EgressPlan:
    """Plan the request that the next question will make: all of it but the words of that question.

    What goes back of earlier turns depends on there being a newer one, so an empty question stands for it; a plan sends
    nothing of that. While a turn runs, it is that turn's next request; ``is_running``: where that is known.
    """
    if is_running is None:
        is_running = conversation.turns.filter(status=Turn.Status.RUNNING).exists()
    asked = () if is_running else (UserMessage(text="", turn="next", seq=sys.maxsize),)
    return plan_next(conversation, chosen, target, and_then=asked)


def request_of(plan: EgressPlan, chosen: upstream.ChosenModel, conversation_id: uuid.UUID) -> ProviderRequest:
    """Return the request that a plan makes, with its instructions and its tools."""
    return ProviderRequest(
        body=plan.body,
        instructions=system_prompt(chosen.dialect),
        tools=tool_schemas(chosen.dialect),
        conversation=conversation_id.hex,
    )


def system_prompt(dialect: str) -> str:
    """Ask for sections, and for a scratchpad, only where the site may show them (product 9, 13)."""
    flags = site_flags()
    notes = flags.enabled and flags.scratchpad_enabled and flags.scratchpad_admin_only
    return instructions(sections=flags.enabled, scratchpad=notes, tools=dialect_named(dialect).takes_tools)


@lru_cache
def _overhead(prompt: str, dialect: str) -> int:
    return text_tokens(prompt) + entry_tokens(list(tool_schemas(dialect)))


@lru_cache
def tool_schemas(dialect: str) -> tuple[Mapping[str, Any], ...]:
    """Return the tools that a request offers."""
    return tuple(tool.schema for tool in registry().values()) if dialect_named(dialect).takes_tools else ()


def _kept_anchor(conversation: Conversation) -> UsageAnchor | None:
    return UsageAnchor.from_json(_NEWEST_ANCHOR.first(conversation=conversation.pk))


def plan_step(
    turn: Turn,
    conversation: Conversation | None,
    chosen: upstream.ChosenModel,
    provider: Provider,
    anchor: UsageAnchor | None,
    *,
    omit_items: bool,
) -> EgressPlan:
    """Plan a request of a turn; ``conversation`` where it was read just now. The first one names the model."""
    if (turn.model, turn.provider) != (provider.name, provider.identity):
        turn.model, turn.provider = provider.name, provider.identity
        turn.save(update_fields=["model", "provider"])
    target = target_of(chosen, model=provider.model, identity=provider.identity)
    plan = plan_next(conversation or _conversation(turn), chosen, target, anchor=anchor, omit_items=omit_items)
    for repair in plan.repairs:
        logger.warning("request repaired", extra={"turn": turn.public_id, "rule": repair.rule, "index": repair.index})
    return plan


def _conversation(turn: Turn) -> Conversation:
    return Conversation.everything.select_related("owner", "profile").get(pk=turn.conversation_id)
