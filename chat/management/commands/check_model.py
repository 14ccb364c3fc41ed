"""``check_model``: one tiny call to a model at the configured endpoint, and in plain words what came back."""

from __future__ import annotations

import asyncio
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from chat.providers import Provider, ProviderError, build_provider
from chat.providers.base import ProviderRequest
from chat.providers.openai_client import close_clients
from chat.upstream import provider_config
from reasoning.deltas import Channel, Delta, RawEnd, RawFields, RawUsage
from reasoning.normalizer import Normalizer

_PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
_TOOL = {"type": "function", "function": {"name": "add", "description": "Add two numbers.", "parameters": _PARAMETERS}}
_QUESTION = "What is 2 + 3? Use the tool."


@dataclass(frozen=True, slots=True)
class Findings:
    """What one call showed. ``takes_tools`` is False where a request with tools was refused."""

    first_s: float = 0.0
    pieces: int = 0
    thinking_field: str | None = None
    calls_tools: bool = False
    takes_tools: bool = True
    counts_tokens: bool = False
    finish_reason: str = ""


async def check(provider: Provider) -> Findings:
    """Call the model once; where it refuses the tool, once more without. Raises ProviderError."""
    try:
        return await _call(provider, [_TOOL])
    except ProviderError as error:
        if error.code != "refused" or "tool" not in error.message.lower():
            raise
    return replace(await _call(provider, []), takes_tools=False)


async def _call(provider: Provider, tools: Sequence[Mapping[str, Any]]) -> Findings:
    body = {"messages": [{"role": "user", "content": _QUESTION}], "model": provider.model}
    normalizer, findings, started = Normalizer(), Findings(), time.perf_counter()
    async with aclosing(provider.stream(ProviderRequest(body, "", tools, ""))) as deltas:
        async for raw in deltas:
            match raw:
                case RawFields(fields):
                    first_s = findings.first_s or time.perf_counter() - started
                    calls = findings.calls_tools or _has_call(normalizer.feed(fields))
                    findings = replace(findings, first_s=first_s, pieces=findings.pieces + 1, calls_tools=calls)
                case RawUsage():
                    findings = replace(findings, counts_tokens=True)
                case RawEnd(finish_reason):
                    findings = replace(findings, finish_reason=finish_reason)
    normalizer.finish()
    return replace(findings, thinking_field=normalizer.source_field)


def _has_call(deltas: Sequence[Delta]) -> bool:
    return any(delta.channel is Channel.TOOL for delta in deltas)


def told(findings: Findings) -> Iterator[str]:
    """Yield the findings as lines to read."""
    yield _("Reachable: yes, the first piece came after %(seconds).1f s.") % {"seconds": findings.first_s}
    if findings.pieces > 1:
        yield _("Streams: yes, in %(pieces)d pieces.") % {"pieces": findings.pieces}
    else:
        yield _("Streams: no, the answer came whole.")
    yield _thinking(findings.thinking_field)
    yield _tools(findings)
    yield (
        _("Token counts: reported.") if findings.counts_tokens else _("Token counts: not reported; estimates are used.")
    )


def _thinking(field: str | None) -> str:
    if field is None:
        return _("Thinking: none seen in this answer.")
    if field == "think_tags":
        return _("Thinking: in tags inside the answer; they are taken out.")
    return _("Thinking: in the field %(field)s.") % {"field": field}


def _tools(findings: Findings) -> str:
    if not findings.takes_tools:
        return _("Tools: refused. This model cannot search the filings.")
    if findings.calls_tools:
        return _("Tools: it called the one that it was offered.")
    return _("Tools: accepted, but it called none.")


class Command(BaseCommand):
    """See the module."""

    help = "Make one tiny call to a model at the configured endpoint and say what was found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="a model name at the configured endpoint")

    def handle(self, *args: Any, **options: Any) -> None:
        config = provider_config()
        if config.is_offline:
            raise CommandError(_("No endpoint is configured, so the offline analyst answers. Set OPENAI_BASE_URL."))
        provider = build_provider(replace(config, model=options["name"]))
        self.stdout.write(_("Model: %(name)s") % {"name": options["name"]})
        try:
            findings = asyncio.run(_checked(provider))
        except ProviderError as error:
            raise CommandError(error.message) from error
        for line in told(findings):
            self.stdout.write(line)


async def _checked(provider: Provider) -> Findings:
    try:
        return await check(provider)
    finally:
        await close_clients()
