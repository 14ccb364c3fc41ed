"""Turns to cards: a stored or a running turn and one viewer's ``Visibility`` to ready view values.

The same templates draw both, live and after a reload. What a viewer may not see is left out here, not hidden later.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import continuing, endings
from chat.branchsteps import branch_view
from chat.cardviews import (
    AnswerView,
    ArgView,
    LinkView,
    QuestionView,
    SourceView,
    StepState,
    StepView,
    ThinkingView,
)
from chat.costs import duration_label, usage_label
from chat.feedback import feedback_view
from chat.html import cite_label, render_answer
from chat.live import LiveStep, LiveTurn
from chat.log import ThinkingText, TurnRows
from chat.models import Turn
from chat.wording import reading, shown
from reasoning.citations import Citation, citation_numbers, renumbered
from reasoning.envelope import AnswerRecord, answer_record
from reasoning.policy import Visibility
from reasoning.trace import ToolTraceStep

WHOLE = 5  # so many of the newest cards hold their steps; those of earlier ones come when they are opened
_STATES: dict[str, StepState] = {"ok": "done", "error": "failed", "denied": "denied", "cancelled": "cancelled"}


def items(rows: Sequence[TurnRows], sees: Visibility, *, whole: int = WHOLE) -> list[dict[str, Any]]:
    """Return the cards of stored turns, oldest first; the last ``whole`` of them with their steps."""
    first_whole = len(rows) - whole
    return [
        {"question": question_card(row), "answer": answer_card(row, sees, folded=at < first_whole)}
        for at, row in enumerate(rows)
    ]


def record_of(rows: TurnRows, *, folded: bool = False) -> AnswerRecord:
    """Return what the public halves of a stored turn say of its answer; ``folded``: of its steps only the figures."""
    turn = rows.turn
    return answer_record(
        map(_without_details, rows.events) if folded else rows.events,
        turn_id=turn.public_id,
        turn_status=turn.status,
        model=turn.model,
        summary_source=turn.summary_source,
        tokens=(turn.input_tokens, turn.output_tokens, turn.reasoning_tokens),
    )


def question_card(rows: TurnRows) -> QuestionView:
    """Return the card of the question of a stored turn."""
    text = next((event["text"] for event in rows.events if event["type"] == "user_message"), "")
    turn = rows.turn
    view = _question_view(turn.public_id, turn.number, text, turn.started_at)
    if turn.status == Turn.Status.RUNNING:
        return view
    edit_url = "" if view.handed_over else reverse("chat:edit", args=[turn.conversation_id, turn.pk])
    return replace(view, edit_url=edit_url, branch=branch_view(rows))


def live_question_card(live: LiveTurn) -> QuestionView:
    """Return the card of the question of a running turn."""
    return _question_view(live.public_id, live.number, live.question, live.started_at)


def _question_view(public_id: str, number: int, text: str, at: datetime) -> QuestionView:
    text, handed_over = continuing.parts(text)
    return QuestionView(f"{public_id}-q", number, text, at, handed_over)


def answer_card(
    rows: TurnRows, sees: Visibility, *, opened: ThinkingText | None = None, folded: bool = False
) -> AnswerView:
    """Return the card of a stored turn. ``opened`` is its thinking where the page was asked for with it open.

    A ``folded`` one holds no steps, but where they are.
    """
    turn, record = rows.turn, record_of(rows, folded=folded)
    steps = record.trace if sees.trace else ()
    return AnswerView(
        id=record.id,
        number=turn.number,
        status=record.status,
        model=shown(record.model),
        at=turn.started_at,
        sees=sees,
        answer_html=render_answer(
            record.answer, record.citations, numbers=citation_numbers(record.citations), asked=rows.asked
        ),
        points=record.summary if sees.summary else (),
        points_from_trace=record.summary_source == "trace",
        steps=() if folded else tuple(map(step_view, steps)),
        steps_label=steps_label(len(record.trace)),
        steps_url=reverse("chat:steps", args=[turn.conversation_id, turn.pk]) if folded and steps else "",
        steps_detail=_steps_detail(record.trace),
        thinking=_stored_thinking(turn, record, sees, opened),
        sources=source_views(record.citations),
        found_label=_found_label(record.citations),
        unfound=_unfound(record.citations),
        usage_label=usage_label(turn, record, sees),
        feedback_url=reverse("chat:feedback", args=[turn.conversation_id, turn.pk]),
        feedback=feedback_view(turn) if record.answer else None,
        ended_label=endings.ended_label(turn),
        is_unasked=turn.is_unasked,
        error=endings.error(turn),
        notice=endings.notice(turn, record),
        continue_url=endings.continue_url(turn, record),
        **_urls(turn.conversation_id, turn.pk),
    )


def live_answer_card(live: LiveTurn, sees: Visibility) -> AnswerView:
    """Return the card of a running turn, as far as it has come."""
    return AnswerView(
        id=live.public_id,
        number=live.number,
        status="streaming",
        model=shown(live.model),
        at=live.started_at,
        sees=sees,
        answer_html=SafeString("".join(live.frozen)),
        tail=live.tail,
        tail_n=live.tail_n,
        status_text=_status_text(live, sees),
        elapsed_s=live.elapsed_s,
        steps=tuple(_live_step_view(step) for step in live.steps) if sees.trace else (),
        steps_label=steps_label(len(live.steps)),
        steps_detail=_steps_detail([step.trace for step in live.steps if step.trace]),
        thinking=_live_thinking(live, sees),
        **_urls(live.conversation_id, live.id),
    )


def step_view(step: ToolTraceStep) -> StepView:
    """Return one finished step of the trace."""
    state = _STATES[step.status]
    return StepView(
        tool=step.tool,
        state=state,
        state_label=_state_label(state),
        args=arg_views(step.args),
        results_label=_results_label(step.results),
        duration_label=duration_label(step.duration_ms),
        citations=tuple(LinkView(citation.url, cite_label(citation)) for citation in step.top_citations),
        error=shown(step.error or ""),
    )


def arg_views(args: Any) -> tuple[ArgView, ...]:
    """Return redacted arguments as name and value, in their order; masks marked."""
    if not isinstance(args, Mapping):
        return (ArgView("", shown(str(args))),) if args not in (None, "", []) else ()
    return tuple(
        ArgView(str(name), "", _("key")) if value == "[redacted]" else ArgView(str(name), _flat(value))
        for name, value in args.items()
        if value is not None
    )


def source_views(citations: Sequence[Citation]) -> tuple[SourceView, ...]:
    """Return each cited source once, in the order of first appearance."""
    first: dict[int, Citation] = {}
    for citation in citations:
        first.setdefault(citation.ref, citation)
    numbers = citation_numbers(citations)
    return tuple(SourceView(numbers[ref], citation.url, cite_label(citation)) for ref, citation in first.items())


def steps_label(count: int) -> str:
    """Return ``3 steps``."""
    return ngettext("%(count)s step", "%(count)s steps", count) % {"count": count}


def thinking_label(thinking_ms: int) -> str:
    """Return ``Thought for 12 s``, or ``Thought briefly`` under a second."""
    if thinking_ms < 1000:
        return _("Thought briefly")
    return _("Thought for %(seconds)s s") % {"seconds": round(thinking_ms / 1000)}


def copied_answer(record: AnswerRecord) -> str:
    """Return what Copy puts on the clipboard: the answer and its numbered citations, nothing else."""
    sources = source_views(record.citations)
    lines = [f"[{source.ref}] {source.label}" for source in sources]
    answer = renumbered(record.answer, citation_numbers(record.citations))
    return "\n\n".join(part for part in (answer, "\n".join(lines)) if part)


def _without_details(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what costs most to read back, since all of it is masked once more."""
    return {**event, "trace": {**event["trace"], "args": {}, "topCitations": []}} if event.get("trace") else event


def _status_text(live: LiveTurn, sees: Visibility) -> str:
    """Return what a turn does now. How much a tool found belongs to the trace."""
    if live.thought_line and sees.may_open_thinking:
        return live.thought_line
    return reading(live.reads) if live.reads and sees.trace else str(live.status_text)


def _live_step_view(step: LiveStep) -> StepView:
    if step.trace is not None:
        return step_view(step.trace)
    return StepView(tool=step.tool, state="running", state_label=_state_label("running"))


def _live_thinking(live: LiveTurn, sees: Visibility) -> ThinkingView | None:
    if not sees.may_open_thinking:
        return None
    url = reverse("chat:thinking", args=[live.conversation_id, live.id])
    return ThinkingView(_("Thinking…"), live.thinking_tokens, url)


def _stored_thinking(
    turn: Turn, record: AnswerRecord, sees: Visibility, opened: ThinkingText | None
) -> ThinkingView | None:
    if not record.thinking_tokens or sees.thinking == "none":
        return None
    label = thinking_label(turn.thinking_ms)
    if sees.thinking == "withheld":
        return ThinkingView(label, record.thinking_tokens, url="")
    url = reverse("chat:thinking", args=[turn.conversation_id, turn.pk])
    text = opened.text if opened else ""
    return ThinkingView(label, record.thinking_tokens, url, text=text, is_open=opened is not None)


@lru_cache(maxsize=1024)  # a running card is drawn with each change of its status, and looking an address up is slow
def _urls(conversation_id: uuid.UUID, turn_id: uuid.UUID) -> dict[str, Any]:
    args = [conversation_id, turn_id]
    return {
        "trace_url": reverse("chat:trace", args=args),
        "copy_url": reverse("chat:copy", args=args),
        "retry_url": reverse("chat:retry", args=args),
    }


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_flat(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(_flat(item) for item in value)
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _state_label(state: StepState) -> str:
    return {
        "queued": _("Queued"),
        "running": _("Running"),
        "done": _("Done"),
        "failed": _("Failed"),
        "cancelled": _("Cancelled"),
        "denied": _("Denied"),
    }[state]


def _results_label(count: int | None) -> str:
    return "" if count is None else ngettext("%(count)s result", "%(count)s results", count) % {"count": count}


def _steps_detail(steps: Sequence[ToolTraceStep]) -> str:
    results = sum(step.results or 0 for step in steps)
    total = sum(step.duration_ms for step in steps)
    return " · ".join((_results_label(results), duration_label(total))) if steps else ""


def _found_label(citations: Sequence[Citation]) -> str:
    found = sum(citation.verified is True for citation in citations)
    if not found:
        return ""
    return ngettext("%(count)s quotation found word for word", "%(count)s quotations found word for word", found) % {
        "count": found
    }


def _unfound(citations: Sequence[Citation]) -> tuple[str, ...]:
    numbers = citation_numbers(citations)
    refs = sorted({numbers[citation.ref] for citation in citations if citation.verified is False})
    text = _("Citation %(ref)s is unverified: the quotation was not found in the passage that it names.")
    return tuple(text % {"ref": ref} for ref in refs)
