"""What the card templates get: ready values, no decisions left.

Built by ``cards.build`` from a stored or a running turn and one viewer's ``Visibility``. The DOM ids that templates and
live frames share are spelled here once, by ``dom_id``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from django.utils import timezone
from django.utils.safestring import SafeString

from chat.tools.questions import Field
from reasoning.citations import SourceKind
from reasoning.visibility import Visibility

CardStatus = Literal["streaming", "complete", "stopped", "error", "interrupted"]
StepState = Literal["queued", "running", "waiting", "done", "failed", "cancelled", "denied"]
# "pending": withheld from this viewer, of a running turn, which may yet come to have none.
ThinkingState = Literal["readable", "withheld", "pending"]
# By name in static/img/icons.svg.
STEP_ICONS: dict[StepState, str] = {
    "queued": "pause",
    "running": "arc",
    "waiting": "pause",
    "done": "check",
    "failed": "alert",
    "cancelled": "cross",
    "denied": "deny",
}


def dom_id(message_id: str, part: str = "") -> str:
    """Return the DOM id of a card, or of one swappable part of it: ``m-<id>`` and ``m-<id>-<part>``."""
    return f"m-{message_id}-{part}" if part else f"m-{message_id}"


class ClockTime(NamedTuple):
    """A moment in the viewer's time zone, as a ``time`` element has it."""

    iso: str
    clock: str  # "14:05"

    @classmethod
    def of(cls, moment: datetime) -> ClockTime:
        # Every frame of a card's head has it: the template filter takes ten times as long.
        local = timezone.localtime(moment)
        return cls(local.isoformat(), f"{local:%H:%M}")


@dataclass(frozen=True, slots=True)
class BranchStep:
    """Another turn asked in the same place, and where it is chosen."""

    id: str
    url: str


@dataclass(frozen=True, slots=True)
class BranchView:
    """Which version of a question or of its answer is shown, and the ones before and after it."""

    position: int
    count: int
    before: BranchStep | None
    after: BranchStep | None


@dataclass(frozen=True, slots=True)
class AttachmentView:
    """A file of a question, or with ``remove_url`` one that waits for the next message."""

    id: str
    name: str
    url: str  # of its text, for its owner
    size_label: str
    kind: str  # as its tile shows it, such as PDF
    image_url: str = ""
    note: str = ""  # what of it is not used
    remove_url: str = ""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What the person asked."""

    id: str  # "<turn>-q"
    number: int
    text: str
    asked_at: ClockTime
    client_id: str = ""  # as the page that sent it knows it; confirms to that page that it arrived
    edit_url: str = ""  # where it is put in other words, if it may be
    branch: BranchView | None = None  # of its versions, where there is more than one
    attachments: tuple[AttachmentView, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgView:
    """One displayable argument of a step. ``mask`` is the kind of what was masked, else empty."""

    name: str
    value: str
    mask: str = ""


@dataclass(frozen=True, slots=True)
class LinkView:
    """A citation in the trace: where it leads, if anywhere, what it says; ``address``: as ``SourceView`` has it."""

    url: str
    label: str
    kind: SourceKind = "filing"
    address: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of the trace. Without a tool it is what is said in place of steps that are not shown."""

    tool: str
    state: StepState
    state_label: str
    args: tuple[ArgView, ...] = ()
    results_label: str = ""
    duration_label: str = ""
    citations: tuple[LinkView, ...] = ()
    more_label: str = ""  # "5 more"
    error: str = ""
    output: str = ""  # what the call came to, in a line
    question: str = ""  # that a call asks its user, with a form
    fields: tuple[Field, ...] = ()
    digest: str = ""  # of what a call that waits has shown
    decide_url: str = ""  # of a call that waits: where it is allowed or denied
    response: int | None = None  # as ``ToolTraceStep`` has it
    results: int = 0
    duration_ms: float = 0
    about: str = ""  # what was looked for, or what was read

    @property
    def icon(self) -> str:
        return STEP_ICONS[self.state]

    @property
    def has_ended(self) -> bool:
        return self.state not in ("queued", "running", "waiting")


@dataclass(frozen=True, slots=True)
class StepGroupView:
    """The calls of one response. ``label``: that several were made together; empty for a single one."""

    steps: tuple[StepView, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class StepProblemView:
    """How many steps did not end well: ``2 failed``."""

    state: StepState
    label: str

    @property
    def icon(self) -> str:
        return STEP_ICONS[self.state]


@dataclass(frozen=True, slots=True)
class PhaseView:
    """Consecutive steps under one heading. Without one they are listed plainly."""

    groups: tuple[StepGroupView, ...]
    id: str = ""
    heading: str = ""  # "Searched the filings"
    detail: str = ""  # "4 searches · 12 results · 2.1 s"
    about: tuple[str, ...] = ()  # what was looked for, or what was read
    more_label: str = ""  # "5 more"
    state: StepState = "done"
    problems: tuple[StepProblemView, ...] = ()
    is_open: bool = False

    @property
    def icon(self) -> str:
        return STEP_ICONS[self.state]


@dataclass(frozen=True, slots=True)
class ExcerptView:
    """What is shown of a cited passage, with the words that the answer quotes."""

    before: str
    quoted: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class SourceView:
    """One cited source, as the row below the answer lists it, and the preview of its passage."""

    ref: int
    url: str
    label: str
    kind: SourceKind
    address: str = ""  # of its passage, as a tool returned it
    publisher: str = ""
    excerpts: tuple[ExcerptView, ...] = ()
    anchor: str = ""  # on a shared page: the id of its passage there


@dataclass(frozen=True, slots=True)
class ThinkingView:
    """The thinking disclosure. ``tokens_est`` counts the whole thinking, not the excerpt that a viewer may read."""

    label: str  # "Thought for 12 s", "Thinking…"
    tokens_est: int
    url: str = ""  # its text, fetched on first opening
    state: ThinkingState = "readable"
    text: str = ""  # only where it was asked for with the page (no JavaScript)
    is_open: bool = False
    n: int = 0  # while it streams: the number of the last piece in ``text``
    size_label: str = ""  # "~340 tokens", "excerpt of ~1480 tokens"


@dataclass(frozen=True, slots=True)
class FeedbackView:
    """What its person said of an answer: ``good``, ``poor`` or nothing, and why.

    ``verdicts``, ``reasons``: value, words, chosen.
    """

    id: str
    verdicts: tuple[tuple[str, str, bool], ...]
    verdict: str = ""
    reasons: tuple[tuple[str, str, bool], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class CardActions:
    """What the owner of an answer may do with it, and what only they see of it. An empty URL: not this one."""

    branch: BranchView | None = None  # of the answers to the same question, where there is more than one
    keep_url: str = ""  # of one of two answers side by side
    copy_url: str = ""
    retry_url: str = ""
    is_retry_offered: bool = False  # among the actions; a card that says how it failed offers it there
    continue_url: str = ""  # where the answer was cut off
    feedback_url: str = ""
    feedback: FeedbackView | None = None
    delete_url: str = ""  # of the answer and its question
    trace_url: str = ""  # to copy the trace
    can_show_steps: bool = False  # which are left out until somebody asks for them
    preview_url: str = ""  # of the next request
    usage_label: str = ""

    @property
    def has_more(self) -> bool:
        """Whether there is more to do than to copy, which a phone puts behind one button."""
        return bool(self.is_retry_offered or self.feedback or self.can_show_steps or self.delete_url)


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The card of an answer, for one viewer."""

    id: str
    number: int
    status: CardStatus
    model: str
    at: ClockTime
    sees: Visibility
    answer_html: SafeString
    open_html: SafeString | str = ""  # while it works: the block that still grows
    tail_n: int = 0
    is_shortened: bool = False  # what is shown is the beginning of the answer
    whole_url: str = ""  # and where all of it is, as text
    status_text: str = ""  # while it works: "Searching filings…"
    elapsed_s: int = 0  # while it works: seconds since it started
    retry_in_s: int | None = None  # while it waits for a busy service: seconds until that is asked again
    points: tuple[str, ...] = ()
    points_from_trace: bool = False
    steps: tuple[StepView, ...] = ()
    phases: tuple[PhaseView, ...] = ()  # the same steps; empty where they are few
    step_problems: tuple[StepProblemView, ...] = ()
    step_count: int = 0  # with those that are not shown
    steps_label: str = ""  # "3 steps"
    steps_detail: str = ""  # "5 results · 1.2 s"
    running_label: str = ""  # of the call that runs: "Searching filings…"
    approval: StepView | None = None  # while it works: the call that waits for the user, whether they see steps or not
    actions: CardActions | None = None  # None: somebody else's card
    thinking: ThinkingView | None = None
    sources: tuple[SourceView, ...] = ()
    found_label: str = ""  # "2 quotations found word for word"
    uncited_label: str = ""  # "3 sentences without a source"
    unfound: tuple[str, ...] = ()  # one sentence for each unverified citation
    ended_label: str = ""  # "Stopped after 8 s"
    is_unasked: bool = False  # its question was only saved
    error: str = ""  # "Stopped: the model did not answer"
    history_note: str = ""  # "Earlier messages were summarised …"
    notice: str = ""  # "Stopped at the limit of 8 steps."
    is_beside: bool = False  # the second of two answers side by side

    @property
    def tail_id(self) -> str:
        return dom_id(self.id, "tail")

    @property
    def is_live(self) -> bool:
        return self.status == "streaming"


@dataclass(frozen=True, slots=True)
class ModelOption:
    """A model that may be chosen, or an effort. An empty ``value``: the site's own, or what other layers say."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ModelView:
    """The model that answers next, and what may be chosen: its picker is drawn where that is more than one.

    ``efforts``: those that may be chosen, at ``effort_url``; empty where the service takes none. ``others``: the models
    that may answer beside it.
    """

    value: str
    label: str
    url: str
    options: tuple[ModelOption, ...] = ()
    efforts: tuple[ModelOption, ...] = ()
    others: tuple[ModelOption, ...] = ()
    effort_url: str = ""


@dataclass(frozen=True, slots=True)
class ContextView:
    """The context meter: ``effective/limit``, and what is stored beside it and not sent. In tokens.

    ``parts_url``: what it consists of. ``preview_url``: the preview of its body, for administrators alone.
    """

    effective: int
    limit: int
    unsent: int = 0
    parts_url: str = ""
    preview_url: str = ""

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.effective / self.limit)) if self.limit else 0
