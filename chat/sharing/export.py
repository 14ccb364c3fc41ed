"""Export a conversation for one viewer as Markdown or JSON. Product 12, 13, 15.

What the viewer may not see, or left out, is not in the ``Visibility`` that comes in; nothing is decided here. A running
turn is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat import eventlog
from chat.cards import build, labels
from chat.models import Turn
from reasoning.citations import citation_numbers, renumber
from reasoning.envelope import AnswerRecord, envelope
from reasoning.redaction import redact_text
from reasoning.trace import ToolTraceStep
from reasoning.visibility import Visibility

RETRYABLE_CODES = frozenset({"disconnected", "rate_limited", "server_error", "timeout", "unreachable"})
CUT_LINES = {
    "length": gettext_lazy("The answer was cut off at the length limit."),
    "content_filter": gettext_lazy("The model’s service withheld the rest of this answer."),
}
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


@dataclass(frozen=True, slots=True)
class Choice:
    """What an export or a link contains beside the answers. A scratchpad can't be chosen."""

    summary: bool = True
    trace: bool = False
    thinking: bool = False

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Choice:
        """Read ``summary=1&trace=0&thinking=0``; a name that is missing has its default."""

        def is_on(name: str, default: str) -> bool:
            return query.get(name, default).lower() in ("1", "true", "on")

        return cls(summary=is_on("summary", "1"), trace=is_on("trace", "0"), thinking=is_on("thinking", "0"))

    def query(self) -> str:
        """Return what ``from_query`` reads."""
        return f"summary={self.summary:d}&trace={self.trace:d}&thinking={self.thinking:d}"

    def within(self, sees: Visibility) -> Visibility:
        """Narrow a viewer's visibility to this choice."""
        return sees.only(summary=self.summary, trace=self.trace, thinking=self.thinking)


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported for whom. ``origin`` prefixes the URLs of sources, such as ``https://example.org``."""

    title: str
    origin: str
    at: datetime
    records: Sequence[eventlog.TurnRecord]
    sees: Visibility

    @property
    def ended(self) -> tuple[eventlog.TurnRecord, ...]:
        return tuple(record for record in self.records if record.turn.status != Turn.Status.RUNNING)


def envelope_of(record: eventlog.TurnRecord, sees: Visibility, *, scratchpad: str | None = None) -> dict[str, Any]:
    """Return the envelope of an ended turn for one viewer. Reads the database where they may read thinking."""
    return _envelope(record, sees, eventlog.thinking_for(record.turn, sees), scratchpad)


def envelopes_of(records: Sequence[eventlog.TurnRecord], sees: Visibility) -> list[dict[str, Any]]:
    """Return the envelopes of ended turns for one viewer. Reads the thinking of all of them in one statement."""
    thinking = eventlog.thinking_of([record.turn for record in records], sees)
    return [_envelope(record, sees, thinking.get(record.turn.pk)) for record in records]


def _envelope(
    record: eventlog.TurnRecord, sees: Visibility, text: eventlog.ThinkingText | None, scratchpad: str | None = None
) -> dict[str, Any]:
    form = envelope(build.record_of(record), sees, thinking=thinking_form(text), scratchpad=scratchpad)
    if record.turn.status == Turn.Status.ERRORED:
        form["error"] = error_form(record.turn)
    return form


def thinking_form(text: eventlog.ThinkingText | None) -> dict[str, Any] | None:
    """Return thinking as the envelope has it."""
    return {"text": text.text, "tokensEst": text.tokens_est, "truncated": text.truncated} if text else None


def error_form(turn: Turn) -> dict[str, Any]:
    """Return why a turn failed. ``retryAfter``: seconds, where the model service said so when it failed."""
    # rows of earlier versions don't say whether another try may help
    retryable = turn.error_code in RETRYABLE_CODES if turn.is_retryable is None else turn.is_retryable
    form: dict[str, Any] = {"code": turn.error_code, "message": turn.error_message, "retryable": retryable}
    return form if turn.retry_after_s is None else {**form, "retryAfter": turn.retry_after_s}


def as_json(export: Export) -> str:
    """Return the questions, and the envelopes of the API, oldest first."""
    messages: list[dict[str, Any]] = []
    for record, form in zip(export.ended, envelopes_of(export.ended, export.sees), strict=True):
        question = build.question_card(record).text
        messages.append({"role": "user", "text": question, "at": record.turn.started_at.isoformat()})
        messages.append({"role": "assistant", **form})
    exported = {
        "title": title_of(export),
        "origin": export.origin,
        "exportedAt": export.at.astimezone(UTC).isoformat(timespec="seconds"),
        "messages": messages,
    }
    return json.dumps(exported, ensure_ascii=False, indent=2) + "\n"


def as_markdown(export: Export) -> str:
    """Return text that reads well with and without a Markdown viewer."""
    parts = [f"# {escape(title_of(export))}"]
    thinking = eventlog.thinking_of([record.turn for record in export.ended], export.sees)
    for record in export.ended:
        parts += [part for part in turn_parts(record, export, thinking.get(record.turn.pk)) if part]
    return "\n\n".join(parts) + "\n"


def turn_parts(record: eventlog.TurnRecord, export: Export, thinking: eventlog.ThinkingText | None) -> Iterator[str]:
    turn, answer = record.turn, build.record_of(record)
    yield "## " + _("Question %(number)s") % {"number": turn.number}
    yield block_quote(build.question_card(record).text)
    yield "## " + _("Answer %(number)s") % {"number": turn.number}
    # a file has no viewer whose time zone is known
    at = turn.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    status = "" if turn.status == Turn.Status.COMPLETED else str(turn.get_status_display())
    # the model of a profile is named by staff
    yield f"*{join_parts(escape(answer.model), at, status)}*"
    yield renumber(answer.answer, citation_numbers(answer.citations)) or _("There is no answer.")
    # how any other answer ended is in the line above it
    yield str(CUT_LINES.get(answer.finish_reason or "", ""))
    yield source_lines(answer, export.origin)
    if export.sees.summary:
        yield section(_("Reasoning summary"), [f"- {escape(point)}" for point in answer.summary])
    if export.sees.trace:
        steps = [step_lines(number, step, export.origin) for number, step in enumerate(answer.trace, start=1)]
        yield section(_("Steps"), steps)
    if thinking:
        label = labels.thinking_label(turn.thinking_ms)
        yield f"### {label} · ~{thinking.tokens_est}\n\n{block_quote(thinking.text)}"


def source_lines(answer: AnswerRecord, origin: str) -> str:
    numbers = citation_numbers(answer.citations)
    verdicts: dict[int, str] = {}
    for citation in answer.citations:
        number = numbers[citation.ref]
        # one quotation that was not found outweighs others of the same source
        if citation.verified is False:
            verdicts[number] = " — " + _("unverified: the quotation was not found in the passage")
        elif citation.verified is True:
            verdicts.setdefault(number, " — " + _("quotation found word for word"))
    sources = build.source_views(answer.citations)
    lines = [f"{one.ref}. {link_to(one.label, origin, one.url)}{verdicts.get(one.ref, '')}" for one in sources]
    return section(_("Sources"), lines)


def step_lines(number: int, step: ToolTraceStep, origin: str) -> str:
    view = build.step_view(step)
    notes = []
    for arg in view.args:
        value = _("••• hidden (%(kind)s)") % {"kind": arg.mask} if arg.mask else escape(arg.value)
        notes.append(f"{escape(arg.name)}: {value}" if arg.name else value)
    notes += [link_to(citation.label, origin, citation.url) for citation in view.citations]
    if view.error:
        notes.append(escape(view.error))
    tool = f"**{escape(view.tool)}**" if view.tool else ""
    head = join_parts(tool, view.state_label, view.results_label, view.duration_label)
    return "\n".join([f"{number}. {head}", *(f"    - {note}" for note in notes)])


def title_of(export: Export) -> str:
    return redact_text(export.title) or _("Conversation")


def join_parts(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {heading}", "", *lines]) if lines else ""


def block_quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def link_to(label: str, origin: str, url: str) -> str:
    """Return a Markdown link; brackets in the URL would end it."""
    absolute = origin + url if url.startswith("/") else url
    return f"[{escape(label)}]({absolute.replace(' ', '%20').replace('(', '%28').replace(')', '%29')})"


def escape(text: str) -> str:
    """Return text on one line that a Markdown viewer shows literally."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
