"""Make a few small calls to a model, and compare what came back with what its profile says.

They show what the profile may leave to "automatic": tools, a system message, the order of messages, images, how the
model marks its thoughts, and its context limit. What the model says is neither stored nor returned.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.conf import settings as site
from django.utils.translation import gettext as _

from chat.conversations import model_choice
from chat.conversations.learned_facts import learned_facts
from chat.conversations.model_choice import ModelChoice, natural_dialect
from chat.models import ModelProfile
from chat.providers.base import Provider, ProviderError, ProviderRequest, parameter
from chat.providers.connections import NO_KEY
from chat.texts.error_texts import failure_text
from chat.turns.requests.planning import target_of
from reasoning.deltas import Channel, RawDelta, RawFields, RawItem, RawUsage
from reasoning.events import AttachedFile, Event, ToolCall, ToolResult, UserMessage
from reasoning.replay.dialects import AS_RECEIVED, dialect_named
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.replay.wire import format_of_dialect
from reasoning.services.text_calls import has_text_call
from reasoning.services.thinking_formats import families_in, find_thinking_format, starts_inside_thought
from reasoning.settings import ReasoningSettings
from reasoning.stream.normalizer import THINKING_FIELDS, Normalizer

TIMEOUT_S = 60.0
MIN_CONTEXT, MAX_CONTEXT = 1_000, 100_000_000  # that a profile may state, in tokens
TAGS = "think_tags"
_INSTRUCTIONS = "Answer in one word."
_PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
_TOOL = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": _PARAMETERS}}
_QUESTION = UserMessage(seq=1, turn="question", text="What is 2 + 3? Use the tool.")
# Two questions in a row, and one behind the result of a tool. Nothing but the questions is left without tools.
_ODD_ORDER: tuple[Event, ...] = (
    UserMessage(seq=1, turn="unanswered", text="Hello."),
    UserMessage(seq=2, turn="broken off", text="What is 2 + 3?"),
    ToolCall(seq=3, turn="broken off", step=0, call_id="call_0001", name="add", arguments='{"a": 2, "b": 3}'),
    ToolResult(seq=4, turn="broken off", step=0, call_id="call_0001", output="5", ok=True),
    UserMessage(seq=5, turn="newest", text="Say hello."),
)
# A black square. Some services refuse pictures of less than 28 pixels.
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAGUlEQVR42u3BMQEAAADCoPVP7WENoAAAAG4MIAABITLN7AAAAABJRU5ErkJggg=="
)
_IMAGE = AttachedFile(id="check", name="check.png", media_type="image/png", data=_PNG)
_PICTURE = UserMessage(seq=1, turn="picture", text="Which color is this?", attachments=(_IMAGE,))
# More than these calls need: what is read of their answers is only whether there is one.
_MAX_OUTPUT_TOKENS = 256
# A long answer needn't be searched for marks of thoughts.
_MAX_TEXT_CHARS = 100_000
# Refusals that may be about the tool or the system message. Other reasons say what else is wrong.
_OF_TOOL_OR_SYSTEM = frozenset({"", "tools", "system_role", "roles"})
_OF_ORDER = frozenset({"", "roles", "user_after_tool", "content"})
_OF_IMAGES = frozenset({"", "images", "content"})


@dataclass(slots=True)
class Findings:
    """What the calls showed. None: not tried, or it can't be said."""

    requests: int = 0
    first_s: float = 0.0
    pieces: int = 0
    fields: set[str] = field(default_factory=set)  # the native reasoning fields, as named on the wire
    thinking_field: str | None = None
    items: int = 0  # opaque reasoning items
    sealed_items: int = 0  # of them, those with ciphertext
    families: tuple[str, ...] = ()  # of thinking formats, the likeliest first
    starts_inside: bool | None = None
    calls_tools: bool = False
    writes_calls: bool = False  # as text, since its service has no parser for them
    takes_tools: bool = True
    takes_system: bool = True
    takes_any_order: bool | None = None
    order_reason: str = ""  # of a refusal of the order: a ``ProviderError.reason``
    takes_images: bool | None = None
    counts_tokens: bool = False
    context_limit: int | None = None  # as the service states it
    notes: tuple[str, ...] = ()
    stopped_by: ProviderError | None = None  # after which nothing else was tried


class CheckRow(NamedTuple):
    """One line of the report: what was found, what the profile says, and whether they differ.

    ``field``: of the profile, where ``value`` can be stored; empty where there is nothing to store.
    """

    name: str
    found: str
    configured: str = ""
    differs: bool = False
    field: str = ""
    value: str = ""

    @property
    def value_text(self) -> str:
        """The value as people read it."""
        return {"True": _("yes"), "False": _("no")}.get(self.value, self.value)


async def check_model(
    chosen: ModelChoice, profile: ModelProfile | None = None, *, timeout_s: float = TIMEOUT_S
) -> tuple[str, list[CheckRow]]:
    """Return the name of the model that answered, and the report. Raises ProviderError.

    ``profile``: that of ``chosen``. What isn't found out within ``timeout_s`` is left open, but for the first answer.
    """
    too_slow = ProviderError("timeout", "check", {"seconds": round(timeout_s)}, retryable=True)
    try:
        async with asyncio.timeout(timeout_s) as scope:
            # Its server may have been started with other options since the last request.
            provider = await model_choice.provider(chosen, is_new=True)
            target = target_of(chosen, model=provider.model, identity=provider.identity)
            found = await first_answer(provider, target, ReasoningSettings.from_layers(chosen.reasoning))
    except TimeoutError as error:
        raise too_slow from error
    try:
        async with asyncio.timeout_at(scope.when()):
            await try_order(provider, target, found)
            if found.stopped_by is None and is_open(profile, "takes_images", site.OPENAI_TAKES_IMAGES):
                await try_images(provider, target, found)
    except TimeoutError:
        found.stopped_by = too_slow
    learned = learned_facts.of(provider.identity, provider.model).tokens
    found.context_limit = min(filter(None, (found.context_limit, provider.context_limit, learned)), default=None)
    return provider.model, list(report(chosen, profile, target, found))


def is_open(profile: ModelProfile | None, name: str, setting: Any = None) -> bool:
    """Say whether a field of the profile, or without one the site's setting, leaves it to the automatic choice."""
    return (getattr(profile, name) if profile else setting) in (None, "")


async def first_answer(provider: Provider, target: RequestTarget, settings: ReasoningSettings) -> Findings:
    """Ask with a tool and a system message, and again without what is refused. At most four requests.

    Planned as every request is, so that the profile's own settings are tried with it. Raises ProviderError.
    """
    tries = [(True, True), (False, True), (True, False), (False, False)]  # with a tool, with a system message
    refusals: list[ProviderError] = []
    while tries:
        takes_tools, takes_system = tries.pop(0)
        capable = replace(target, takes_tools=takes_tools, takes_system=takes_system)
        try:
            found = await call_model(provider, plan_request((_QUESTION,), settings, capable), [_TOOL] * takes_tools)
        except ProviderError as error:
            refusals.append(error)
            if error.code != "refused" or error.reason not in _OF_TOOL_OR_SYSTEM:
                break
            if error.reason == "tools":
                tries = [one for one in tries if not one[0]]
            elif error.reason == "system_role":
                tries = [one for one in tries if not one[1]]
            continue
        found.takes_tools, found.takes_system, found.requests = takes_tools, takes_system, len(refusals) + 1
        return found
    # Where nothing helped, the first refusal is of the request as it would be made.
    last = refusals[-1]
    raise refusals[0] if last.code == "refused" and last.reason in _OF_TOOL_OR_SYSTEM else last


async def call_model(provider: Provider, plan: EgressPlan, tools: Sequence[Any]) -> Findings:
    """Return what one whole answer shows. Raises ProviderError."""
    normalizer, found, text = Normalizer(starts_in_reasoning=provider.starts_in_reasoning), Findings(), ""
    started = time.perf_counter()
    request = ProviderRequest(plan.body, _INSTRUCTIONS, tools, "", plan.optional, plan.takes_system)
    async with aclosing(provider.stream(request)) as deltas:
        async for raw in deltas:
            if isinstance(raw, RawFields):
                found.first_s = found.first_s or time.perf_counter() - started
                found.calls_tools |= any(delta.channel is Channel.TOOL for delta in normalizer.feed(raw.fields))
                text += str(raw.fields.get("content") or "") if len(text) < _MAX_TEXT_CHARS else ""
            note_delta(raw, found)
    # Only then it knows where the thinking came from.
    normalizer.finish()
    body = provider.request_body(request)
    refused = [setting for name, setting in plan.optional.items() if setting and parameter(body, name) is None]
    refusals = (_("%(setting)s: the service refused it") % {"setting": setting} for setting in refused)
    found.notes = (*map(str, plan.notes), *refusals)
    found.thinking_field = normalizer.source_field
    found.families = families_in(text)
    found.writes_calls = not found.calls_tools and has_text_call(text)
    if text.strip() or found.fields or found.items:
        found.starts_inside = starts_inside_thought(text)
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


async def try_order(provider: Provider, target: RequestTarget, found: Findings) -> None:
    """Ask with messages whose roles don't alternate."""
    target = replace(target, takes_tools=found.takes_tools, takes_system=found.takes_system, alternates_roles=False)
    tools = [_TOOL] * found.takes_tools
    refusal = await refusal_of(provider, plan_request(_ODD_ORDER, ReasoningSettings(), limit_output(target)), tools)
    found.takes_any_order = judge(refusal, _OF_ORDER, found)
    found.order_reason = refusal.reason if refusal else ""


async def try_images(provider: Provider, target: RequestTarget, found: Findings) -> None:
    """Ask about a small picture."""
    target = replace(target, takes_system=found.takes_system, takes_images=True)
    refusal = await refusal_of(provider, plan_request((_PICTURE,), ReasoningSettings(), limit_output(target)), ())
    found.takes_images = judge(refusal, _OF_IMAGES, found)


def limit_output(target: RequestTarget) -> RequestTarget:
    return replace(target, max_output_tokens=min(_MAX_OUTPUT_TOKENS, target.max_output_tokens or _MAX_OUTPUT_TOKENS))


async def refusal_of(provider: Provider, plan: EgressPlan, tools: Sequence[Any]) -> ProviderError | None:
    """Return why a request is refused; None as soon as its answer begins, the rest of which isn't read."""
    request = ProviderRequest(plan.body, _INSTRUCTIONS, tools, "", plan.optional, plan.takes_system)
    try:
        async with aclosing(provider.stream(request)) as deltas:
            async for _raw in deltas:
                break
    except ProviderError as error:
        return error
    return None


def judge(refusal: ProviderError | None, reasons: Collection[str], found: Findings) -> bool | None:
    """Say whether what was tried is accepted, counting the request; None where the failure has another cause."""
    found.requests += 1
    if refusal is None:
        return True
    found.context_limit = refusal.context_limit or found.context_limit
    if refusal.code == "refused" and refusal.reason in reasons:
        return False
    # A key, a connection or a quota that failed now would fail again.
    if refusal.code not in ("refused", "context_overflow"):
        found.stopped_by = refusal
    return None


def report(
    chosen: ModelChoice, profile: ModelProfile | None, target: RequestTarget, found: Findings
) -> Iterator[CheckRow]:
    """Compare what was found with the profile and with what is known of the model (replay decision D4)."""
    yield from connection_rows(chosen, found)
    yield from thinking_rows(chosen, profile, target, found)
    yield from ability_rows(chosen, profile, target, found)
    yield from limit_rows(chosen, profile, found)
    yield from dialect_rows(chosen, profile, target)
    for note in found.notes:
        yield CheckRow(_("note"), note, differs=True)
    yield CheckRow(_("requests"), str(found.requests))
    if found.stopped_by:
        yield CheckRow(_("stopped"), failure_text(found.stopped_by, for_staff=True, place=chosen.place))


def connection_rows(chosen: ModelChoice, found: Findings) -> Iterator[CheckRow]:
    yield CheckRow(_("reachable"), _("first piece after %(seconds)s s") % {"seconds": f"{found.first_s:.1f}"})
    has_key = chosen.config.connection is not None and chosen.config.connection.api_key != NO_KEY
    yield CheckRow(_("key"), _("accepted") if has_key else _("none is sent"))
    pieces = _("%(count)s pieces") % {"count": found.pieces}
    yield CheckRow(_("streaming"), pieces if found.pieces > 1 else _("no, the answer came whole"))


def thinking_rows(
    chosen: ModelChoice, profile: ModelProfile | None, target: RequestTarget, found: Findings
) -> Iterator[CheckRow]:
    """How it thinks, and how that is sent back."""
    text_field = target.contract.text_field
    sent_back = text_field if text_field not in ("", AS_RECEIVED) else ""
    fields = found.fields - {"reasoning_details"}
    thinking = _("none seen")
    if found.items:
        counts = {"count": found.items, "sealed": found.sealed_items}
        thinking = _("opaque items (%(count)s, encrypted %(sealed)s)") % counts
    elif found.fields:
        thinking = _("field %(names)s") % {"names": ", ".join(sorted(found.fields))}
    elif found.families:
        thinking = _("marks inside the answer")
    elif found.thinking_field == TAGS:
        thinking = _("tags inside the answer")
    configured = _("sent back as %(name)s") % {"name": sent_back} if sent_back else ""
    yield CheckRow(_("thinking"), thinking, configured, bool(sent_back and fields) and sent_back not in fields)

    used = find_thinking_format(target.model, chosen.thinking_format)
    used_name = used.name if used else ""
    # Several families share some marks: the one in use counts if it is among them.
    seen = used_name if used_name in found.families else next(iter(found.families), "")
    yield CheckRow(
        _("thinking format"),
        seen or _("no marks of a family"),
        with_origin(used_name or _("tags of every model"), is_open(profile, "thinking_format", chosen.thinking_format)),
        bool(seen) and seen != used_name,
        *storable(profile, "thinking_format", seen or None),
    )
    # For some families it is known without the profile.
    starts = chosen.config.starts_in_reasoning or bool(found.starts_inside and used and used.starts_in_thought)
    yield CheckRow(
        _("starts in reasoning"),
        yes_or_no(found.starts_inside),
        yes_or_no(starts),
        # A model that was not seen to think fits a profile that doesn't expect it.
        bool(found.starts_inside) != starts,
        *storable(profile, "starts_in_reasoning", found.starts_inside),
    )


def ability_rows(
    chosen: ModelChoice, profile: ModelProfile | None, target: RequestTarget, found: Findings
) -> Iterator[CheckRow]:
    """What requests may contain."""
    contract = target.contract
    called = _("called as text: no parser") if found.writes_calls else _("accepted, none called")
    called = _("called") if found.calls_tools else called
    yield CheckRow(
        _("tools"),
        called if found.takes_tools else _("refused"),
        with_origin(_("offered") if contract.takes_tools else _("not offered"), is_open(profile, "takes_tools")),
        found.writes_calls or found.takes_tools != contract.takes_tools,
        # Whether a parser will be configured or tools be switched off is for the operator to say.
        *storable(profile, "takes_tools", None if found.writes_calls else found.takes_tools),
    )
    yield CheckRow(
        _("system message"),
        accepted_or_not(found.takes_system),
        _("sent") if contract.takes_system else _("in front of the first question"),
        found.takes_system != contract.takes_system,
    )
    orders = {"roles": _("must alternate"), "user_after_tool": _("no question behind a tool result")}
    is_refused = found.takes_any_order is False
    order = orders.get(found.order_reason, _("refused")) if is_refused else accepted_or_not(found.takes_any_order)
    yield CheckRow(_("roles in any order"), order, _("always alternate"))
    is_automatic = is_open(profile, "takes_images", site.OPENAI_TAKES_IMAGES)
    yield CheckRow(
        _("images"),
        accepted_or_not(found.takes_images) if is_automatic else _("not tried"),
        with_origin(_("sent") if chosen.takes_images else _("not sent"), is_automatic),
        found.takes_images not in (None, chosen.takes_images),
        *storable(profile, "takes_images", found.takes_images),
    )


def limit_rows(chosen: ModelChoice, profile: ModelProfile | None, found: Findings) -> Iterator[CheckRow]:
    yield CheckRow(_("token counts"), _("reported") if found.counts_tokens else _("not reported, so estimated"))
    limit, used = found.context_limit, chosen.context_limit
    origin = _("of the profile") if profile and profile.context_limit else "CONTEXT_LIMIT"
    configured = f"{used} ({origin})" if used else _("what the service states")
    is_lower = limit is not None and (used is None or limit < used)
    # A lower one of the profile or the site is meant to be lower.
    value = limit if is_lower and limit and MIN_CONTEXT <= limit <= MAX_CONTEXT else None
    yield CheckRow(
        _("context limit"),
        str(limit or _("not reported")),
        configured,
        is_lower and used is not None,
        *storable(profile, "context_limit", value),
    )


def dialect_rows(chosen: ModelChoice, profile: ModelProfile | None, target: RequestTarget) -> Iterator[CheckRow]:
    """What its dialect requires of the profile and of the settings."""
    natural, dialect = natural_dialect(chosen.config), target.contract
    is_known = natural != dialect_named("").name
    checked = _("%(name)s, checked %(month)s") % {"name": dialect.name, "month": dialect.checked}
    yield CheckRow(
        _("dialect"),
        natural,
        with_origin(checked, is_open(profile, "dialect")),
        is_known and natural != chosen.dialect,
        *storable(profile, "dialect", natural if is_known else None),
    )
    required_api = format_of_dialect(chosen.dialect).name
    yield CheckRow(_("API of the dialect"), required_api, chosen.config.api, required_api != chosen.config.api)
    # Inside a running turn a service that insists gets its thinking whatever is set (product 31), and steps of earlier
    # turns are left out where nothing is set. It refuses what a setting withholds, and answers without their thinking.
    settings = ReasoningSettings.from_layers(chosen.reasoning)
    include, strip = settings.include_in_context, settings.strip_from_context
    insists = {"calls": include is False, "everything": not include}
    if dialect.needs in insists:
        yield CheckRow(
            "reasoning.includeInContext",
            "true" if dialect.needs == "everything" else _("true, or not set"),
            _("not set") if include is None else str(include).lower(),
            insists[dialect.needs],
        )
        yield CheckRow("reasoning.stripFromContext", "none", strip or "", strip not in (None, "none"))


def storable(profile: ModelProfile | None, name: str, value: str | int | None) -> tuple[str, str]:
    """Return the field and its new value; empty where nothing was found, or the profile says so already."""
    if profile is None or value is None or getattr(profile, name) == value:
        return "", ""
    return name, str(value)


def with_origin(value: str, is_automatic: bool) -> str:
    return _("automatic: %(value)s") % {"value": value} if is_automatic else value


def accepted_or_not(value: bool | None) -> str:
    return _("not known") if value is None else _("accepted") if value else _("refused")


def yes_or_no(value: bool | None) -> str:
    return _("not known") if value is None else _("yes") if value else _("no")
