"""What the pages of the next request show: ready values, so that the templates decide nothing.

Administrators read the redacted request, everybody its parts, in tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from chat.conversations import reasoning_settings
from chat.providers.base import shown_model
from chat.request_preview.masking import masked_body
from chat.request_preview.plan import NextRequest
from chat.texts.stored_text import translate_stored
from reasoning.events import (
    AssistantMessage,
    AttachedFile,
    Compaction,
    Event,
    Reasoning,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reasoning.redaction import DEFAULT, TRUNCATED, Redactor
from reasoning.replay.dialects import dialect_named
from reasoning.replay.plan import COMPACTED, Omission
from reasoning.replay.selection import ReasonWords
from reasoning.replay.tokens import entry_tokens, event_tokens, question_tokens, text_tokens
from reasoning.replay.wire.calls import NOT_RUN
from reasoning.visibility import Visibility

SENDABLE = (UserMessage, Reasoning, AssistantMessage, ToolCall, ToolResult)
EXCERPT = Redactor(replace(DEFAULT, text_limit=80, window=512, private=False))
BAR_GAP = 0.25  # percent of the bar between two segments
NO_SEQ = "–"
# The share of the bar to which a row belongs by its kind; all others are messages.
SHARES = {
    "instructions": "instructions",
    "tools": "tools",
    "tool_call": "tools",
    "tool_result": "tools",
    "reasoning": "thinking",
    "attachments": "attachments",
}
NO_TOKENS: Mapping[str, int] = {}
# The same sentence for everybody, where several reasons are one to people who don't administrate the site.
_OLD_THINKING = gettext_noop("Thinking of earlier answers isn’t sent.")
_THINKING_NOT_TAKEN = gettext_noop("Thinking isn’t sent: this model accepts none of earlier answers.")
_FOREIGN_THINKING = gettext_noop("Thinking of another model isn’t sent: only that model can read it.")
_UNFINISHED = gettext_noop("Unfinished parts of answers that failed aren’t sent.")
_TOOLS_NOT_TAKEN = gettext_noop("Earlier tool calls aren’t sent: this model accepts none.")
_NOT_ACCEPTED = gettext_noop("Parts that the model’s service wouldn’t accept aren’t sent.")
_REFUSED = gettext_noop("What the model’s service refused before isn’t sent again.")
# Why something is not sent: for administrators, and for everybody. What has one sentence is one line of theirs.
REASONS: Mapping[ReasonWords, tuple[str, str]] = {
    "part of the summary": (
        gettext_noop("Replaced by a summary"),
        gettext_noop("Earlier messages were summarised. The summary is sent in their place."),
    ),
    "left out, so that the request fits": (
        gettext_noop("Omitted so that the request fits"),
        gettext_noop("The oldest messages are left out, so that the rest fits."),
    ),
    "a result without its call": (gettext_noop("A result that belongs to no call"), _NOT_ACCEPTED),
    "reasoning.stripFromContext is {}": (
        gettext_noop("Thinking of an earlier turn; reasoning.stripFromContext is “%(value)s”"),
        _OLD_THINKING,
    ),
    "reasoning.includeInContext is off": (
        gettext_noop("Thinking, and reasoning.includeInContext is off"),
        _OLD_THINKING,
    ),
    "the same call a second time": (gettext_noop("The same call a second time"), _NOT_ACCEPTED),
    "partial text of a failed turn": (gettext_noop("Partial answer of a failed turn"), _UNFINISHED),
    "a call of a failed turn that never ran": (gettext_noop("Unexecuted tool call of a failed turn"), _UNFINISHED),
    "reasoning of a failed turn, without a follower": (gettext_noop("Unused thinking of a failed turn"), _UNFINISHED),
    "of a response that did not end well": (gettext_noop("Encrypted thinking of a failed response"), _UNFINISHED),
    "it was purged": (
        gettext_noop("It was deleted after THINKING_RETENTION_DAYS"),
        gettext_noop("Thinking that is too old to be stored any longer isn’t sent."),
    ),
    "reasoning of this kind has no place in a {} request": (
        gettext_noop("Thinking of this kind has no place in this API (%(value)s)"),
        _THINKING_NOT_TAKEN,
    ),
    "{} takes no tools": (gettext_noop("This service accepts no tools (%(value)s)"), _TOOLS_NOT_TAKEN),
    "{} takes no reasoning back": (gettext_noop("This service accepts no thinking (%(value)s)"), _THINKING_NOT_TAKEN),
    "{} takes no reasoning details back": (
        gettext_noop("This service accepts no reasoning details (%(value)s)"),
        _THINKING_NOT_TAKEN,
    ),
    "{} takes no such step without its reasoning": (
        gettext_noop("This service accepts no such step without its thinking (%(value)s)"),
        _NOT_ACCEPTED,
    ),
    "made by {}": (gettext_noop("Written by another model (%(value)s) than the one asked now"), _FOREIGN_THINKING),
    "made at another endpoint or with another key": (
        gettext_noop("Written at another endpoint, or with another key"),
        _FOREIGN_THINKING,
    ),
    "the service refused its own items": (gettext_noop("The service refused its own sealed thinking"), _REFUSED),
    "an item that is no object": (gettext_noop("A sealed item that can’t be read"), _NOT_ACCEPTED),
    "an item without ciphertext is not found by its service": (
        gettext_noop("Can’t be sent back: the service sent no sealed content"),
        _NOT_ACCEPTED,
    ),
    "the same item a second time": (gettext_noop("The same sealed item a second time"), _NOT_ACCEPTED),
    "reasoning that nothing follows": (gettext_noop("Thinking that nothing follows"), _NOT_ACCEPTED),
    "the service refused this question": (gettext_noop("The service refused this question"), _REFUSED),
    "the service failed at the results of these calls": (
        gettext_noop("The service failed at the results of these calls"),
        _NOT_ACCEPTED,
    ),
}


class BarSegment(NamedTuple):
    """A segment of the bar of tokens. ``x`` and ``width`` are percentages, formatted independently of the locale."""

    name: str
    label: str
    tokens: int
    x: str
    width: str


class SentRow(NamedTuple):
    """One part of what is sent. ``seq`` is its event's, or a dash for what the log doesn't hold."""

    seq: str
    kind: str
    content: str
    tokens: int


class LeftOutLine(NamedTuple):
    """What is not sent for one reason, in a plain sentence."""

    sentence: str
    tokens: int


class LeftOutRow(NamedTuple):
    """One event that isn't sent, or a run of events that a summary replaces."""

    seq: str
    kind: str
    reason: str
    rule: str
    tokens: int


def preview_values(preview: NextRequest, sees: Visibility) -> dict[str, Any]:
    """Return what this viewer may see of a planned request; ``sent``, ``left_out``, ``stored``, ``limit`` in tokens."""
    plan, target, config = preview.plan, preview.target, preview.chosen.config
    rows = list(sent_rows(preview, sees))
    return {
        "model": shown_model(target.model),
        "host": config.host or _("this server, offline"),
        "api": target.api,
        "dialect": dialect_named(target.dialect).name,
        "sent": plan.effective_tokens,
        "left_out": plan.stored_tokens - plan.effective_tokens,
        "stored": plan.stored_tokens,
        "limit": target.limit,
        "shares": list(bar(preview, rows)),
        "sent_rows": rows,
        "left_out_rows": list(left_out_rows(preview)),
        "notes": list(notes(preview)),
        "should_compact": plan.should_compact,
        "hides_reasoning": not (sees.show_reasoning and sees.may_open_thinking),
        "body": masked_body(preview.body, sees),
    }


def overview_values(
    preview: NextRequest, sees: Visibility, draft: str, files: Sequence[AttachedFile]
) -> dict[str, Any]:
    """Return the parts of the next request and what is left out, in tokens; ``draft`` and ``files`` wait to be sent."""
    rows = list(sent_rows(preview, sees))
    left_out = left_out_lines(preview, sees)
    if not sees.reasoning_possible:  # whether there is thinking is not said
        rows = [row._replace(kind="messages") if row.kind == Reasoning.type else row for row in rows]
    waiting = {"question": text_tokens(draft), "attachments": question_tokens("", files)}
    return {
        "model": translate_stored(preview.chosen.label) or shown_model(preview.target.model),
        "sent": preview.plan.effective_tokens + sum(waiting.values()),
        "limit": preview.target.limit,
        "shares": list(bar(preview, rows, waiting)),
        "has_draft": bool(draft),
        "left_out": left_out,
        "should_compact": preview.plan.should_compact,
        "cut_tokens": preview.plan.cut_tokens,
        "hides_images": preview.plan.hides_images,
    }


def left_out_lines(preview: NextRequest, sees: Visibility) -> list[LeftOutLine]:
    """Return what is not sent and why, each reason once, in plain words."""
    events = {event.seq: event for event in preview.events if isinstance(event, SENDABLE)}
    tokens: dict[str, int] = {}
    for omission in preview.plan.omissions:
        event = events.get(omission.seq)
        if event is None or (isinstance(event, Reasoning) and not sees.reasoning_possible):
            continue
        sentence = REASONS[omission.words][1]
        tokens[sentence] = tokens.get(sentence, 0) + event_tokens(event)
    return [LeftOutLine(_(sentence), count) for sentence, count in tokens.items()]


def sent_rows(preview: NextRequest, sees: Visibility) -> Iterator[SentRow]:
    """Yield what is sent, in its order: instructions, tools, the summary of compacted turns, then the events."""
    if preview.instructions:
        yield SentRow(NO_SEQ, "instructions", _("System prompt"), text_tokens(preview.instructions))
    if preview.tools:
        names = ", ".join(str(tool["function"]["name"]) for tool in preview.tools)
        yield SentRow(NO_SEQ, "tools", names, entry_tokens(list(preview.tools)))
    compactions = [event for event in preview.events if isinstance(event, Compaction) and event.active]
    if compactions and (summary := compactions[-1].summary):
        newest = compactions[-1]
        yield SentRow(str(newest.seq), newest.type, excerpt(summary), text_tokens(COMPACTED + summary))

    omitted = {omission.seq for omission in preview.plan.omissions}
    sent = [
        event
        for event in preview.events
        if isinstance(event, SENDABLE)
        and event.active
        and event.seq not in omitted
        and not (isinstance(event, AssistantMessage) and not event.text)
    ]
    # a call is identified within its step: services may use an id twice
    with_result = {(event.turn, event.step, event.call_id) for event in sent if isinstance(event, ToolResult)}
    for event in sent:
        files = event.attachments if isinstance(event, UserMessage) else ()
        attached = question_tokens("", files)
        yield SentRow(str(event.seq), event.type, content_of(event, sees), event_tokens(event) - attached)
        if files:
            names = excerpt(", ".join(file.name for file in files))
            yield SentRow(str(event.seq), "attachments", names, attached)
        # services insist on a result for each call, so a plan adds one to a call that never ran
        if isinstance(event, ToolCall) and (event.turn, event.step, event.call_id) not in with_result:
            yield SentRow(NO_SEQ, ToolResult.type, NOT_RUN, text_tokens(NOT_RUN))


def left_out_rows(preview: NextRequest) -> Iterator[LeftOutRow]:
    """Yield what is not sent, and why; consecutive events that one summary replaces are one row."""
    events = {event.seq: event for event in preview.events if isinstance(event, SENDABLE)}
    omissions = [omission for omission in preview.plan.omissions if omission.seq in events]
    for rule, group in groupby(omissions, key=lambda omission: omission.rule):
        run = list(group)
        if rule == "compaction" and len(run) > 1:
            kind = ngettext("%(count)s event", "%(count)s events", len(run)) % {"count": len(run)}
            tokens = sum(event_tokens(events[omission.seq]) for omission in run)
            yield LeftOutRow(f"{run[0].seq}–{run[-1].seq}", kind, explain(run[0]), rule, tokens)
            continue
        for omission in run:
            event = events[omission.seq]
            yield LeftOutRow(str(omission.seq), event.type, explain(omission), rule, event_tokens(event))


def content_of(event: Event, sees: Visibility) -> str:
    """Describe an event in one short line, redacted."""
    match event:
        case UserMessage() | AssistantMessage():
            return excerpt(event.text)
        case Reasoning(kind="text"):
            return excerpt(event.text) if sees.may_open_thinking else size_of(event.text)
        case Reasoning():
            return _("Sealed, as it came")
        case ToolCall():
            return excerpt(event.name)
        case ToolResult():
            try:
                passages = json.loads(event.output)["passages"]
                return ngettext("%(n)s passage", "%(n)s passages", len(passages)) % {"n": len(passages)}
            except (ValueError, KeyError, TypeError, RecursionError):  # an error, or another tool's result
                return size_of(event.output)
    return ""


def excerpt(text: str) -> str:
    shown = str(EXCERPT.redact_args(" ".join(text[:1024].split())))
    return f"{shown.removesuffix(TRUNCATED)}…" if shown.endswith(TRUNCATED) else shown


def size_of(text: str) -> str:
    label = ngettext("%(count)s character", "%(count)s characters", len(text))
    return label % {"count": number_format(len(text), force_grouping=True)}


def notes(preview: NextRequest) -> Iterator[str]:
    """Yield what could not be asked for, and what was mended so that the service accepts the request."""
    yield from map(reasoning_settings.explain_note, preview.plan.notes)
    if repaired := len(preview.plan.repairs):
        note = ngettext(
            "One entry was mended, so that the service accepts it.",
            "%(count)s entries were mended, so that the service accepts them.",
            repaired,
        )
        yield note % {"count": repaired}


def bar(preview: NextRequest, rows: Sequence[SentRow], waiting: Mapping[str, int] = NO_TOKENS) -> Iterator[BarSegment]:
    """Divide the effective tokens among the parts in proportion to their estimates, so that they add up.

    ``waiting``: tokens of parts that the plan doesn't have yet.
    """
    labels = {
        "instructions": _("System prompt"),
        "tools": _("Tools and their results"),
        "messages": _("Earlier messages"),
        "thinking": _("Thinking"),
        "attachments": _("Attached files"),
        "question": _("Your question"),
        "free": _("Remaining"),
    }
    estimates = {name: sum(row.tokens for row in rows if SHARES.get(row.kind, "messages") == name) for name in labels}
    planned = preview.plan.effective_tokens
    full = max(planned + sum(waiting.values()), preview.target.limit)
    total = sum(estimates.values()) or 1
    start = done = added = 0
    for name, label in labels.items():
        done += estimates[name]
        added += waiting.get(name, 0)
        # rounded ends, not rounded widths: the segments add up
        end = full if name == "free" else round(planned * done / total) + added
        if end > start:
            x, width = 100 * start / full, max(0.0, 100 * (end - start) / full - BAR_GAP)
            yield BarSegment(name, label, end - start, f"{x:.2f}", f"{width:.2f}")
        start = end


def explain(omission: Omission) -> str:
    """Return why something is not sent, in the reader's language."""
    return _(REASONS[omission.words][0]) % {"value": omission.value}
