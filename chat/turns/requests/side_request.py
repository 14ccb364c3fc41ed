"""A request to the model beside the conversation, such as for a summary: no history, no tools, no reasoning."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace

from chat.providers.base import Provider, ProviderError, ProviderRequest
from chat.turns.metrics import model_request
from chat.turns.retry import RetryPolicy
from reasoning.deltas import Channel, Delta, RawEnd, RawFields
from reasoning.events import UserMessage
from reasoning.replay.plan import RequestTarget, plan_request
from reasoning.services.thinking_formats import find_thinking_format
from reasoning.settings import ReasoningSettings
from reasoning.stream.normalizer import Normalizer

logger = logging.getLogger(__name__)
MAX_INTAKE_CHARS = 200_000  # thinking included: a summary is not worth more


async def ask_aside(
    provider: Provider,
    target: RequestTarget,
    instructions: str,
    text: str,
    *,
    max_output_tokens: int,
    max_chars: int,
    thinking_format: str = "",
) -> str:
    """Return the model's answer; empty where it failed or was cut off. A busy service is waited for.

    ``max_chars``: of a longer answer nothing more is read, and nothing returned.
    ``thinking_format``: that of the model's profile, which else follows from the name of the model.
    """
    target = replace(target, max_output_tokens=max_output_tokens)
    plan = plan_request([UserMessage(text=text, seq=1, turn="aside")], ReasoningSettings(enabled=False), target)
    request = ProviderRequest(
        plan.body, instructions, tools=(), conversation="", optional=plan.optional, takes_system=plan.takes_system
    )
    # A model that was asked not to think begins with its answer.
    may_think = provider.starts_in_reasoning and not plan.switches_off
    family = find_thinking_format(provider.model, thinking_format)
    retry = RetryPolicy()
    while True:
        try:
            normalizer = Normalizer(starts_in_reasoning=may_think, family=family)
            return await _answer(provider, request, normalizer, max_chars)
        except ProviderError as error:
            logger.warning("side request failed", extra={"code": error.code})
            if not retry.take_wait(error):
                return ""
            await asyncio.sleep(retry.wait_s(error))


async def _answer(provider: Provider, request: ProviderRequest, normalizer: Normalizer, max_chars: int) -> str:
    answer, ended = "", ""
    chars = 0
    with model_request(provider):
        async with aclosing(provider.stream(request)) as stream:
            async for raw in stream:
                if isinstance(raw, RawFields):
                    chars += sum(len(value) for value in raw.fields.values() if isinstance(value, str))
                    answer += _visible(normalizer.feed(raw.fields))
                    if chars > MAX_INTAKE_CHARS or len(answer) > max_chars:
                        return ""
                elif isinstance(raw, RawEnd):
                    ended = raw.finish_reason
    answer += _visible(normalizer.finish())
    # Cut off or withheld, it would be half a summary or half a title.
    return answer.strip() if ended == "stop" else ""


def _visible(deltas: Iterable[Delta]) -> str:
    return "".join(str(delta.text) for delta in deltas if delta.channel is Channel.VISIBLE)
