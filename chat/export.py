"""A conversation as a file: its turns and one viewer's ``Visibility`` to Markdown or JSON.

What the viewer may not see, or chose to leave out, is not in the ``Visibility`` that comes in; nothing is decided here.
A turn that still runs is left out. Product 12, 13, 15.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from chat import cards, log
from chat.cardviews import ArgView, StepView
from chat.models import Turn
from reasoning.citations import Citation, citation_numbers, renumbered
from reasoning.envelope import AnswerRecord, envelope
from reasoning.policy import Visibility
from reasoning.redaction import redact_text
from reasoning.trace import ToolTraceStep

_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes into a copy beside the answers, which always do. A scratchpad can't be chosen."""

    summary: bool = True
    trace: bool = False
    thinking: bool = False

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> Choice:
        """Read ``summary=1&trace=0&thinking=0``; what is not named is as it is by default."""
        default = cls()
        return cls(
            summary=_is_on(query, "summary", default=default.summary),
            trace=_is_on(query, "trace", default=default.trace),
            thinking=_is_on(query, "thinking", default=default.thinking),
        )

    def query(self) -> str:
        """Return what ``of_query`` reads."""
        return f"summary={self.summary:d}&trace={self.trace:d}&thinking={self.thinking:d}"

    def within(self, sees: Visibility) -> Visibility:
        """Return what such a copy shows of what this viewer sees."""
        return sees.only(summary=self.summary, trace=self.trace, thinking=self.thinking)


@dataclass(frozen=True, slots=True)
class Copy:
    """What is copied for whom. ``origin`` begins the addresses of sources, such as ``https://example.org``."""

    title: str
    origin: str
    at: datetime
    rows: Sequence[log.TurnRows]
    sees: Visibility

    @property
    def ended(self) -> tuple[log.TurnRows, ...]:
        return tuple(rows for rows in self.rows if rows.turn.status != Turn.Status.RUNNING)


def envelope_of(rows: log.TurnRows, sees: Visibility, *, scratchpad: str | None = None) -> dict[str, Any]:
    """Return the envelope of a finished turn for one viewer. Reads the database where they may read thinking."""
    text = log.thinking_for(rows.turn, sees)
    thinking = {"text": text.text, "tokensEst": text.tokens_est, "truncated": text.truncated} if text else None
    form = envelope(cards.record_of(rows), sees, thinking=thinking, scratchpad=scratchpad)
    if rows.turn.status == Turn.Status.ERRORED:
        form["error"] = {"code": rows.turn.error_code, "message": rows.turn.error_message}
    return form


def as_json(copy: Copy) -> str:
    """Return the conversation as JSON: questions, and envelopes as the API has them, oldest first."""
    messages: list[dict[str, Any]] = []
    for rows in copy.ended:
        asked = rows.turn.started_at.isoformat()
        messages.append({"role": "user", "text": cards.question_card(rows).text, "at": asked})
        messages.append({"role": "assistant", **envelope_of(rows, copy.sees)})
    form = {
        "title": _title(copy),
        "origin": copy.origin,
        "exportedAt": copy.at.astimezone(UTC).isoformat(timespec="seconds"),
        "messages": messages,
    }
    return json.dumps(form, ensure_ascii=False, indent=2) + "\n"


def as_markdown(copy: Copy) -> str:
    """Return the conversation as text that reads well with and without a Markdown viewer."""
    parts = [f"# {_plain(_title(copy))}"]
    for rows in copy.ended:
        parts += [part for part in _turn(rows, copy) if part]
    return "\n\n".join(parts) + "\n"


def _turn(rows: log.TurnRows, copy: Copy) -> Iterator[str]:
    record = cards.record_of(rows)
    yield "## " + _("Question %(number)s") % {"number": rows.turn.number}
    yield _quoted(cards.question_card(rows).text)
    yield "## " + _("Answer %(number)s") % {"number": rows.turn.number}
    yield f"*{_byline(rows, record)}*"
    yield renumbered(record.answer, citation_numbers(record.citations)) or _("There is no answer.")
    yield _sources(record, copy.origin)
    yield _summary(record, copy.sees)
    yield _steps(record, copy)
    yield _thinking(rows, copy.sees)


def _byline(rows: log.TurnRows, record: AnswerRecord) -> str:
    at = rows.turn.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    ended = "" if rows.turn.status == Turn.Status.COMPLETED else str(rows.turn.get_status_display())
    return " · ".join(part for part in (_plain(record.model), at, ended) if part)


def _sources(record: AnswerRecord, origin: str) -> str:
    sources = cards.source_views(record.citations)
    verdicts = _verdicts(record.citations)
    lines = [
        f"{source.ref}. [{_plain(source.label)}]({_address(origin, source.url)}){verdicts.get(source.ref, '')}"
        for source in sources
    ]
    return _list(_("Sources"), lines)


def _verdicts(citations: Sequence[Citation]) -> dict[int, str]:
    """Return what is known of the quotations of a source, by its number; one that was not found outweighs others."""
    numbers = citation_numbers(citations)
    found = {numbers[one.ref]: " — " + _("quotation found word for word") for one in citations if one.verified is True}
    lost = _("unverified: the quotation was not found in the passage")
    return found | {numbers[one.ref]: f" — {lost}" for one in citations if one.verified is False}


def _summary(record: AnswerRecord, sees: Visibility) -> str:
    points = record.summary if sees.summary else ()
    return _list(_("How this answer was produced"), [f"- {_plain(point)}" for point in points])


def _steps(record: AnswerRecord, copy: Copy) -> str:
    steps = record.trace if copy.sees.trace else ()
    return _list(_("Steps"), [_step(number, step, copy.origin) for number, step in enumerate(steps, start=1)])


def _step(number: int, step: ToolTraceStep, origin: str) -> str:
    view = cards.step_view(step)
    notes = [*map(_arg, view.args), *(f"[{_plain(one.label)}]({_address(origin, one.url)})" for one in view.citations)]
    if view.error:
        notes.append(_plain(view.error))
    return "\n".join([f"{number}. {_step_head(view)}", *(f"    - {note}" for note in notes)])


def _step_head(view: StepView) -> str:
    parts = (f"**{_plain(view.tool)}**", view.state_label, view.results_label, view.duration_label)
    return " · ".join(part for part in parts if part)


def _arg(arg: ArgView) -> str:
    value = _("••• hidden (%(kind)s)") % {"kind": arg.mask} if arg.mask else _plain(arg.value)
    return f"{_plain(arg.name)}: {value}" if arg.name else value


def _thinking(rows: log.TurnRows, sees: Visibility) -> str:
    text = log.thinking_for(rows.turn, sees)
    if text is None:
        return ""
    label = cards.thinking_label(rows.turn.thinking_ms)
    return f"### {label} · ~{text.tokens_est}\n\n{_quoted(text.text)}"


def _title(copy: Copy) -> str:
    return redact_text(copy.title) or _("Conversation")


def _list(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {heading}", "", *lines]) if lines else ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _plain(text: str) -> str:
    """Return text on one line that a Markdown viewer shows as it is."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _address(origin: str, url: str) -> str:
    whole = origin + url if url.startswith("/") else url
    return whole.replace(" ", "%20").replace("(", "%28").replace(")", "%29")


def _is_on(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    return query.get(name, "1" if default else "0").lower() in ("1", "true", "on")
