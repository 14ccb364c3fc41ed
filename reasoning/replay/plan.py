"""What the next request contains, what it omits and why, and what it costs.

A pure function of the log, the settings now and the target (product 8): strip, then include, then drop. Nothing stored
is changed by it. Requests, compaction and the preview use this one value, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import msgspec

from reasoning.events import Event
from reasoning.replay.dialects import AS_RECEIVED, BLANK, STRICTEST_IDS, Dialect, dialect_named
from reasoning.replay.history import read_history
from reasoning.replay.results import cut_results
from reasoning.replay.selection import NOTHING_REFUSED, Omission, Refused, Selector
from reasoning.replay.tokens import RESERVE, UsageAnchor, anchor_for, event_tokens, request_tokens
from reasoning.replay.wire import FORMATS, format_of_body
from reasoning.replay.wire.base import Entry, Note, Origin, Repair
from reasoning.settings import ReasoningSettings

COMPACT_AT = 0.8
UNKNOWN_CONTEXT_LIMIT = 32_000
COMPACTED = "Summary of the conversation so far:\n\n"

__all__ = ["EgressPlan", "Omission", "RequestTarget", "UsageAnchor", "plan_request"]


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """The receiver of a request.

    ``api`` is a name of ``wire.FORMATS``; ``dialect`` one of ``replay.dialects``: none, or an unknown one, is the
    generic. ``context_limit`` in tokens, None where it is not known; ``compact_at`` is the share of it at which history
    is to be compacted; ``overhead_tokens`` estimates instructions and tools, which are not part of the plan;
    ``max_output_tokens`` is what the service is asked to write at most, None for its own limit; ``may_switch_off`` is
    False where nothing about reasoning is sent once it is off (product 13); ``takes_images``: the model sees images.

    What is known of this model beyond its dialect: ``takes_tools`` and ``takes_system`` (a system message), None where
    the dialect decides; ``insists_on_reasoning``: it refuses its own tool calls without their thinking. Product 28, 29,
    31. ``alternates_roles`` is false for the offline analyst, which reads question by question.
    """

    api: str
    model: str
    provider: str
    dialect: str | None = None
    context_limit: int | None = None
    compact_at: float = COMPACT_AT
    overhead_tokens: int = 0
    max_output_tokens: int | None = None
    may_switch_off: bool = True
    takes_images: bool = False
    takes_tools: bool | None = None
    takes_system: bool | None = None
    insists_on_reasoning: bool = False
    alternates_roles: bool = True

    @property
    def contract(self) -> Dialect:
        """The dialect, with what is known of this model beyond it."""
        known = dialect_named(self.dialect)
        if self.takes_tools is not None:
            known = replace(known, takes_tools=self.takes_tools)
        if self.takes_system is not None:
            known = replace(known, takes_system=self.takes_system)
        if self.insists_on_reasoning and known.needs in ("nothing", "running calls"):
            field_name, blank = known.text_field or AS_RECEIVED, known.placeholder or BLANK
            known = replace(known, needs="calls", text_field=field_name, placeholder=blank)
        return known

    @property
    def limit(self) -> int:
        return self.context_limit or UNKNOWN_CONTEXT_LIMIT

    @property
    def room(self) -> int:
        """Tokens that a request may have before history is compacted; the rest is for the answer."""
        answer = min(max(RESERVE, self.max_output_tokens or 0), self.limit // 3)
        return min(round(self.limit * self.compact_at), self.limit - answer)


@dataclass(frozen=True, slots=True)
class EgressPlan:
    """The next request without instructions and tools.

    ``notes`` explain what could not be asked for; ``optional`` names the parameters of the body that are left out where
    the service refuses them, each with its setting; ``repairs`` list what the last check dropped or added.

    What is known of the service: ``offers_tools`` and ``takes_system`` are false where it accepts no tools, or no
    system message; ``insists_on_reasoning``: it wants the thinking of calls back. What it may refuse: ``sends_opaque``,
    something sealed, or the service's own word for a message; ``sends_thinking``, readable and not insisted on;
    ``sends_images``; ``sends_unanswered``, a question that failed before; ``sends_calls``, with their results.
    ``is_stuck``: the question before was left out, since it was refused, and what precedes it is sent.

    ``hides_images``: the newest question has images that are not sent; ``switches_off``: the model is asked not to
    think; ``cut_tokens``: so much of the results of the newest step is left out.
    """

    body: dict[str, Any]
    omissions: tuple[Omission, ...]
    effective_tokens: int
    stored_tokens: int
    should_compact: bool
    notes: tuple[Note, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)
    repairs: tuple[Repair, ...] = ()
    offers_tools: bool = True
    takes_system: bool = True
    insists_on_reasoning: bool = False
    sends_opaque: bool = False
    sends_thinking: bool = False
    hides_images: bool = False
    sends_images: bool = False
    sends_unanswered: bool = False
    sends_calls: bool = False
    is_stuck: bool = False
    switches_off: bool = False
    cut_tokens: int = 0

    @property
    def full_tokens(self) -> int:
        """The size of the request if no result had been cut."""
        return self.effective_tokens + self.cut_tokens

    @property
    def entries(self) -> list[Entry]:
        """The messages, or the input items."""
        entries: list[Entry] = self.body[format_of_body(self.body).entries_key]
        return entries

    @property
    def ends_in_results(self) -> bool:
        """Whether the newest part is the result of a call."""
        return format_of_body(self.body).part_of(self.entries[-1]) == "result" if self.entries else False

    @property
    def has_null_content(self) -> bool:
        """Whether a message with calls has null as its content, as OpenAI does it."""
        return any("tool_calls" in entry and entry.get("content", "") is None for entry in self.entries)

    @property
    def has_parallel_calls(self) -> bool:
        """Whether a message has several calls."""
        return any(len(entry.get("tool_calls", ())) > 1 for entry in self.entries)

    @property
    def has_nameless_results(self) -> bool:
        """Whether a message with a result lacks the name of its tool."""
        return any(entry.get("role") == "tool" and "name" not in entry for entry in self.entries)

    @property
    def has_loose_call_ids(self) -> bool:
        """Whether a call has an id that not every service accepts."""
        ids = [call["id"] for entry in self.entries for call in entry.get("tool_calls", ())]
        ids += [entry["call_id"] for entry in self.entries if "call_id" in entry]
        return not all(STRICTEST_IDS.fits(call_id) for call_id in ids)

    def digest(self) -> bytes:
        """Return a digest of the request: two plans with the same one ask the same."""
        asked = (self.body, self.offers_tools, self.takes_system)
        return blake2b(msgspec.json.encode(asked), digest_size=16).digest()

    def anchor(self, input_tokens: int) -> UsageAnchor:
        """Return the anchor for later plans, once this request's input was reported as ``input_tokens``."""
        return anchor_for(self.entries, input_tokens)


def plan_request(
    events: Sequence[Event],
    settings: ReasoningSettings,
    target: RequestTarget,
    *,
    usage_anchor: UsageAnchor | int | None = None,
    refused: Refused = NOTHING_REFUSED,
) -> EgressPlan:
    """Plan the next request from ``events`` (any order, all branches), deterministically.

    ``usage_anchor`` is what an earlier request was reported to cost (spec 001 BR-004). ``refused``: what this
    receiver refused before, and is not sent again.
    """
    dialect = target.contract
    if refused.system:
        dialect = replace(dialect, takes_system=False)
    if refused.call_ids:
        dialect = replace(dialect, call_ids=STRICTEST_IDS)
    if refused.content:
        dialect = replace(dialect, empty_content="")
    if refused.parallel:
        dialect = replace(dialect, takes_parallel_calls=False)
    if refused.results:
        dialect = replace(dialect, names_results=True)
    if refused.thinking:
        dialect = replace(dialect, text_field="", needs="nothing")
    history = read_history(events)
    origin = Origin(target.api, target.model, target.provider)
    wire = FORMATS[target.api]
    selector = Selector(settings, dialect, wire, origin, refused)
    turns = selector.select(history)
    write = partial(
        wire.write,
        summary=COMPACTED + history.summary if history.summary else "",
        dialect=dialect,
        origin=origin,
        takes_images=target.takes_images,
        alternates_roles=target.alternates_roles,
    )
    entries, repairs = write(turns)
    full = effective = request_tokens(entries, usage_anchor, target.overhead_tokens)
    if full > target.room and history.turns and history.turns[-1].is_running:
        turns = cut_results(turns, full - target.room)
        entries, repairs = write(turns)
        effective = request_tokens(entries, usage_anchor, target.overhead_tokens)

    # Only where all reasoning text is sent back can a service be asked to use it from turn to turn.
    was_cut = any(omission.rule in ("spec 001 BR-005", "product 3") for omission in selector.omissions)
    params = wire.params(
        settings,
        target.model,
        dialect,
        sends_all=bool(settings.include_in_context) and not was_cut,
        may_switch_off=target.may_switch_off,
    )
    length = {wire.output_limit(dialect): target.max_output_tokens} if target.max_output_tokens is not None else {}

    # What settings omit is stored, but neither sent nor counted (spec 001 BR-004).
    omitted = {omission.seq for omission in selector.omissions}
    unsent = sum(event_tokens(event) for event in events if event.active and event.seq in omitted)
    return EgressPlan(
        body={"model": target.model, wire.entries_key: entries, **params.body, **length},
        omissions=tuple(sorted(selector.omissions, key=lambda omission: omission.seq)),
        effective_tokens=effective,
        stored_tokens=effective + unsent,
        should_compact=full > target.room,
        notes=params.notes,
        optional=params.optional,
        repairs=repairs,
        offers_tools=dialect.takes_tools,
        takes_system=dialect.takes_system,
        insists_on_reasoning=target.insists_on_reasoning,
        hides_images=any(
            file.is_image and (turn.hides_images or not target.takes_images)
            for turn in turns[-1:]
            for file in turn.attachments
        ),
        sends_images=target.takes_images
        and any(file.is_image for turn in turns if not turn.hides_images for file in turn.attachments),
        sends_unanswered=selector.sends_unanswered,
        sends_calls=selector.sends_calls,
        is_stuck=selector.is_stuck,
        switches_off=params.switches_off,
        sends_opaque=any(block.kind != "text" for turn in turns for sent in turn.steps for block in sent.step.reasoning)
        or any("phase" in entry for entry in entries),
        sends_thinking=dialect.needs == "nothing"
        and any(block.kind == "text" for turn in turns for sent in turn.steps for block in sent.step.reasoning),
        cut_tokens=full - effective,
    )
