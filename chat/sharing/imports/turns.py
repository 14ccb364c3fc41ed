"""The turns of an exported conversation: each question with what answers it, on all branches.

A message tree branches at questions and at answers; turns branch only between each other. So each place where an
answer ends, or where another question follows, is a turn of its own with all messages back to its question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from chat.sharing.imports.conversation import EARLIEST, ExportedConversation, ExportedMessage
from chat.validation import storable, trimmed
from reasoning.deltas import RawFields
from reasoning.events import AssistantMessage, TurnStatus
from reasoning.redaction import redact_text
from reasoning.stream.limits import TurnLimits
from reasoning.stream.turn import TurnMachine

MAX_MODEL_CHARS = 100
_TICK = timedelta(microseconds=1)


class Limits(NamedTuple):
    """Limits of an imported conversation. ``branch_chars``: of all turns that are on no selected branch together."""

    question_chars: int
    answer_bytes: int
    turns: int
    branch_chars: int


class ImportedTurn(NamedTuple):
    """A turn as it is stored. ``parent`` is its place in the list, which begins with the oldest."""

    question: str
    answer: Sequence[AssistantMessage]
    status: TurnStatus
    model: str
    started_at: datetime
    ended_at: datetime
    parent: int | None
    is_active: bool


class ShownMessage(NamedTuple):
    """A message that is shown, below another one."""

    message: ExportedMessage
    above: int | None
    is_question: bool
    order: int  # in the file


class Tree:
    """The messages of a conversation that are shown, parents first, and its turns, named by their last messages."""

    def __init__(self, found: ExportedConversation) -> None:
        self.places: list[ShownMessage] = []
        self._find_places(found)
        self.below: list[list[int]] = [[] for _place in self.places]
        self.questions: list[int | None] = []  # of each message
        for index, place in enumerate(self.places):
            if place.above is not None:
                self.below[place.above].append(index)
            above = None if place.above is None else self.questions[place.above]
            self.questions.append(index if place.is_question else above)
        # A turn ends at a leaf, and where another question follows.
        self.ends = [
            index
            for index, below in enumerate(self.below)
            if not below or any(self.places[child].is_question for child in below)
        ]

    def _find_places(self, found: ExportedConversation) -> None:
        # 1. Who is below whom. A message that has lost its parent follows what is before it.
        messages = found.messages
        positions = {message.key: position for position, message in enumerate(messages)}
        below: list[list[int]] = [[] for _message in messages]
        roots: list[int] = []
        for position, message in enumerate(messages):
            above = None if message.parent is None else positions.get(message.parent, position - 1)
            if above is None or above < 0 or above == position:
                roots.append(position)
            else:
                below[above].append(position)

        # 2. From the roots down; what is left over is in a circle, which is cut where it begins in the file.
        nearest: dict[int, int | None] = {}  # up from each message, the first that is shown
        for root in (*roots, *range(len(messages))):
            waiting: list[tuple[int, int | None]] = [(root, None)]
            for position, shown_above in waiting:
                if position in nearest:
                    continue
                message = messages[position]
                nearest[position] = shown_above
                if message.side != "none":
                    is_question = message.side == "question"
                    if message.side == "unknown":
                        is_question = shown_above is None or not self.places[shown_above].is_question
                    nearest[position] = len(self.places)
                    self.places.append(ShownMessage(message, shown_above, is_question, position))
                waiting += [(child, nearest[position]) for child in below[position]]
        current = positions.get(found.current) if found.current is not None else None
        self._current = None if current is None else nearest[current]

    def shown_path(self) -> list[int]:
        """Return the turns of the branch that was shown, else of the newest one, the first turn first."""
        newest = max(self.ends, key=lambda end: (self.places[end].message.at or EARLIEST, self.places[end].order))
        end = self._current if self._current is not None else newest
        while self.below[end]:
            end = self.below[end][-1]
        path = [end]
        while (above := self.parent_of(path[-1])) is not None:
            path.append(above)
        return path[::-1]

    def parent_of(self, end: int) -> int | None:
        question = self.questions[end]
        return None if question is None else self.places[question].above

    def question_of(self, end: int) -> ExportedMessage | None:
        question = self.questions[end]
        return None if question is None else self.places[question].message

    def answers_of(self, end: int) -> list[ExportedMessage]:
        answers: list[ExportedMessage] = []
        at: int | None = end
        while at is not None and not self.places[at].is_question:
            answers.append(self.places[at].message)
            at = self.places[at].above
        return answers[::-1]


def imported_turns(found: ExportedConversation, limits: Limits) -> tuple[list[ImportedTurn], bool]:
    """Return the turns of a conversation, and whether any text was too long. Counts branches that are left out."""
    tree = Tree(found)
    if not tree.ends:
        return [], False
    # 1. The branch that was shown, then the others while there is room.
    path = tree.shown_path()
    active, is_shortened = set(path[: limits.turns]), len(path) > limits.turns
    kept, room = set(active), limits.branch_chars
    for end in tree.ends:
        if end in active:
            continue
        room -= sum(len(one.text) for one in (*tree.answers_of(end), tree.question_of(end)) if one)
        parent = tree.parent_of(end)
        if len(kept) < limits.turns and room >= 0 and (parent is None or parent in kept):
            kept.add(end)
        else:
            found.left_out["branches"] += 1

    # 2. Each of them within the limits that a turn of this site has.
    turns: list[ImportedTurn] = []
    numbers: dict[int, int] = {}  # of turns, by their ends
    starts: set[tuple[int | None, datetime]] = set()
    asked_before: set[int | None] = set()
    for end in (end for end in tree.ends if end in kept):
        question, answers, above = tree.question_of(end), tree.answers_of(end), tree.parent_of(end)
        parent = None if above is None else numbers[above]
        asked, is_asked_cut = clean_question(question.text if question else "", limits.question_chars)
        answer, is_answer_cut = clean_answer([one.text for one in answers if one.text], limits.answer_bytes)
        is_shortened = is_shortened or is_asked_cut or is_answer_cut
        started_at = question.at if question else None
        if answers and (question is None or tree.questions[end] in asked_before):  # it was answered again
            started_at = answers[0].at or started_at
        asked_before.add(tree.questions[end])
        if parent is not None:  # see chat.eventlog.branches
            started_at = max(started_at or turns[parent].ended_at, turns[parent].started_at)
        started_at = started_at or found.at or timezone.now()
        while (parent, started_at) in starts:  # versions are listed by time
            started_at += _TICK
        starts.add((parent, started_at))
        models = [one.model for one in answers if one.model]
        numbers[end] = len(turns)
        turns.append(
            ImportedTurn(
                question=asked,
                answer=answer,
                status=answers[-1].status if answers else "aborted",
                model=redact_text(storable(models[-1]))[:MAX_MODEL_CHARS] if models else "",
                started_at=started_at,
                ended_at=max(started_at, (answers[-1].at if answers else None) or started_at),
                parent=parent,
                is_active=end in active,
            )
        )
    return turns, is_shortened


def clean_question(text: str, max_chars: int) -> tuple[str, bool]:
    """Return a question as it is stored, and whether it was too long."""
    asked = trimmed(storable(text)) or _("[No text]")
    if len(asked) <= max_chars:
        return asked, False
    note = shortened_note()
    return asked[: max_chars - len(note)] + note, True


def clean_answer(texts: Sequence[str], max_bytes: int) -> tuple[list[AssistantMessage], bool]:
    """Return an answer as it is stored of a model's texts, and whether it was too long."""
    # The road of a model's answer, so that sections, delimiters and secrets are handled alike.
    limits = TurnLimits(answer_bytes=max_bytes)
    machine = TurnMachine(turn_id="", model="", provider="", system_prompt="", limits=limits)
    step = machine.begin_step()
    step.feed(RawFields({"content": storable("\n\n".join(texts))}))
    answer = [event for event in step.end().events if isinstance(event, AssistantMessage)]
    if not answer or machine.room.reached is None:
        return answer, False
    return [*answer[:-1], replace(answer[-1], text=answer[-1].text + shortened_note())], True


def shortened_note() -> str:
    return "\n\n" + _("[Shortened when it was imported]")
