"""What goes and what is left out, event by event, in few words: redacted, and counted as if each stood alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.preview.request import NextRequest
from chat.preview.words import told
from reasoning.contextsize import entry_tokens, event_tokens, text_tokens
from reasoning.egress import COMPACTED, Omission
from reasoning.events import AssistantMessage, Compaction, Event, Reasoning, ToolCall, ToolResult, UserMessage
from reasoning.policy import Visibility
from reasoning.redaction import DEFAULT, TRUNCATED, Redactor
from reasoning.wire import NOT_RUN

_SHORT = Redactor(replace(DEFAULT, text_limit=80, window=512))
_NONE = "–"
_SUMMARISED = "compaction"


@dataclass(frozen=True, slots=True)
class SentRow:
    """One part of what goes. ``seq`` is its event's, or a dash for what the log doesn't hold."""

    seq: str
    kind: str
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """One event that does not go, or a run of them that a summary stands for."""

    seq: str
    kind: str
    reason: str
    rule: str
    tokens: int


def sent_rows(found: NextRequest, sees: Visibility) -> tuple[SentRow, ...]:
    """Return what goes, in its order: instructions, tools, the summary of what came before, then the events."""
    return (*_ours(found), *_summary(found.events), *_events(found, sees))


def left_out_rows(found: NextRequest) -> tuple[LeftOutRow, ...]:
    """Return what does not go, and why, by ``seq``."""
    by_seq = {event.seq: event for event in found.events}
    known = [one for one in found.plan.omissions if isinstance(by_seq.get(one.seq), _SENDABLE)]
    rows: list[LeftOutRow] = []
    for rule, group in groupby(known, key=lambda one: one.rule):
        run = list(group)
        if rule == _SUMMARISED and len(run) > 1:
            rows.append(_run(run, by_seq))
        else:
            rows += [_left_out(str(one.seq), by_seq[one.seq].type, one, event_tokens(by_seq[one.seq])) for one in run]
    return tuple(rows)


def _ours(found: NextRequest) -> Iterator[SentRow]:
    if found.instructions:
        yield SentRow(_NONE, "instructions", _("System prompt"), text_tokens(found.instructions))
    if found.tools:
        names = ", ".join(str(tool["function"]["name"]) for tool in found.tools)
        yield SentRow(_NONE, "tools", names, entry_tokens(list(found.tools)))


def _summary(events: Sequence[Event]) -> Iterator[SentRow]:
    made = [event for event in events if isinstance(event, Compaction) and event.active]
    if made and made[-1].summary:
        summary = made[-1].summary
        yield SentRow(str(made[-1].seq), made[-1].type, _short(summary), text_tokens(COMPACTED + summary))


def _events(found: NextRequest, sees: Visibility) -> Iterator[SentRow]:
    left_out = {one.seq for one in found.plan.omissions}
    going = [event for event in found.events if event.active and event.seq not in left_out and _is_sent(event)]
    answered = {(event.turn, event.step, event.call_id) for event in going if isinstance(event, ToolResult)}
    for event in going:
        yield SentRow(str(event.seq), event.type, _content(event, sees), event_tokens(event))
        if isinstance(event, ToolCall) and (event.turn, event.step, event.call_id) not in answered:
            yield SentRow(_NONE, ToolResult.type, NOT_RUN, text_tokens(NOT_RUN))


def _is_sent(event: Event) -> bool:
    return isinstance(event, _SENDABLE) and not (isinstance(event, AssistantMessage) and not event.text)


def _content(event: Event, sees: Visibility) -> str:
    match event:
        case UserMessage() | AssistantMessage():
            return _short(event.text)
        case Reasoning(kind="text"):
            return _short(event.text) if sees.may_open_thinking else _characters(event.text)
        case Reasoning():
            return _("Sealed, as it came")
        case ToolCall():
            return _short(event.name)
        case ToolResult():
            return _result(event.output)
    return ""


def _result(output: str) -> str:
    """Say how much came back; our own tools give passages."""
    try:
        passages = json.loads(output)["passages"]
        count = len(passages) if isinstance(passages, list) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        count = None
    return _characters(output) if count is None else ngettext("%(n)s passage", "%(n)s passages", count) % {"n": count}


def _run(run: Sequence[Omission], by_seq: Mapping[int, Event]) -> LeftOutRow:
    tokens = sum(event_tokens(by_seq[one.seq]) for one in run)
    kind = ngettext("%(count)s event", "%(count)s events", len(run)) % {"count": len(run)}
    return _left_out(f"{run[0].seq}–{run[-1].seq}", kind, run[0], tokens)


def _left_out(seq: str, kind: str, why: Omission, tokens: int) -> LeftOutRow:
    return LeftOutRow(seq, kind, told(why.reason), why.rule, tokens)


def _short(text: str) -> str:
    shown = str(_SHORT.redact_args(" ".join(text[:1024].split())))
    return f"{shown.removesuffix(TRUNCATED)}…" if shown.endswith(TRUNCATED) else shown


def _characters(text: str) -> str:
    count = len(text)
    words = ngettext("%(count)s character", "%(count)s characters", count)
    return words % {"count": number_format(count, force_grouping=True)}


_SENDABLE = (UserMessage, Reasoning, AssistantMessage, ToolCall, ToolResult)
