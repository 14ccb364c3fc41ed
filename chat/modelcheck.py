"""What one real call to a model shows: how it streams, thinks, calls tools and counts, and what it says of its limits.

Keeps and prints nothing that the model said. Whether that fits its profile is judged in ``chat.modeladvice``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from chat.planning import target_of
from chat.providers.base import Provider, ProviderError, ProviderRequest
from chat.providers.openai_client import Connection, client_for
from chat.upstream import ChosenModel
from reasoning.deltas import Channel, Delta, RawDelta, RawEnd, RawFields, RawItem, RawUsage
from reasoning.egress import EgressPlan, plan_request
from reasoning.events import UserMessage
from reasoning.normalizer import Normalizer
from reasoning.policy import ReasoningSettings

TAGS = "think_tags"
_PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
_TOOL = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": _PARAMETERS}}
_QUESTION = "What is 2 + 3? Use the tool."
_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_NATIVE = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
# Where /v1/models tells the limit, by service: OpenRouter, vLLM, Groq, Mistral, LM Studio, llama.cpp (in "meta").
_LIMITS = ("context_length", "max_model_len", "context_window", "max_context_length", "loaded_context_length", "n_ctx")
_MAX_TAG_SEARCH_CHARS = 100_000


@dataclass(slots=True)
class Findings:
    """What the calls showed. ``takes_tools`` is False where a request with tools was refused."""

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
    context_limit: int | None = None  # as the service tells it
    notes: tuple[str, ...] = ()


async def check(provider: Provider, chosen: ChosenModel) -> Findings:
    """Call the model once; where it refuses the tool, once more without. Raises ProviderError."""
    plan = _plan(provider, chosen)
    try:
        found = await _call(provider, plan, [_TOOL])
    except ProviderError as error:
        if error.code != "refused" or "tool" not in error.message.lower():
            raise
        found = await _call(provider, plan, [])
        found.takes_tools = False
    found.notes = plan.notes
    found.context_limit = await _told_limit(provider, chosen)
    return found


def _plan(provider: Provider, chosen: ChosenModel) -> EgressPlan:
    """Plan the call as every request is, so that the profile's own settings are tried with it."""
    target = target_of(chosen, model=provider.model, identity=provider.identity)
    settings = ReasoningSettings.from_layers(chosen.reasoning)
    return plan_request((UserMessage(seq=1, turn="check", text=_QUESTION),), settings, target)


async def _call(provider: Provider, plan: EgressPlan, tools: Sequence[Mapping[str, Any]]) -> Findings:
    normalizer, found, text = Normalizer(starts_in_reasoning=provider.starts_in_reasoning), Findings(), ""
    started = time.perf_counter()
    async with aclosing(provider.stream(ProviderRequest(plan.body, "", tools, ""))) as deltas:
        async for raw in deltas:
            if isinstance(raw, RawFields):
                found.first_s = found.first_s or time.perf_counter() - started
                found.calls_tools |= _has_call(normalizer.feed(raw.fields))
                text += str(raw.fields.get("content") or "") if len(text) < _MAX_TAG_SEARCH_CHARS else ""
            _note(raw, found)
    normalizer.finish()
    found.thinking_field, found.starts_inside = normalizer.source_field, _starts_inside(text)
    return found


def _note(raw: RawDelta, found: Findings) -> None:
    match raw:
        case RawFields(fields):
            found.pieces += 1
            found.fields |= {name for name in _NATIVE if fields.get(name)}
        case RawItem(_index, item):
            found.calls_tools |= item.get("type") == "function_call"
            found.items += item.get("type") == "reasoning"
            found.sealed_items += bool(item.get("encrypted_content"))
        case RawUsage(input_tokens, output_tokens):
            found.counts_tokens = input_tokens is not None or output_tokens is not None
        case RawEnd():
            pass


def _has_call(deltas: Sequence[Delta]) -> bool:
    return any(delta.channel is Channel.TOOL for delta in deltas)


def _starts_inside(text: str) -> bool:
    """Return whether the first delimiter of an answer ends a thought that nothing began."""
    first = _TAG.search(text)
    return first is not None and first[1] == "/"


async def _told_limit(provider: Provider, chosen: ChosenModel) -> int | None:
    """Return the context limit as ``/v1/models`` tells it; None where it doesn't, or can't be asked."""
    config = chosen.config
    connection = Connection(config.base_url or "", config.api_key or "none", config.connect_s, config.idle_s)
    try:
        listed = await (await client_for(connection)).models.with_raw_response.list()
        rows = listed.http_response.json().get("data") or ()
        return next((told_limit(row) for row in rows if row.get("id") == provider.model), None)
    except Exception:  # noqa: BLE001 - the answer came; whatever this one lacks is no failure of the model
        return None


def told_limit(row: Mapping[str, Any]) -> int | None:
    """Return the context limit that one row of ``/v1/models`` tells; None where it tells none."""
    places = (row, row.get("meta") or {})
    told = (place.get(name) for place in places for name in _LIMITS)
    return next((limit for limit in told if isinstance(limit, int) and limit > 0), None)
