"""The words of a card: how its turn ended, what it cost, what its steps and its quotations came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.cards.view_models import StepProblemView, StepState, StepView
from chat.html import cite_label
from chat.models import Turn
from chat.texts.error_texts import turn_error_text
from chat.tools import registry
from chat.tools.base import ToolWords
from reasoning.citations import Citation, citation_numbers, count_uncited
from reasoning.envelope import AnswerRecord
from reasoning.events import HistoryCut
from reasoning.trace import ToolTraceStep, translate_summary
from reasoning.visibility import Visibility

MAX_ABOUT_CHARS = 60


def tool_words(name: str) -> ToolWords:
    """Return how calls of a tool read; of one that is unknown here, with its name."""
    tool = registry().get(name)
    return tool.words if tool else ToolWords()


def ended_label(turn: Turn) -> str:
    """Return how long a stopped turn ran, never ``0 s``; empty for any other."""
    if turn.status != Turn.Status.ABORTED or turn.is_unasked or turn.run_s is None:
        return ""
    seconds = round(turn.run_s)
    if seconds < 1:
        return _("Stopped after less than 1 s")
    return _("Stopped after %(seconds)s s") % {"seconds": seconds}


def error_label(turn: Turn, sees: Visibility) -> str:
    """Return why a turn failed; empty where it did not. Product 40."""
    return turn_error_text(turn, for_staff=sees.names_settings) if turn.status == Turn.Status.ERRORED else ""


def summary_points(record: AnswerRecord) -> tuple[str, ...]:
    """Return the bullets of a summary; those that were built from the steps in the viewer's language."""
    if record.summary_source != "trace":
        return record.summary
    sentences = {
        "searched": _("Searched the filings for “{query}” and got {results}."),
        "searched_documents": _("Searched the documents for “{query}” and got {results}."),
        "used": _("Used {tool} and got {results}."),
        "used_only": _("Used {tool}."),
        "error": _("Tried {tool}, which failed."),
        "denied": _("Asked for {tool}, which was not allowed."),
        "cancelled": _("Stopped {tool} before it ended."),
        "nothing": _("Found no passage to cite."),
        "found": _("Found {label}."),
        "read": _("Read {label}."),
        "one_result": _("1 result"),
        "results": _("{count} results"),
    }
    return translate_summary(record.summary, record.trace, sentences)


def notice_label(turn: Turn, record: AnswerRecord, sees: Visibility) -> str:
    """Return what else there is to know of a turn that did not end as it should."""
    match turn.status:
        case Turn.Status.ABORTED if turn.is_unasked:
            return _("Saved, not asked yet.")
        case Turn.Status.INTERRUPTED:
            return _("Interrupted: the server restarted. What was written is kept.")
        case Turn.Status.COMPLETED | Turn.Status.ITERATION_CAPPED:
            if text := turn_error_text(turn, for_staff=sees.names_settings):
                return text
    match turn.status:
        case Turn.Status.ITERATION_CAPPED:
            count = len(record.trace)
            return ngettext("Stopped after %(count)s step.", "Stopped after %(count)s steps.", count) % {"count": count}
        case Turn.Status.COMPLETED if not record.answer:
            return _("The model ended without an answer.")
    return ""


def history_note(cut: HistoryCut) -> str:
    """Return what became of earlier messages before this answer. Product 23."""
    match cut:
        case "summarised":
            return _("Earlier messages were summarised to fit the model’s context.")
        case "left out":
            return _("The oldest messages are left out from here on, to fit the model’s context.")
    return ""


def duration_label(duration_ms: float) -> str:
    """Return ``412 ms``, or ``1.2 s``."""
    if duration_ms < 1000:
        return _("%(count)s ms") % {"count": round(duration_ms)}
    return _("%(count)s s") % {"count": number_format(duration_ms / 1000, decimal_pos=1)}


def usage_label(turn: Turn, record: AnswerRecord, sees: Visibility) -> str:
    """Return the tokens and the duration of an answer, one a line, without what was not reported."""
    if turn.is_unasked:
        return ""
    parts = []
    if record.input_tokens is not None or record.output_tokens is not None:
        reasoning = record.reasoning_tokens or 0
        if record.input_tokens is not None:
            parts.append(_("Input: %(count)s tokens") % {"count": _number(record.input_tokens)})
        if sees.reasoning_possible:
            tokens = _number(reasoning or record.thinking_tokens)
            parts.append(_("Reasoning: %(count)s tokens") % {"count": tokens})
        if record.output_tokens is not None:
            tokens = _number(max(0, record.output_tokens - reasoning))
            parts.append(_("Output: %(count)s tokens") % {"count": tokens})
    if turn.run_s is not None:
        duration = duration_label(turn.run_s * 1000)
        parts.append(_("Duration: %(duration)s") % {"duration": duration})
    return "\n".join(parts)


def _number(count: int) -> str:
    return number_format(count, force_grouping=True)


def thinking_label(thinking_ms: int) -> str:
    """Return ``Thought for 12 s``, ``Thought briefly`` under a second, ``Thought`` where a restart lost the time."""
    if not thinking_ms:
        return _("Thought")
    if thinking_ms < 1000:
        return _("Thought briefly")
    return _("Thought for %(seconds)s s") % {"seconds": round(thinking_ms / 1000)}


def thinking_size_label(tokens: int, *, is_excerpt: bool) -> str:
    """Return ``~340 tokens``, or ``excerpt of ~1480 tokens`` where the viewer reads only the beginning."""
    if is_excerpt:
        return _("excerpt of ~%(tokens)s tokens") % {"tokens": tokens}
    return ngettext("~%(tokens)s token", "~%(tokens)s tokens", tokens) % {"tokens": tokens}


def steps_label(count: int) -> str:
    """Return ``3 steps``."""
    return ngettext("%(count)s step", "%(count)s steps", count) % {"count": count}


def omitted_label(count: int) -> str:
    """Return what is said in place of steps that are not shown."""
    return ngettext("%(count)s more step is not shown", "%(count)s more steps are not shown", count) % {"count": count}


def steps_detail(steps: Sequence[ToolTraceStep]) -> str:
    """Return ``5 results · 1.2 s``, of all steps together."""
    if not steps:
        return ""
    results = sum(step.results or 0 for step in steps)
    return " · ".join((results_label(results), duration_label(sum(step.duration_ms for step in steps))))


def results_label(count: int | None) -> str:
    """Return ``5 results``; empty where a step counts none."""
    return "" if count is None else ngettext("%(count)s result", "%(count)s results", count) % {"count": count}


def more_label(count: int) -> str:
    """Return how many results a step doesn't list; empty where it lists all."""
    return ngettext("%(count)s more", "%(count)s more", count) % {"count": count} if count > 0 else ""


def state_label(state: StepState) -> str:
    """Return the state of a step."""
    return {
        "queued": _("Queued"),
        "running": _("Running"),
        "waiting": _("Waiting for you"),
        "done": _("Done"),
        "failed": _("Failed"),
        "cancelled": _("Cancelled"),
        "denied": _("Denied"),
    }[state]


def running_label(step: StepView) -> str:
    """Return what a call does that runs or waits; of a tool without words of its own, its name."""
    if step.state == "waiting":
        return _("Waiting for you")
    running = tool_words(step.tool).running
    return _(running) if running else _("Using %(tool)s…") % {"tool": step.tool}


def newest_running_label(steps: Sequence[StepView]) -> str:
    """Return what the newest call does that runs or waits for its user, not one that is queued; empty for none."""
    return next((running_label(step) for step in steps[::-1] if not step.has_ended and step.state != "queued"), "")


def phase_heading(steps: Sequence[StepView]) -> str:
    """Return what these steps did, each tool once: ``Searched the filings, read passages``."""
    running = next((step for step in steps if not step.has_ended), None)
    if running:
        return running_label(running)
    parts = []
    for tool in dict.fromkeys(step.tool for step in steps):
        if not any(step.state == "done" for step in steps if step.tool == tool):
            parts.append(_("Tried to use %(tool)s") % {"tool": tool})
        elif done := tool_words(tool).done:
            parts.append(_(done))
        else:
            parts.append(_("Used %(tool)s") % {"tool": tool})
    return ", ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])


def phase_detail(steps: Sequence[StepView]) -> str:
    """Return ``4 searches · 12 results · 2.1 s``."""
    parts = []
    for tool, count in Counter(step.tool for step in steps).items():
        if calls := tool_words(tool).calls:
            words = ngettext(calls.one, calls.many, count)
        else:
            words = ngettext("%(count)s call", "%(count)s calls", count)
        parts.append(words % {"count": count})
    if any(step.results_label for step in steps):
        parts.append(results_label(sum(step.results for step in steps)))
    if any(step.duration_label for step in steps):
        parts.append(duration_label(sum(step.duration_ms for step in steps)))
    return " · ".join(parts)


def about_label(step: ToolTraceStep) -> str:
    """Return what a step looked for, in quotation marks, else the passage that it found; empty for neither."""
    words = tool_words(step.tool)
    query = step.args.get(words.query) if words.query and isinstance(step.args, dict) else None
    if isinstance(query, str) and query and query != "[redacted]":
        shown = query if len(query) <= MAX_ABOUT_CHARS else query[:MAX_ABOUT_CHARS].rstrip() + "…"
        return _("“%(query)s”") % {"query": shown}
    return cite_label(step.top_citations[0]) if step.top_citations else ""


def together_label(count: int) -> str:
    """Return that several calls were made together."""
    return ngettext("%(count)s call made together", "%(count)s calls made together", count) % {"count": count}


def problems(steps: Sequence[StepView]) -> tuple[StepProblemView, ...]:
    """Return how many steps did not end well, by how they ended."""
    ended: Counter[StepState] = Counter(step.state for step in steps)
    words: dict[StepState, str] = {
        "failed": _("%(count)s failed"),
        "denied": _("%(count)s denied"),
        "cancelled": _("%(count)s cancelled"),
    }
    return tuple(
        StepProblemView(state, text % {"count": ended[state]}) for state, text in words.items() if ended[state]
    )


def found_label(citations: Sequence[Citation]) -> str:
    """Return how many quotations were found word for word; empty for none."""
    found = sum(citation.verified is True for citation in citations)
    text = ngettext("%(count)s quotation found word for word", "%(count)s quotations found word for word", found)
    return text % {"count": found} if found else ""


def uncited_label(record: AnswerRecord) -> str:
    """Return how many sentences of an answer with sources name none; empty for none, and for other answers."""
    uncited = count_uncited(record.answer) if record.citations else 0
    text = ngettext("%(count)s sentence without a source", "%(count)s sentences without a source", uncited)
    return text % {"count": uncited} if uncited else ""


def unfound_labels(citations: Sequence[Citation]) -> tuple[str, ...]:
    """Return a sentence for each source of which a quotation was not found."""
    numbers = citation_numbers(citations)
    refs = sorted({numbers[citation.ref] for citation in citations if citation.verified is False})
    text = _("Citation %(ref)s is unverified: the quotation was not found in the passage that it names.")
    return tuple(text % {"ref": ref} for ref in refs)
