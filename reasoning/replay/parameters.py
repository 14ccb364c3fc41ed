"""How a request asks for reasoning: effort, budget and summary in each service's own parameters.

Where reasoning is off, none is asked for, and where a service reasons by default it is switched off (spec 001
BR-006). What was set and can't be asked for comes back as a note (product 24).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reasoning.replay.dialects import Dialect
from reasoning.settings import ReasoningSettings

CIPHERTEXT = "reasoning.encrypted_content"
_NOT_REASONING = re.compile(r"(?:.*/)?(?:gpt-[34]|chatgpt-)")  # models that refuse reasoning parameters
_ALWAYS_REASONING = re.compile(r".*(?:thinking|reasoner|-r1)")  # models that can't be switched off
_SWITCH_VALUES = ("none", "medium")  # efforts that mean no more than off and on


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a request body.

    ``notes`` name settings that reach nothing. ``optional``: the parameters that are left out where the service refuses
    them, each with the setting that it comes from.
    """

    body: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)


def request_params(
    settings: ReasoningSettings,
    *,
    api: Literal["chat", "responses"],
    model: str,
    dialect: Dialect,
    sends_all_reasoning: bool = False,
    may_switch_off: bool = True,
) -> Parameters:
    """Return the parameters of a request to this model.

    ``sends_all_reasoning``: all reasoning of this model is sent back, so the service may be asked to use it.
    ``may_switch_off``: where reasoning is off, a service may be asked to switch it off; else nothing is sent about it
    (product 13).
    """
    if api == "responses":
        return response_params(settings, model)
    if not settings.enabled and not may_switch_off:
        return Parameters(dict(dialect.always))
    return chat_params(settings, model, dialect, sends_all_reasoning=sends_all_reasoning)


def response_params(settings: ReasoningSettings, model: str) -> Parameters:
    """Return the parameters of a stateless Responses request. Spec 002: ``include`` is part of each."""
    # Stateless: the log is the only memory. Ciphertext is requested even where reasoning is off (replay D7).
    body: dict[str, Any] = {"store": False, "include": [CIPHERTEXT]}
    if not settings.enabled:
        return Parameters(body)
    if _NOT_REASONING.match(model):
        return Parameters(body, missing(model, *set_names(settings)))
    reasoning = {"effort": settings.effort} if settings.effort else {}
    if settings.summary != "none":
        reasoning["summary"] = settings.summary or "auto"
    if reasoning:
        body["reasoning"] = reasoning
    return Parameters(body, missing("the Responses API", "reasoning.maxTokens") if settings.max_tokens else ())


def output_limit(dialect: Dialect, api: str, tokens: int | None) -> dict[str, Any]:
    """Return the parameter that limits the length of an answer, its reasoning included; none for the service's own."""
    if tokens is None:
        return {}
    return {"max_output_tokens" if api == "responses" else dialect.output_limit: tokens}


def chat_params(settings: ReasoningSettings, model: str, dialect: Dialect, *, sends_all_reasoning: bool) -> Parameters:
    """Return the parameters of a chat request."""
    body = dict(dialect.always)
    service = f"this service ({dialect.name})"
    notes: tuple[str, ...] = ()
    if settings.include_in_context and not dialect.text_field and dialect.takes_details is False:
        notes = (f"reasoning.includeInContext: {service} takes no reasoning back",)
    if not settings.enabled:
        off = {} if _ALWAYS_REASONING.match(model.lower()) else dialect.off
        notes += () if off else missing(service, "reasoning.enabled")
        return Parameters({**body, **off}, notes, dict.fromkeys(off, "reasoning.enabled"))
    if dialect.name == "openai" and _NOT_REASONING.match(model):
        return Parameters(body, notes + missing(model, *set_names(settings)))

    effort, budget = settings.effort, settings.max_tokens
    asked, takes_budget = effort_params(effort, dialect), dialect.control in ("openrouter", "enable_thinking")
    if dialect.control == "openrouter" and budget and not effort:
        asked = {"reasoning": {"max_tokens": budget}}
    elif dialect.control == "enable_thinking" and budget:
        asked = {**asked, "thinking_budget": budget}
    if effort and dialect.control == "none":
        notes += missing(service, "reasoning.effort")
    elif effort not in (None, *_SWITCH_VALUES) and dialect.control in ("thinking", "template", "enable_thinking"):
        notes += (f"reasoning.effort: {service} can only be switched on and off",)
    if budget and not takes_budget:
        notes += missing(service, "reasoning.maxTokens")
    elif budget and effort and dialect.control == "openrouter":
        # It refuses both together.
        notes += (f"reasoning.maxTokens: {service} takes none beside reasoning.effort",)
    if settings.summary not in (None, "none"):
        notes += missing(service, "reasoning.summary")
    body |= asked
    # A service that is asked to use earlier thinking refuses a history without it.
    if sends_all_reasoning and effort != "none":
        body |= dialect.keeps_all
    return Parameters(body, notes, dict.fromkeys(asked, "reasoning.effort") if dialect.models_differ else {})


def effort_params(effort: str | None, dialect: Dialect) -> dict[str, Any]:
    """Return the parameters that ask for an effort, in the service's own form."""
    if not effort:
        return {}
    switch = {"type": "disabled" if effort == "none" else "enabled"}
    match dialect.control:
        case "effort":
            return {"reasoning_effort": effort}
        case "openrouter":
            return {"reasoning": {"effort": effort}}
        case "thinking":
            return {"thinking": switch}
        case "thinking and effort":
            return {"thinking": switch} if effort == "none" else {"thinking": switch, "reasoning_effort": effort}
        case "enable_thinking":
            return {"enable_thinking": effort != "none"}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": effort != "none"}}
        case _:
            return {}


def set_names(settings: ReasoningSettings) -> tuple[str, ...]:
    """Return the settings that ask for something and are set."""
    asked = {
        "reasoning.effort": settings.effort,
        "reasoning.maxTokens": settings.max_tokens,
        "reasoning.summary": None if settings.summary == "none" else settings.summary,
    }
    return tuple(name for name, value in asked.items() if value)


def missing(service: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{name}: {service} has no parameter for it" for name in names)
