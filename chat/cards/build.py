"""Cards: a stored or a running turn, as one viewer may see it.

The same templates draw both, live and after a reload. What a viewer may not see is left out here, not hidden later.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from chat.cards import continuation, labels, phases, rendering
from chat.cards.attachments import attachment_view
from chat.cards.feedback import feedback_view
from chat.cards.view_models import (
    AnswerView,
    ArgView,
    BranchStep,
    BranchView,
    CardActions,
    ClockTime,
    ExcerptView,
    LinkView,
    QuestionView,
    SourceView,
    StepState,
    StepView,
    ThinkingView,
)
from chat.eventlog import ThinkingText, TurnRecord
from chat.html import cite_label, renumber_citations, source_url
from chat.live.state import LiveStep, TurnState
from chat.models import Turn
from chat.texts.stored_text import reading_results, translate_stored
from chat.tools.questions import field_from_json
from reasoning.citations import Citation, citation_numbers, find_quotation
from reasoning.envelope import AnswerRecord
from reasoning.events import attached_file
from reasoning.trace import ToolTraceStep, count_steps
from reasoning.visibility import TRUNCATED, Visibility

# More would repeat the source instead of showing where the answer found its words.
MAX_EXCERPTS = 3  # of one source
MAX_OPENED_CHARS = 100_000  # of thinking, in a page that was asked for with it
STEP_STATES: dict[str, StepState] = {
    "ok": "done",
    "error": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
    "waiting": "waiting",
}


def items(
    records: Sequence[TurnRecord],
    sees: Visibility,
    *,
    opened: Mapping[str, ThinkingText] | None = None,
    beside: TurnState | None = None,
) -> list[dict[str, Any]]:
    """Return for each stored turn its ``question`` and ``answer`` card, oldest first.

    The caller has called ``rendering.load``, which reads their HTML in one query.

    ``opened``: thinking to show open, by card. ``beside``: the second of two turns that are compared, while it runs.
    """
    texts = opened or {}

    def second(record: TurnRecord) -> AnswerView | None:
        if record.beside is None:
            return None
        if beside and beside.id == record.beside.turn.pk:
            return live_answer_card(beside, sees)
        return answer_card(record.beside, sees, opened=texts.get(record.beside.turn.public_id))

    return [
        {
            "question": question_card(record),
            "answer": answer_card(record, sees, opened=texts.get(record.turn.public_id)),
            "beside": second(record),
        }
        for record in records
    ]


def live_item(live: TurnState, beside: TurnState | TurnRecord | None, sees: Visibility) -> dict[str, Any]:
    """Return the cards of a running turn, and of the one that is compared with it."""
    second = None
    if beside is not None:
        second = live_answer_card(beside, sees) if isinstance(beside, TurnState) else answer_card(beside, sees)
    return {"question": live_question_card(live), "answer": live_answer_card(live, sees), "beside": second}


def question_card(turn_record: TurnRecord) -> QuestionView:
    """Return the card of the question of a stored turn."""
    asked = next((event for event in turn_record.events if event["type"] == "user_message"), {})
    turn = turn_record.turn
    view = QuestionView(f"{turn.public_id}-q", turn.number, asked.get("text", ""), ClockTime.of(turn.started_at))
    files = map(attached_file, asked.get("attachments", ()))
    view = replace(view, attachments=tuple(attachment_view(file, turn.conversation_id) for file in files))
    if turn.status == Turn.Status.RUNNING:
        return view
    edit_url = reverse("chat:edit", args=[turn.conversation_id, turn.pk])
    versions = turn_record.versions
    at = next((at for at, turns in enumerate(versions) if turn.pk in turns), 0)
    newest = [turns[-1] for turns in versions]  # another version is shown with its newest answer
    return replace(view, edit_url=edit_url, branch=branch_view(turn, newest, at))


def live_question_card(live: TurnState) -> QuestionView:
    """Return the card of the question of a running turn."""
    view = QuestionView(f"{live.public_id}-q", live.number, live.question, ClockTime.of(live.started_at))
    return replace(view, attachments=tuple(attachment_view(file, live.conversation_id) for file in live.attachments))


def branch_view(turn: Turn, versions: Sequence[uuid.UUID], at: int) -> BranchView | None:
    """Return which of these versions is shown, ``2/3``; None where it is the only one."""
    if len(versions) < 2:
        return None

    def step_to(index: int) -> BranchStep | None:
        if not 0 <= index < len(versions):
            return None
        return BranchStep(versions[index].hex, reverse("chat:select", args=[turn.conversation_id, versions[index]]))

    return BranchView(at + 1, len(versions), step_to(at - 1), step_to(at + 1))


def answer_card(turn_record: TurnRecord, sees: Visibility, *, opened: ThinkingText | None = None) -> AnswerView:
    """Return the card of a stored turn. ``opened`` is its thinking where the page was asked for with it open."""
    turn, record = turn_record.turn, turn_record.answer_record()
    shown = rendering.shown_answer(turn, record)
    notice = labels.notice_label(turn, record, sees)
    actions = _actions(turn_record, record, sees, is_noted=bool(notice))
    steps = tuple(map(step_view, record.trace)) if sees.trace else ()
    return AnswerView(
        id=record.id,
        number=turn.number,
        status=record.status,
        model=translate_stored(turn.model_label or record.model),
        at=ClockTime.of(turn.started_at),
        sees=sees,
        answer_html=shown.html,
        is_shortened=shown.is_shortened,
        whole_url=actions.copy_url if shown.is_shortened else "",
        points=labels.summary_points(record) if sees.summary else (),
        points_from_trace=record.summary_source == "trace",
        steps=steps,
        phases=phases.divide(record.id, steps),
        step_problems=labels.problems(steps),
        step_count=count_steps(record.trace),
        steps_label=labels.steps_label(count_steps(record.trace)),
        steps_detail=labels.steps_detail(record.trace),
        actions=actions,
        thinking=_stored_thinking(turn, record, sees, opened),
        sources=source_views(record.citations),
        found_label=labels.found_label(record.citations),
        uncited_label=labels.uncited_label(record),
        unfound=labels.unfound_labels(record.citations),
        ended_label=labels.ended_label(turn),
        is_unasked=turn.is_unasked,
        error=labels.error_label(turn, sees),
        notice=notice,
        history_note=labels.history_note(record.history_cut),
        is_beside=turn.is_beside,
    )


def _actions(turn_record: TurnRecord, record: AnswerRecord, sees: Visibility, *, is_noted: bool) -> CardActions:
    turn = turn_record.turn
    answers = next((turns for turns in turn_record.versions if turn.pk in turns), (turn.pk,))
    args = [turn.conversation_id, turn.pk]
    shared = CardActions(
        copy_url=reverse("chat:copy", args=args),
        trace_url=reverse("chat:trace", args=args) if record.trace else "",
        delete_url="" if turn.is_beside else reverse("chat:delete", args=args),
        preview_url=_preview_url(turn.conversation_id, sees) if record.history_cut else "",
        usage_label=labels.usage_label(turn, record, sees),
    )
    if turn.compared_with_id:  # one is chosen first; then there is more to do with it
        return replace(shared, keep_url=reverse("chat:keep", args=args))
    can_continue = continuation.can_continue(turn, record)
    return replace(
        shared,
        branch=branch_view(turn, answers, answers.index(turn.pk)),
        retry_url=reverse("chat:retry", args=args),
        is_retry_offered=record.status == "complete" and not is_noted,
        continue_url=reverse("chat:continue", args=args) if can_continue else "",
        feedback_url=reverse("chat:feedback", args=args),
        feedback=feedback_view(turn) if record.answer else None,
        can_show_steps=sees.trace_on_request and bool(record.trace),
    )


def _preview_url(conversation_id: uuid.UUID, sees: Visibility) -> str:
    return reverse("chat:preview", args=[conversation_id]) if sees.previews_requests else ""


def live_answer_card(live: TurnState, sees: Visibility) -> AnswerView:
    """Return the card of a running turn, as far as it has come."""
    shown, open_html = _live_answer(live)
    steps = tuple(_live_step_view(step, live.approval) for step in live.steps) if sees.trace else ()
    return AnswerView(
        id=live.public_id,
        number=live.number,
        status="streaming",
        model=translate_stored(live.model_label or live.model),
        at=ClockTime.of(live.started_at),
        sees=sees,
        answer_html=shown.html,
        open_html=open_html,
        is_shortened=shown.is_shortened,
        tail_n=live.tail_n,
        status_text=_status_text(live, sees),
        elapsed_s=live.elapsed_s,
        retry_in_s=live.retry_in_s,
        steps=steps,
        phases=phases.divide(live.public_id, steps),
        step_problems=labels.problems(steps),
        running_label=labels.newest_running_label(steps),
        approval=_approval_view(live),
        steps_label=labels.steps_label(sum(step.trace.omitted or 1 if step.trace else 1 for step in live.steps)),
        steps_detail=labels.steps_detail([step.trace for step in live.steps if step.trace]),
        thinking=_live_thinking(live, sees),
        history_note=labels.history_note(live.history_cut),
        is_beside=live.is_beside,
        # Nothing else can be asked of it yet, and each address takes longer than the rest of the view.
        actions=CardActions(
            trace_url=reverse("chat:trace", args=[live.conversation_id, live.id]) if sees.trace else "",
            preview_url=_preview_url(live.conversation_id, sees) if live.history_cut else "",
        ),
    )


def step_view(step: ToolTraceStep) -> StepView:
    """Return one finished step of the trace, or the one that represents those not shown."""
    if step.omitted:
        return StepView(tool="", state="done", state_label=labels.omitted_label(step.omitted))
    state = STEP_STATES[step.status]
    return StepView(
        tool=step.tool,
        state=state,
        state_label=labels.state_label(state),
        args=arg_views(step.args),
        results_label=labels.results_label(step.results),
        duration_label="" if state == "waiting" else labels.duration_label(step.duration_ms),
        citations=tuple(link_view(citation) for citation in step.top_citations),
        more_label=labels.more_label((step.results or 0) - len(step.top_citations)),
        error=translate_stored(step.error or ""),
        output=step.output,
        response=step.response,
        results=step.results or 0,
        duration_ms=step.duration_ms,
        about=labels.about_label(step),
    )


def link_view(citation: Citation) -> LinkView:
    return LinkView(source_url(citation), cite_label(citation), citation.kind, citation.url)


def arg_views(args: Any) -> tuple[ArgView, ...]:
    """Return redacted arguments as name and value, in their order; masks marked."""
    if not isinstance(args, Mapping):
        return (ArgView("", translate_stored(str(args))),) if args not in (None, "", []) else ()
    return tuple(
        ArgView(str(name), "", _("key")) if value == "[redacted]" else ArgView(str(name), flatten(value))
        for name, value in args.items()
        if value is not None
    )


def flatten(value: Any) -> str:
    """Return a JSON value in one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case Mapping():
            return ", ".join(f"{name}: {flatten(item)}" for name, item in value.items())
        case list():
            return ", ".join(map(flatten, value))
    return str(value)


def source_views(citations: Sequence[Citation]) -> tuple[SourceView, ...]:
    """Return each cited source once, in the order of first appearance."""
    by_ref: dict[int, list[Citation]] = {}
    for citation in citations:
        by_ref.setdefault(citation.ref, []).append(citation)
    numbers = citation_numbers(citations)
    return tuple(
        SourceView(
            ref=numbers[ref],
            url=source_url(of_source[0], [one.quote for one in of_source if one.quote and one.verified]),
            label=cite_label(of_source[0]),
            address=of_source[0].url,
            kind=of_source[0].kind,
            publisher=of_source[0].publisher,
            excerpts=tuple(dict.fromkeys(excerpt_view(one) for one in of_source[:MAX_EXCERPTS] if shown_text(one))),
        )
        for ref, of_source in by_ref.items()
    )


def shown_text(citation: Citation) -> str:
    """Return what is known to be in the cited passage; documents and attached files have no readable snippet stored."""
    return citation.snippet or (citation.quote or "" if citation.verified else "")


def excerpt_view(citation: Citation) -> ExcerptView:
    """Return the snippet of a citation, divided at the words that are quoted from it."""
    text = shown_text(citation)
    span = find_quotation(citation.quote, text) if citation.quote and citation.verified else None
    if span is None:
        return ExcerptView(text)
    return ExcerptView(text[: span[0]], text[slice(*span)], text[span[1] :])


def copied_answer(record: AnswerRecord) -> str:
    """Return what Copy puts on the clipboard: the answer and its numbered citations, nothing else. See ``arender``."""
    sources = source_views(record.citations)
    lines = [f"[{source.ref}] {source.label}" for source in sources]
    answer = renumber_citations(record.answer, citation_numbers(record.citations))
    return "\n\n".join(part for part in (answer, "\n".join(lines)) if part)


def _status_text(live: TurnState, sees: Visibility) -> str:
    """Return what a turn does now. How much a tool found belongs to the trace."""
    if live.thought_line and sees.may_open_thinking:
        return live.thought_line
    return reading_results(live.reads) if live.reads and sees.trace else live.status_text and _(live.status_text)


def _approval_view(live: TurnState) -> StepView | None:
    if live.approval is None:
        return None
    url = reverse("chat:decide", args=[live.conversation_id, live.id, live.approval.call_id])
    view = replace(
        step_view(live.approval), decide_url=f"{url}?digest={live.approval.digest}", digest=live.approval.digest
    )
    if question := live.approval.question:
        view = replace(view, question=question["message"], fields=tuple(map(field_from_json, question["fields"])))
    return view


def _live_answer(live: TurnState) -> tuple[rendering.ShownAnswer, SafeString]:
    """Return the finished blocks of a running answer and the one that grows, as far as a page has room for them."""
    room, shown, open_html = rendering.MAX_ANSWER_BYTES, 0, live.open_block.html
    for html in live.frozen:
        room -= len(html.encode())
        if room < 0:
            break
        shown += 1
    finished = SafeString("".join(live.frozen[:shown]))
    if is_shortened := room < len(open_html.encode()):
        open_html = ""
    return rendering.ShownAnswer(finished, is_shortened), SafeString(open_html)


def _live_step_view(step: LiveStep, approval: ToolTraceStep | None) -> StepView:
    if step.trace is not None:
        return step_view(step.trace)
    if step.is_queued:
        return StepView(step.tool, "queued", labels.state_label("queued"), response=step.response)
    if approval is not None:  # while a call waits no other one runs
        return replace(step_view(approval), response=step.response)
    return StepView(step.tool, "running", labels.state_label("running"), response=step.response)


def _live_thinking(live: TurnState, sees: Visibility) -> ThinkingView | None:
    if sees.thinking == "none":
        return None
    if not sees.may_open_thinking:
        return ThinkingView(label="", tokens_est=0, state="pending")
    url = reverse("chat:thinking", args=[live.conversation_id, live.id])
    tokens, is_excerpt = live.thinking_tokens, sees.cuts_thinking(live.thinking_tokens)
    if live.thought_ms is None:  # it grows: how much there is comes when it rests
        return ThinkingView(_("Thinking…"), tokens, url, size_label=_("excerpt") if is_excerpt else "")
    size_label = labels.thinking_size_label(tokens, is_excerpt=is_excerpt)
    return ThinkingView(labels.thinking_label(live.thought_ms), tokens, url, size_label=size_label)


def _stored_thinking(
    turn: Turn, record: AnswerRecord, sees: Visibility, opened: ThinkingText | None
) -> ThinkingView | None:
    if not record.thinking_tokens or sees.thinking == "none":
        return None
    label, tokens = labels.thinking_label(turn.thinking_ms), record.thinking_tokens
    if sees.thinking == "withheld":
        return ThinkingView(label, tokens, state="withheld")
    url = reverse("chat:thinking", args=[turn.conversation_id, turn.pk])
    text = opened.text if opened else ""
    if len(text) > MAX_OPENED_CHARS:  # a page with JavaScript reads all of it by itself, as text
        text = text[:MAX_OPENED_CHARS] + TRUNCATED
    size_label = labels.thinking_size_label(tokens, is_excerpt=sees.cuts_thinking(tokens))
    return ThinkingView(label, tokens, url, text=text, is_open=opened is not None, size_label=size_label)
