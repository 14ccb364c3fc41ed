"""Make one real call to a model, and compare what came back with what its profile says.

It shows how the model streams, thinks, calls tools and counts. What the model says is neither stored nor returned.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chat.conversations import model_choice
from chat.conversations.model_choice import ModelChoice, natural_dialect
from chat.providers.base import Provider, ProviderError, ProviderRequest
from chat.providers.connections import NO_KEY
from chat.turns.requests.planning import target_of
from reasoning.deltas import Channel, RawDelta, RawFields, RawItem, RawUsage
from reasoning.events import UserMessage
from reasoning.replay.dialects import AS_RECEIVED, dialect_named
from reasoning.replay.plan import EgressPlan, plan_request
from reasoning.replay.wire import format_of_dialect
from reasoning.settings import ReasoningSettings
from reasoning.stream.normalizer import THINKING_FIELDS, Normalizer

TAGS = "think_tags"
_PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
_TOOL = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": _PARAMETERS}}
_QUESTION = "What is 2 + 3? Use the tool."
_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
# Tags of thinking come first; a long answer needn't be searched.
_MAX_TAG_SEARCH_CHARS = 100_000


@dataclass(slots=True)
class Findings:
    """What the call showed. ``takes_tools`` is False if a request with tools was refused."""

    first_s: float = 0.0
    pieces: int = 0
    fields: set[str] = field(default_factory=set)  # the native reasoning fields, as named on the wire
    thinking_field: str | None = None
    items: int = 0  # opaque reasoning items
    sealed_items: int = 0  # of them, those with ciphertext
    starts_inside: bool = False
    calls_tools: bool = False
    takes_tools: bool = True
    counts_tokens: bool = False
    context_limit: int | None = None  # as the service reports it
    notes: tuple[str, ...] = ()


class CheckRow(NamedTuple):
    """One line of the report: what was found, what the profile says, and whether they differ."""

    name: str
    found: str
    configured: str = ""
    differs: bool = False


async def check_model(chosen: ModelChoice) -> tuple[str, list[CheckRow]]:
    """Return the name of the model that answered, and the report. Raises ProviderError."""
    provider = await model_choice.provider(chosen)
    return provider.model, list(report(chosen, await check(provider, chosen)))


async def check(provider: Provider, chosen: ModelChoice) -> Findings:
    """Call the model once, and again without tools if it refuses them. Raises ProviderError."""
    # planned as every request is, so that the profile's own settings are tried with it
    settings = ReasoningSettings.from_layers(chosen.reasoning)
    target = target_of(chosen, model=provider.model, identity=provider.identity)
    plan = plan_request((UserMessage(seq=1, turn="check", text=_QUESTION),), settings, target)
    try:
        found = await call_model(provider, plan, [_TOOL])
    except ProviderError as error:
        if error.reason != "tools":
            raise
        found = await call_model(provider, plan, [])
        found.takes_tools = False
    found.notes = (*plan.notes, *found.notes)

    found.context_limit = provider.context_limit
    return found


def report(chosen: ModelChoice, found: Findings) -> Iterator[CheckRow]:
    """Compare what was found with the profile and with what its dialect requires (replay decision D4)."""
    config, dialect = chosen.config, dialect_named(chosen.dialect)
    settings = ReasoningSettings.from_layers(chosen.reasoning)
    natural = natural_dialect(config)
    yield CheckRow("reachable", f"first piece after {found.first_s:.1f} s")
    has_key = config.connection is not None and config.connection.api_key != NO_KEY
    yield CheckRow("key", "accepted" if has_key else "none is sent")
    yield CheckRow("streaming", f"{found.pieces} pieces" if found.pieces > 1 else "no, the answer came whole")

    # How it thinks, and how that is sent back.
    sent_back = dialect.text_field if dialect.text_field not in ("", AS_RECEIVED) else ""
    fields = found.fields - {"reasoning_details"}
    thinking = "none seen"
    if found.items:
        thinking = f"opaque items ({found.items}, encrypted {found.sealed_items})"
    elif found.fields:
        thinking = f"field {', '.join(sorted(found.fields))}"
    elif found.thinking_field == TAGS:
        thinking = "tags inside the answer"
    is_other_field = bool(sent_back and fields) and sent_back not in fields
    yield CheckRow("thinking", thinking, f"sent back as {sent_back}" if sent_back else "", is_other_field)
    starts = config.starts_in_reasoning
    yield CheckRow(
        "starts in reasoning", yes_or_no(found.starts_inside), yes_or_no(starts), found.starts_inside != starts
    )

    tools = "called" if found.calls_tools else "accepted, none called"
    offered = "offered" if dialect.takes_tools else "not offered"
    yield CheckRow(
        "tools", tools if found.takes_tools else "refused", offered, found.takes_tools != dialect.takes_tools
    )
    yield CheckRow("token counts", "reported" if found.counts_tokens else "not reported, so estimated")
    limit, used = found.context_limit, chosen.context_limit
    origin = "of the profile" if chosen.is_profile else "CONTEXT_LIMIT"
    configured = f"{used} ({origin})" if used else "what the service states"
    yield CheckRow("context limit", str(limit or "not reported"), configured, bool(limit and used and limit < used))

    # What its dialect requires of the profile and of the settings.
    is_other_dialect = natural not in (chosen.dialect, dialect_named("").name)
    yield CheckRow("dialect", natural, f"{dialect.name}, checked {dialect.checked}", is_other_dialect)
    required_api = format_of_dialect(chosen.dialect).name
    yield CheckRow("API of the dialect", required_api, config.api, required_api != config.api)
    if dialect.needs != "nothing":
        include, strip = settings.include_in_context, settings.strip_from_context
        yield CheckRow("reasoning.includeInContext", "true", str(include).lower(), not include)
        yield CheckRow("reasoning.stripFromContext", "none", strip or "", strip not in (None, "none"))
    for note in found.notes:
        yield CheckRow("note", note, differs=True)


async def call_model(provider: Provider, plan: EgressPlan, tools: Sequence[Mapping[str, Any]]) -> Findings:
    normalizer, found, text = Normalizer(starts_in_reasoning=provider.starts_in_reasoning), Findings(), ""
    started = time.perf_counter()
    request = ProviderRequest(plan.body, "", tools, "", plan.optional)
    async with aclosing(provider.stream(request)) as deltas:
        async for raw in deltas:
            if isinstance(raw, RawFields):
                found.first_s = found.first_s or time.perf_counter() - started
                found.calls_tools |= any(delta.channel is Channel.TOOL for delta in normalizer.feed(raw.fields))
                text += str(raw.fields.get("content") or "") if len(text) < _MAX_TAG_SEARCH_CHARS else ""
            note_delta(raw, found)
    # Only then it knows where the thinking came from.
    normalizer.finish()
    refused = plan.optional.keys() - provider.request_body(request).keys()
    found.notes = tuple(f"{plan.optional[name]}: the service refused it" for name in refused)
    found.thinking_field = normalizer.source_field
    first_tag = _TAG.search(text)
    found.starts_inside = first_tag is not None and first_tag[1] == "/"  # closed before it was opened
    return found


def note_delta(raw: RawDelta, found: Findings) -> None:
    match raw:
        case RawFields(fields):
            found.pieces += 1
            found.fields |= {name for name in THINKING_FIELDS if fields.get(name)}
        case RawItem(_index, item):
            found.calls_tools |= item.get("type") == "function_call"
            found.items += item.get("type") == "reasoning"
            found.sealed_items += bool(item.get("encrypted_content"))
        case RawUsage(input_tokens, output_tokens):
            found.counts_tokens = input_tokens is not None or output_tokens is not None


def yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
