"""The next request of a conversation, planned from the log and the settings of this moment.

Requests, the context meter, compaction and the administrator's preview use this, so that all of them see one plan. All
functions are synchronous and read the database; nothing is cached (spec 001 BR-008).
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from accounts.access.visibility import site_flags
from chat import eventlog
from chat.cards import rendering
from chat.conversations import model_choice, reasoning_settings
from chat.conversations.learned_facts import learned_facts
from chat.models import Conversation, StoredCard, Turn
from chat.providers.base import Provider, ProviderRequest
from reasoning.events import Event, UserMessage
from reasoning.prompt import instructions
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.replay.selection import Refused
from reasoning.replay.tokens import UsageAnchor, text_tokens

logger = logging.getLogger(__name__)
# After every event of the log, whatever their numbers are.
NEXT_QUESTION = UserMessage(text="", turn="next", seq=sys.maxsize)


def target_of(chosen: model_choice.ModelChoice, *, model: str = "", identity: str = "") -> RequestTarget:
    """Return where the request is sent; ``model`` and ``identity`` as its provider knows them, if it was asked."""
    target = model_choice.request_target(chosen)
    if not (model or target.model) and (known := model_choice.known_provider(chosen)):
        model = known.model
    target = replace(target, model=model or target.model, provider=identity or target.provider)
    target = learned_facts.apply_to(target)
    takes_tools = target.contract.takes_tools
    overhead = text_tokens(system_prompt(chosen, takes_tools=takes_tools))
    overhead += sum(tool.tokens for tool in chosen.tools.values()) if takes_tools else 0
    return replace(
        target,
        compact_at=settings.COMPACTION_THRESHOLD,
        overhead_tokens=overhead,
        max_output_tokens=settings.MAX_OUTPUT_TOKENS,
        may_switch_off=site_flags().enabled,
    )


def plan_from_log(
    conversation: Conversation,
    chosen: model_choice.ModelChoice,
    target: RequestTarget,
    *,
    history: Sequence[Event] | None = None,
    anchor: UsageAnchor | None = None,
    and_then: Sequence[Event] = (),
) -> EgressPlan:
    """Plan a request from the events of a conversation.

    ``history`` with ``anchor``: where they are known, else they are read. ``and_then``: events that
    are planned with as if they were in the log.
    """
    if history is None:
        history = eventlog.history(conversation.pk, with_images=target.takes_images)
        anchor = anchor or _newest_anchor(conversation, history)
    return plan_request(
        (*history, *and_then),
        reasoning_settings.effective_settings(conversation.owner, conversation, chosen),
        target,
        usage_anchor=anchor,
        refused=refused_parts(conversation, target),
    )


@transaction.atomic
def remember_refusal(turn: Turn, provider: Provider, part: str, to_seq: int) -> int:
    """Leave parts up to this event out of later requests to this model of this endpoint. Product 21, replay 10.

    ``part`` is a field of ``Refused``. Return up to which event they were left out before.
    """
    conversation = Conversation.all_objects.select_for_update().get(pk=turn.conversation_id)
    key = _refusal_key(provider.model, provider.identity, part)
    before: int = conversation.refused_items.get(key, 0)
    conversation.refused_items[key] = to_seq
    conversation.save(update_fields=["refused_items"])
    turn.conversation.refused_items = conversation.refused_items  # of which the request after this turn is planned
    return before


def refused_parts(conversation: Conversation, target: RequestTarget) -> Refused:
    """Return what the receiver refused of this conversation before."""
    known = conversation.refused_items
    return Refused(*(known.get(_refusal_key(target.model, target.provider, part), 0) for part in Refused._fields))


def _refusal_key(model: str, provider: str, part: str) -> str:
    # Another model, or the same behind another key, may accept them.
    return f"{provider} {model}" if part == "items" else f"{provider} {model} {part}"


def plan_next_question(
    conversation: Conversation,
    chosen: model_choice.ModelChoice,
    target: RequestTarget,
    *,
    is_running: bool | None = None,
    history: Sequence[Event] | None = None,
    anchor: UsageAnchor | None = None,
) -> EgressPlan:
    """Plan the request of the next question, without the text of that question.

    What is replayed of earlier turns depends on whether a newer one exists, so an empty question represents it.
    While a turn runs, this is its next request; ``is_running``: where that is known. ``history`` and ``anchor`` as
    ``plan_from_log`` takes them.
    """
    if is_running is None:
        is_running = conversation.turns.filter(status=Turn.Status.RUNNING).exists()
    and_then = () if is_running else (NEXT_QUESTION,)
    return plan_from_log(conversation, chosen, target, history=history, anchor=anchor, and_then=and_then)


def context_size(
    conversation: Conversation, chosen: model_choice.ModelChoice, *, newest: Turn | None, is_running: bool
) -> tuple[int, int]:
    """Return how many tokens the next request will have, and how many are stored beside it and not sent.

    ``newest`` is the newest ended turn of the selected branch, read with its stored card: the figures are counted and
    stored there when it ends, and again where the model or the settings are others by now.
    """
    card = getattr(newest, "stored_card", None) or StoredCard(turn=newest)
    if card.context_key != _context_key(conversation, chosen):
        plan = plan_next_question(conversation, chosen, target_of(chosen), is_running=is_running)
        set_context_size(card, conversation, chosen, plan)
        if newest is not None and not is_running:
            rendering.save([card])
    return card.context_tokens, card.unsent_tokens


def set_context_size(
    card: StoredCard, conversation: Conversation, chosen: model_choice.ModelChoice, plan: EgressPlan
) -> None:
    """Set the figures of the next request on a card; the caller saves it."""
    card.context_key = _context_key(conversation, chosen)
    card.context_tokens = plan.effective_tokens
    card.unsent_tokens = plan.stored_tokens - plan.effective_tokens


def _context_key(conversation: Conversation, chosen: model_choice.ModelChoice) -> str:
    """Return a digest of what the size of a request depends on beside the history."""
    in_force = reasoning_settings.effective_settings(conversation.owner, conversation, chosen)
    depends_on = (target_of(chosen), in_force, *conversation.refused_items.items())
    return blake2b(repr(depends_on).encode(), digest_size=16).hexdigest()


def request_of(plan: EgressPlan, chosen: model_choice.ModelChoice, conversation_id: uuid.UUID) -> ProviderRequest:
    """Return the request that a plan makes, with its instructions and its tools."""
    return ProviderRequest(
        body=plan.body,
        instructions=system_prompt(chosen, takes_tools=plan.offers_tools),
        tools=[tool.schema for tool in chosen.tools.values()] if plan.offers_tools else (),
        conversation=conversation_id.hex,
        optional=plan.optional,
        takes_system=plan.takes_system,
    )


def system_prompt(chosen: model_choice.ModelChoice, *, takes_tools: bool) -> str:
    """Ask for sections, and for a scratchpad, only where the site may show them (product 9, 13)."""
    flags = site_flags()
    notes = flags.enabled and flags.scratchpad_enabled and flags.scratchpad_admin_only
    return instructions(sections=flags.enabled, scratchpad=notes, tools=takes_tools, own=chosen.system_prompt)


def _newest_anchor(conversation: Conversation, history: Sequence[Event]) -> UsageAnchor | None:
    if all(isinstance(event, UserMessage) for event in history):
        return None  # nothing was answered, so nothing was counted
    anchors = Turn.objects.filter(conversation=conversation, is_active=True, context_anchor__isnull=False)
    return UsageAnchor.from_json(anchors.order_by("-number").values_list("context_anchor", flat=True).first())


class PlannedRequest(NamedTuple):
    """A request of a turn, and what it was planned from."""

    plan: EgressPlan
    history: Sequence[Event]
    anchor: UsageAnchor | None


def plan_step(
    turn: Turn,
    chosen: model_choice.ModelChoice,
    provider: Provider,
    *,
    conversation: Conversation | None,
    anchor: UsageAnchor | None,
) -> PlannedRequest:
    """Plan a request of a turn; ``conversation``: where it and ``anchor`` were read just now.

    The first one names the model.
    """
    # Stored before the request is made: a turn that is interrupted shows which model it asked.
    asked = (provider.name, chosen.profile_label, provider.identity)
    if (turn.model, turn.model_label, turn.provider) != asked:
        turn.model, turn.model_label, turn.provider = asked
        turn.save(update_fields=["model", "model_label", "provider"])
    target = target_of(chosen, model=provider.model, identity=provider.identity)
    history = eventlog.history(turn.conversation_id, with_images=target.takes_images, of=turn)
    if conversation is None:
        # Its settings may have changed since the request before (spec 001 BR-008).
        conversation = Conversation.all_objects.select_related("owner").get(pk=turn.conversation_id)
        if not turn.compared_with_id:  # the newest may be that of the other model
            anchor = anchor or _newest_anchor(conversation, history)
    plan = plan_from_log(conversation, chosen, target, history=history, anchor=anchor)
    for repair in plan.repairs:
        logger.warning("request repaired", extra={"turn": turn.public_id, "rule": repair.rule, "index": repair.index})
    return PlannedRequest(plan, history, anchor)
