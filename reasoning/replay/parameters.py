"""How a request asks for reasoning: effort, budget and summary in each service's own parameters.

Where reasoning is off, none is asked for (spec 001 BR-006). A service that the dialect table knows no parameter for is
sent none: what was set and could not be asked for comes back as a note.
"""

from __future__ import annotations

import re
from typing import Any

from reasoning.replay.dialects import Dialect
from reasoning.settings import ReasoningSettings

CIPHERTEXT = "reasoning.encrypted_content"
_NOT_REASONING = re.compile(r"(?:.*/)?(?:gpt-[34]|chatgpt-)")  # models that refuse reasoning parameters


def response_params(settings: ReasoningSettings, model: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters of a stateless Responses request, and notes. Spec 002: ``include`` is part of each."""
    # Stateless: the log is the only memory. Ciphertext is requested even where reasoning is off (replay D7).
    params: dict[str, Any] = {"store": False, "include": [CIPHERTEXT]}
    if not settings.enabled or _NOT_REASONING.match(model):
        return params, ()
    reasoning = {"effort": settings.effort} if settings.effort else {}
    if settings.summary != "none":
        reasoning["summary"] = settings.summary or "auto"
    if reasoning:
        params["reasoning"] = reasoning
    notes = ("reasoning.maxTokens has no parameter in the Responses API",) if settings.max_tokens else ()
    return params, notes


def chat_params(
    settings: ReasoningSettings, dialect: Dialect, *, sends_all_reasoning: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters of a chat request, and notes on settings that this service has no parameter for.

    ``sends_all_reasoning``: all reasoning of this model is sent back, so the service may be asked to use it.
    """
    params = dict(dialect.always)
    if not settings.enabled:
        return params, ()
    effort, budget = settings.effort, settings.max_tokens
    switch = {"type": "disabled" if effort == "none" else "enabled"}
    unsupported = ["reasoning.maxTokens"] if budget and dialect.control != "openrouter" else []
    match dialect.control:
        case "openrouter":
            # One of the two: the service refuses both together.
            if effort:
                params["reasoning"] = {"effort": effort}
            elif budget:
                params["reasoning"] = {"max_tokens": budget}
        case _ if not effort:
            pass
        case "effort":
            params["reasoning_effort"] = effort
        case "thinking":
            params["thinking"] = switch
        case "thinking and effort":
            params |= {"thinking": switch} if effort == "none" else {"thinking": switch, "reasoning_effort": effort}
        case "template":
            params["chat_template_kwargs"] = {"enable_thinking": effort != "none"}
        case _:
            unsupported.append("reasoning.effort")
    # A service that is asked to use earlier thinking refuses a history without it.
    if sends_all_reasoning and effort != "none":
        params |= dialect.keeps_all
    return params, tuple(f"{name} has no parameter for this service ({dialect.name})" for name in unsupported)
