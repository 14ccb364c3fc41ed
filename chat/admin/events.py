"""The public half of an event, in words for staff: masked again as it is shown, and within the site's flags.

Reads no sealed column. What a service called itself, and what the model called its tools, is text from outside too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.preferences import site_flags
from chat.models import Event
from chat.payloads import up_to_date
from reasoning.policy import Viewer, Visibility, visibility
from reasoning.redaction import SECRETS_ONLY, Redactor, redact_text, redact_trace

Fact = tuple[str | Promise, object]

KINDS: Mapping[str, str | Promise] = {
    "user_message": gettext_lazy("Question"),
    "assistant_message": gettext_lazy("Answer"),
    "reasoning": gettext_lazy("Thinking (sealed)"),
    "tool_call": gettext_lazy("Tool called"),
    "tool_result": gettext_lazy("Tool result"),
    "permission_decision": gettext_lazy("Permission"),
    "compaction": gettext_lazy("Earlier turns summarised"),
    "turn_end": gettext_lazy("End of the turn"),
}


def kind(event: Event) -> str:
    """Return what sort of event it is, in words."""
    return str(KINDS.get(event.type, event.type))


def told(event: Event) -> SafeString:
    """Return what may be read of an event."""
    public = up_to_date(event.type, event.schema, event.public)
    facts = [(label, value) for label, value in _facts(event.type, public, staff_sees()) if value not in ("", None)]
    return format_html('<dl class="told">{}</dl>', format_html_join("", "<dt>{}</dt><dd>{}</dd>", facts))


def staff_sees() -> Visibility:
    """Decide what staff see of others' answers: what the site shows at all, and no thinking. Product 13, 14, 15."""
    everything = visibility(site_flags(), Viewer(show_reasoning=True, show_trace=True))
    return everything.only(summary=True, trace=True, thinking=False)


def _facts(kind_: str, public: Mapping[str, Any], sees: Visibility) -> Iterator[Fact]:
    match kind_:
        case "user_message" | "assistant_message":
            yield from _message(public, sees)
        case "reasoning":
            yield from _reasoning(public, sees)
        case "tool_call" | "tool_result":
            yield from _tool(public, sees)
        case "permission_decision":
            yield _("Decision"), _plain(public.get("decision"))
            yield _("By"), _plain(public.get("by"))
        case "compaction":
            yield _("Up to event"), public.get("to_seq")
        case "turn_end":
            yield _("Status"), _plain(public.get("status"))


def _message(public: Mapping[str, Any], sees: Visibility) -> Iterator[Fact]:
    yield _("Text"), Redactor(SECRETS_ONLY).redact_text(str(public.get("text", "")))
    if public.get("partial"):
        yield _("Cut off"), _("yes")
    if sees.summary:
        yield _("Summary"), _lines([str(bullet) for bullet in public.get("summary") or ()])
    yield _("Citations"), len(public.get("citations") or ()) or ""


def _reasoning(public: Mapping[str, Any], sees: Visibility) -> Iterator[Fact]:
    if sees.reasoning_possible:
        yield _("Came as"), _plain(public.get("source_field") or public.get("kind"))
        yield _("Tokens, estimated"), public.get("tokens_est") or ""


def _tool(public: Mapping[str, Any], sees: Visibility) -> Iterator[Fact]:
    if not sees.trace:
        return
    yield _("Tool"), _plain(public.get("name"))
    trace = public.get("trace")
    if not isinstance(trace, Mapping):
        return
    [step] = redact_trace([trace])
    yield _("Tool"), _plain(step.get("tool"))
    yield _("Arguments"), json.dumps(step.get("args"), ensure_ascii=False)
    yield _("Status"), _plain(step.get("status"))
    yield _("Results"), step.get("results")
    yield _("Duration in ms"), step.get("durationMs")
    yield _("Error"), _plain(step.get("error"))


def _plain(value: object) -> str:
    return redact_text(str(value)) if value else ""


def _lines(texts: Sequence[str]) -> SafeString | str:
    items = format_html_join("", "<li>{}</li>", ((redact_text(text),) for text in texts))
    return format_html("<ul>{}</ul>", items) if texts else ""
