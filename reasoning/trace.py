"""The redacted account of one tool call: what people see of it.

A ``ToolTraceStep`` comes only from ``finish``, which redacts, or from ``step_from_json``, which reads a stored one.
There is no unredacted step to leak, and none can be made by copying with changes. ``manage.py rerender`` applies new
rules to stored steps. Time is passed in. Spec 004 trace, product 10.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from typing import Any, Literal

from reasoning.citations import Citation, Source, citation_from_json, citation_to_json
from reasoning.redaction import SECRETS_ONLY, Redactor, redact_text
from reasoning.redaction.policy import DEFAULT, TRUNCATED
from reasoning.scratchpad import Scratchpad

StepStatus = Literal["ok", "error", "denied", "cancelled", "waiting"]

TOP_CITATIONS = 3
MAX_TOOL_CHARS = 80
UNREADABLE = "[arguments that are no JSON]"
_OMITTED_STEP_BYTES = 512  # more than the step has that counts those left out
_CREATED_HERE = object()

# The sentences of a summary that is built from steps.
SENTENCES = {
    "searched": "Searched the filings for “{query}” and got {results}.",
    "searched_documents": "Searched the documents for “{query}” and got {results}.",
    "used": "Used {tool} and got {results}.",
    "used_only": "Used {tool}.",
    "error": "Tried {tool}, which failed.",
    "denied": "Asked for {tool}, which was not allowed.",
    "cancelled": "Stopped {tool} before it ended.",
    "nothing": "Found no passage to cite.",
    "found": "Found {label}.",
    "read": "Read {label}.",
    "one_result": "1 result",
    "results": "{count} results",
}
# The sentence for a search that is shown with its query, by tool.
SEARCHES = {"searchFilings": "searched", "searchDocuments": "searched_documents"}
MAX_BULLETS = 5
MIN_BULLETS = 2
MAX_QUERY_CHARS = 80


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A call that runs now. ``arguments`` is the exact string; it leaves only through ``finish``, redacted."""

    call_id: str
    tool: str
    arguments: str = field(repr=False)
    started_ms: float
    shown: frozenset[str] | None
    scratchpad: Scratchpad


@dataclass(frozen=True, slots=True)
class ToolTraceStep:
    """One finished step, or one that waits for a decision, redacted. ``redactions`` counts what was masked, by kind.

    ``output`` is what people read of the result. ``call_id`` and ``digest`` are set where the step waits: under them
    the call is decided (product 26, 48). ``question``: what it asks its user then, ``message`` and the ``fields`` of a
    form; None where it only asks. ``omitted`` is 0, or the number of steps that this one represents: those for
    which a trace had no room. ``response`` is the step of its turn whose response made the call, where that is known:
    calls of one response were made together. No JSON form has it.
    """

    tool: str
    args: Any
    duration_ms: float
    results: int | None
    top_citations: tuple[Citation, ...]
    status: StepStatus
    error: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)
    omitted: int = 0
    output: str = ""
    call_id: str = ""
    digest: str = ""
    question: Mapping[str, Any] | None = None
    response: int | None = None
    _: KW_ONLY
    created_by: InitVar[object]

    def __post_init__(self, created_by: object) -> None:
        # dataclasses.replace can't pass the marker either, so no step is made by copying with changes.
        if created_by is not _CREATED_HERE:
            raise TypeError("a trace step comes from finish or step_from_json alone")


def start(
    call_id: str,
    name: str,
    arguments: str,
    *,
    at_ms: float,
    shown: frozenset[str] | None,
    scratchpad: Scratchpad | None = None,
) -> OpenStep:
    """Begin a step. ``shown`` names the arguments whose values people may see; None shows all, redacted.

    What they repeat of the ``scratchpad`` is masked (product 22).
    """
    return OpenStep(call_id, name, arguments, at_ms, shown, scratchpad or Scratchpad())


def finish(
    opened: OpenStep,
    *,
    at_ms: float,
    status: StepStatus,
    results: int | None = None,
    sources: Sequence[Source] = (),
    error: str | None = None,
    output: str = "",
    call_id: str = "",
    digest: str = "",
    question: Mapping[str, Any] | None = None,
) -> ToolTraceStep:
    """End a step: name, arguments, error and snippets come out redacted, the first three sources as citations.

    With the status ``waiting``, a ``call_id`` and a ``digest``: as people see it before they decide.
    """
    redactor = Redactor(remove_repeats=opened.scratchpad.remove_repeats)
    # A snippet is a public filing's words, in which only secrets are masked (product 12).
    snippets = Redactor(SECRETS_ONLY)
    try:
        args = redactor.redact_args(json.loads(opened.arguments or "{}"), shown=opened.shown)
    except (ValueError, RecursionError):
        args = UNREADABLE
    return ToolTraceStep(
        tool=str(redactor.redact_args(opened.tool[:MAX_TOOL_CHARS])),
        args=args,
        duration_ms=max(0.0, round(at_ms - opened.started_ms, 1)),
        results=results,
        top_citations=tuple(
            replace(source.citation(), snippet=str(snippets.redact_args(source.snippet)))
            for source in sources[:TOP_CITATIONS]
        ),
        status=status,
        error=str(redactor.redact_args(error)) if error else None,
        output=str(redactor.redact_args(output)) if output else "",
        redactions=dict(redactor.counts + snippets.counts),
        call_id=call_id,
        digest=digest,
        question=_redacted_question(question),
        created_by=_CREATED_HERE,
    )


def _redacted_question(question: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if question is None:
        return None
    texts = ("label", "help")
    fields = [{**field, **{name: redact_text(field[name]) for name in texts}} for field in question["fields"]]
    return {"message": redact_text(question["message"]), "fields": fields}


def step_to_json(step: ToolTraceStep) -> dict[str, Any]:
    """Return the envelope form; ``error``, ``output``, ``redactions`` and ``callId`` only where there are any."""
    citations = [citation_to_json(citation) for citation in step.top_citations]
    for citation in citations:
        del citation["verified"]  # a step cites no quotation
    form: dict[str, Any] = {
        "tool": step.tool,
        "args": step.args,
        "durationMs": step.duration_ms,
        "results": step.results,
        "topCitations": citations,
        "status": step.status,
    }
    if step.error:
        form["error"] = step.error
    if step.redactions:
        form["redactions"] = dict(step.redactions)
    if step.omitted:
        form["omitted"] = step.omitted
    if step.output:
        form["output"] = step.output
    if step.call_id:
        form |= {"callId": step.call_id, "digest": step.digest}
    if step.question:
        form["question"] = step.question
    return form


def step_from_json(form: Mapping[str, Any], *, response: int | None = None) -> ToolTraceStep:
    """Read back a stored step. Missing keys take harmless values, so that old rows stay readable."""
    return ToolTraceStep(
        tool=form.get("tool", ""),
        args=form.get("args", {}),
        duration_ms=form.get("durationMs", 0),
        results=form.get("results"),
        top_citations=tuple(citation_from_json(found) for found in form.get("topCitations", ())),
        status=form.get("status", "ok"),
        error=form.get("error"),
        redactions=form.get("redactions", {}),
        omitted=form.get("omitted", 0),
        output=form.get("output", ""),
        call_id=form.get("callId", ""),
        digest=form.get("digest", ""),
        question=form.get("question"),
        response=response,
        created_by=_CREATED_HERE,
    )


class TraceRoom:
    """The room of one trace, 100 KB of JSON in whichever form it leaves the server: the one limit of all doors.

    Steps are shown in order for as long as they fit; then one step represents all others. Product 25.
    """

    def __init__(self) -> None:
        self._bytes_left = DEFAULT.trace_bytes - _OMITTED_STEP_BYTES
        self._duration_ms = 0.0
        self._results = 0
        self.omitted = 0

    def takes(self, step: ToolTraceStep) -> bool:
        """Say whether the next step is shown; one that isn't is counted."""
        if not self.omitted:
            # Escaped and widely indented: no door writes more.
            self._bytes_left -= len(json.dumps([step_to_json(step)], indent=4))
        if self.omitted or self._bytes_left < 0:
            self.omitted += step.omitted or 1
            self._duration_ms += step.duration_ms
            self._results += step.results or 0
            return False
        return True

    def omitted_step(self) -> ToolTraceStep:
        """Return the step that represents those that were not shown; their times and results are added up."""
        return ToolTraceStep(
            tool=TRUNCATED,
            args={},
            duration_ms=round(self._duration_ms, 1),
            results=self._results,
            top_citations=(),
            status="ok",
            omitted=self.omitted,
            created_by=_CREATED_HERE,
        )


def within_room(steps: Iterable[ToolTraceStep]) -> tuple[ToolTraceStep, ...]:
    """Return the steps that are shown of a trace, the last standing for those that are not."""
    room = TraceRoom()
    shown = [step for step in steps if room.takes(step)]
    return (*shown, room.omitted_step()) if room.omitted else tuple(shown)


def count_steps(steps: Iterable[ToolTraceStep]) -> int:
    """Return how many steps a trace has, shown or not."""
    return sum(step.omitted or 1 for step in steps)


def summary_from_trace(
    steps: Sequence[ToolTraceStep], guard: Callable[[Sequence[str]], Collection[str]] = lambda bullets: bullets
) -> tuple[str, ...]:
    """Return two to five plain bullets on what was done, or () where nothing was. Spec 004 summary.

    ``guard`` returns the bullets that may be shown. Of another the query is left out, or all of it.
    """
    worded = [(step_bullet(step), step_bullet(step, with_query=False)) for step in steps]
    safe = guard([bullet for choices in worded for bullet in choices])
    done = [bullet for choices in worded for bullet in [each for each in choices if each in safe][:1]]
    # A passage that was opened was read; one that a search lists was found.
    read = cited_labels(step for step in steps if step.tool == "readPassage")
    found = [label for label in cited_labels(steps) if label not in read]
    cited = [
        *(SENTENCES["read"].format(label=label) for label in read),
        *(SENTENCES["found"].format(label=label) for label in found),
    ]
    bullets = list(dict.fromkeys([*done, *cited]))
    if bullets and not cited and len(bullets) < MIN_BULLETS:
        bullets.append(SENTENCES["nothing"])
    return tuple(bullets[:MAX_BULLETS])


def translate_summary(
    bullets: Sequence[str], steps: Sequence[ToolTraceStep], sentences: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a summary that was built from these steps with other ``sentences``, such as those of another language."""

    def worded(words: Mapping[str, str]) -> list[str]:
        done = [step_bullet(step, words, with_query=shown) for step in steps for shown in (True, False)]
        cited = [words[verb].format(label=label) for verb in ("read", "found") for label in cited_labels(steps)]
        return [*done, *cited, words["nothing"]]

    translations = dict(zip(worded(SENTENCES), worded(sentences), strict=True))
    return tuple(translations.get(bullet, bullet) for bullet in bullets)


def cited_labels(steps: Iterable[ToolTraceStep]) -> list[str]:
    """Return "10-K · 2026-02-26 · Item 7" of each source that steps cite, once."""
    cited = (citation for step in steps for citation in step.top_citations)
    labels = (filter(None, (citation.title, citation.date, citation.section)) for citation in cited)
    return list(dict.fromkeys(map(" · ".join, labels)))


def step_bullet(step: ToolTraceStep, words: Mapping[str, str] = SENTENCES, *, with_query: bool = True) -> str:
    if step.status in words:
        return words[step.status].format(tool=step.tool)
    if step.results is None:
        return words["used_only"].format(tool=step.tool)
    results = words["one_result" if step.results == 1 else "results"].format(count=step.results)
    query = step.args.get("query") if isinstance(step.args, dict) else None
    if with_query and isinstance(query, str) and step.tool in SEARCHES:
        if len(query) > MAX_QUERY_CHARS:  # a bullet is one line
            query = query[:MAX_QUERY_CHARS].rpartition(" ")[0].rstrip(" ,;") + "…"
        return words[SEARCHES[step.tool]].format(query=query, results=results)
    return words["used"].format(tool=step.tool, results=results)
