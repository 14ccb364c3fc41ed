"""How a request asks for reasoning: effort, budget and summary in each service's own parameters.

A site or person who has reasoning off asks for none (spec 001 BR-006), and a service that the dialect table knows no
parameter for is sent none: what was set and could not be asked for comes back as a note.
"""

from __future__ import annotations

import re
from typing import Any

from reasoning.dialects import Dialect
from reasoning.policy import ReasoningSettings

CIPHERTEXT = "reasoning.encrypted_content"
_NO_REASONER = re.compile(r"(?:.*/)?(?:gpt-[34]|chatgpt-)")


def response_params(settings: ReasoningSettings, model: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters of a stateless Responses request, and notes. Spec 002: ``include`` goes with every one."""
    params: dict[str, Any] = {"store": False, "include": [CIPHERTEXT]}
    if not settings.enabled or _NO_REASONER.match(model):
        return params, ()
    asked = {"effort": settings.effort} if settings.effort else {}
    summary = settings.summary or "auto"
    if summary != "none":
        asked["summary"] = summary
    if asked:
        params["reasoning"] = asked
    notes = ("reasoning.maxTokens has no parameter in the Responses API",) if settings.max_tokens else ()
    return params, notes


def chat_params(
    settings: ReasoningSettings, dialect: Dialect, *, is_whole: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters of a chat request, and notes on settings that this service has no parameter for.

    ``is_whole``: all reasoning of this model goes back, so that the service may be asked to keep it.
    """
    params = dict(dialect.always)
    unsaid: list[str] = []
    if settings.enabled:
        params |= _control(settings, dialect, unsaid)
        if is_whole and settings.effort != "none":
            params |= dialect.keeps_whole
    return params, tuple(f"{name} has no parameter for this service ({dialect.name})" for name in unsaid)


def _control(settings: ReasoningSettings, dialect: Dialect, unsaid: list[str]) -> dict[str, Any]:
    effort, budget = settings.effort, settings.max_tokens
    if budget and dialect.control != "openrouter":
        unsaid.append("reasoning.maxTokens")
    match dialect.control:
        case "openrouter":
            # One of the two: the service refuses both together.
            asked = {"effort": effort} if effort else {"max_tokens": budget} if budget else {}
            return {"reasoning": asked} if asked else {}
        case _ if not effort:
            return {}
        case "effort":
            return {"reasoning_effort": effort}
        case "thinking":
            return {"thinking": {"type": _switch(effort)}}
        case "thinking and effort":
            more = {} if effort == "none" else {"reasoning_effort": effort}
            return {"thinking": {"type": _switch(effort)}, **more}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": effort != "none"}}
    unsaid.append("reasoning.effort")
    return {}


def _switch(effort: str) -> str:
    return "disabled" if effort == "none" else "enabled"
