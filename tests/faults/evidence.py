"""What a database must hold after a server died and another took its place. Each check names what is wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.site import DoomedSite
from tests.faults.talk import PAD, THOUGHT, Question, squeezed

ENDED = {"completed", "interrupted"}


@dataclass(frozen=True, slots=True)
class Left:
    """What a dead server has left of a turn that it ran: the answer that its last checkpoint holds."""

    turn_id: str
    checkpoint: str


@dataclass(frozen=True, slots=True)
class Told:
    """One turn of the log: its row, and the public halves of its events with their kinds, in order."""

    id: str
    conversation_id: str
    status: str
    events: tuple[tuple[str, Mapping[str, Any]], ...]

    @property
    def question(self) -> str:
        return str(next(public["text"] for kind, public in self.events if kind == "user_message"))

    @property
    def answer(self) -> str:
        return "\n\n".join(public["text"] for kind, public in self.events if kind == "assistant_message")


def left_by(site: DoomedSite, pid: int | None = None) -> list[Left]:
    """Return the turns that run in the database of a server that is dead; those of one process, where others live."""
    query = (
        "SELECT t.id, c.answer, t.worker FROM chat_turn t LEFT JOIN chat_checkpoint c ON c.turn_id = t.id "
        "WHERE t.status = 'running'"
    )
    return [
        Left(turn_id, answer or "") for turn_id, answer, worker in site.rows(query) if pid in {None, _pid_of(worker)}
    ]


def _pid_of(worker: str) -> int:
    return int(worker.split(":")[-2])


def is_answered(site: DoomedSite, count: int) -> bool:
    """Say whether so many turns have ended."""
    return site.rows("SELECT count(*) FROM chat_turn WHERE status <> 'running'") == [(count,)]


def told(site: DoomedSite) -> list[Told]:
    """Return every turn of the log, after a look at its form."""
    turns = site.rows("SELECT id, conversation_id, status FROM chat_turn ORDER BY conversation_id, number")
    rows = site.rows("SELECT conversation_id, turn_id, seq, type, public FROM chat_event ORDER BY conversation_id, seq")
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    events: defaultdict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for conversation_id, turn_id, seq, kind, public in rows:
        numbers[conversation_id].append(seq)
        events[turn_id].append((kind, public))
    for conversation_id, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), f"seq of {conversation_id}: {found}"
    return [Told(turn_id, owner, status, tuple(events[turn_id])) for turn_id, owner, status in turns]


def check_form(turns: Sequence[Told]) -> None:
    """Each turn begins with its question, ends once and last, and has a result for every call."""
    for turn in turns:
        kinds = [kind for kind, _public in turn.events]
        assert (kinds[0], kinds.count("user_message")) == ("user_message", 1), f"{turn.id}: {kinds}"
        assert (kinds[-1], kinds.count("turn_end")) == ("turn_end", 1), f"{turn.id}: {kinds}"
        assert turn.events[-1][1]["status"] == turn.status in ENDED, f"{turn.id}: {turn.status}"
        asked = [public["call_id"] for kind, public in turn.events if kind == "tool_call"]
        answered = [public["call_id"] for kind, public in turn.events if kind == "tool_result"]
        assert sorted(asked) == sorted(answered), f"{turn.id}: calls {asked}, results {answered}"


def check_answers(turns: Sequence[Told], questions: Sequence[Question]) -> None:
    """Each question stands in the log once; its answer is whole, or a beginning of the whole."""
    by_text = {question.text: question for question in questions}
    found = [turn.question for turn in turns]
    assert sorted(found) == sorted(by_text), f"lost: {set(by_text) - set(found)}, asked: {len(found)}"
    for turn in turns:
        whole = squeezed(by_text[turn.question].whole_answer)
        answer = squeezed(turn.answer)
        assert answer == whole if turn.status == "completed" else whole.startswith(answer), (
            f"{turn.id}: {turn.answer!r}"
        )


def check_interrupted(turns: Sequence[Told], left: Sequence[Left]) -> None:
    """What a dead server ran is interrupted, with all that its checkpoint held."""
    by_id = {turn.id: turn for turn in turns}
    for one in left:
        turn = by_id[one.turn_id]
        assert turn.status == "interrupted", f"{turn.id}: {turn.status}"
        assert squeezed(turn.answer).startswith(squeezed(one.checkpoint)), f"{turn.id}: {turn.answer!r}"


def check_privacy(site: DoomedSite) -> None:
    """No private text lies anywhere, sealed thinking aside."""
    kept = site.everything_kept()
    for canary in (PAD, THOUGHT):
        assert canary.encode() not in kept, f"{canary} is kept"
