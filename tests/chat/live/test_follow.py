"""A follower of a running turn: whatever is lost, late or sent twice, it ends with the state of the turn."""

import copy
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.live.follow import TurnFollower
from chat.live.state import TurnState
from chat.live.stored import FollowedTurn

WORDS = ("One ", "two ", "three ", "four ", "five ", "six ")


def turn(kind: type[TurnState] = FollowedTurn) -> Any:
    ids = {"id": uuid.UUID(int=1), "conversation_id": uuid.UUID(int=2), "owner_id": 1}
    return kind(**ids, number=1, question="?", model="m", started_at=datetime(2026, 1, 1, tzinfo=UTC))


def text(seq: int, word: str) -> dict[str, Any]:
    return {"kind": "text", "turn": "t", "seq": seq, "n": seq, "text": word, "added": word, "open": None}


EVENTS = [text(seq, word) for seq, word in enumerate(WORDS, 1)]


def checkpoint(seq: int) -> Any:
    state = turn()
    for event in EVENTS[:seq]:
        state.apply(event)
    return state


@given(st.permutations(EVENTS * 2), st.sets(st.integers(1, len(EVENTS))), st.lists(st.integers(0, len(EVENTS))))
def test_follower_ends_with_the_state_of_the_turn(sent, lost, read):
    follower = TurnFollower(turn())
    followed = []

    for event in sent:
        if event["seq"] not in lost:
            followed += follower.receive(copy.copy(event))
        if read and follower.early:
            follower.continue_from(checkpoint(read.pop()))
    follower.continue_from(checkpoint(len(EVENTS)))

    numbers = [event["seq"] for event in followed]
    assert numbers == sorted(set(numbers))
    assert follower.turn.answer == "".join(WORDS)
    assert (follower.seq, follower.early) == (len(EVENTS), {})


@pytest.mark.parametrize(("kind", "followed"), [(TurnState, 2), (FollowedTurn, 0)])
def test_text_of_a_rewritten_answer_waits_for_a_checkpoint(kind, followed):
    rewritten = {"kind": "rewritten", "channel": "answer", "seq": 1, "html": "", "open": ("", "", True), "chars": 4}
    follower = TurnFollower(turn(kind))

    events = [*follower.receive(rewritten), *follower.receive(text(2, "next"))]

    assert (len(events), len(follower.early)) == (followed, 2 - followed)
