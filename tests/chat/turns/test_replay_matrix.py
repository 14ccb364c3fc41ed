"""Whatever happened before, the next request is accepted: every model of the strict upstream, every scenario.

A cell ends in a tool loop without any fault; none of its requests may be refused. The fast suite runs
every scenario with one model, and every model in one scenario or two.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chat import eventlog
from chat.eventlog import EndedTurn, maintenance
from chat.models import Event, Turn
from reasoning.events import AssistantMessage
from replay_contract_server.modes import MODES
from tests.chat.histories import KINDS, LONG, Kind, Talk, cut, restart, stalled

pytestmark = pytest.mark.django_db(transaction=True)
Scenario = Callable[[Talk], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}
HELD_BACK = {"settings changed and set back": {"K1", "F1", "O1"}}  # by the person's own settings
# What a model that is offered no tools doesn't do.
LOOPS = {
    "stop in a second step",
    "crash between a call and its result",
    "step cap",
    "answer asked again",
    "compaction inside a turn",
}
ALL_CUTS = ("kimi-k2-thinking", "gpt-5-mini")


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__.replace("_", " ")] = function
    return function


@scenario
async def loop_of_three_steps(talk: Talk) -> None:
    turn = await talk.ask(*talk.loop())
    assert turn.status == "completed"

    await talk.ask(talk.answer())


@scenario
async def stop_in_an_answer(talk: Talk) -> None:
    for at in await places(talk, calls=0):
        turn = await talk.stop(stalled(talk.answer(), at))
        assert turn.status in ("running", "aborted")


@scenario
async def stop_in_a_second_step(talk: Talk) -> None:
    for at in await places(talk, calls=1):
        await talk.stop(talk.step(calls=2), stalled(talk.step(), at))


@scenario
async def disconnect_in_a_second_step(talk: Talk) -> None:
    for at in await places(talk, calls=1):
        turn = await talk.ask(talk.step(), cut(talk.step(), at), talk.answer())
        assert turn.status in ("errored", "completed")  # completed where the cut came after the last word


@scenario
async def error_inside_the_stream(talk: Talk) -> None:
    failure = {"kind": "error_event", "at": "event:8"}
    turn = await talk.ask(talk.step(), {**talk.step(), "chunk": 2, "faults": [failure]})

    assert turn.status == "errored"


@scenario
async def crash_in_an_answer(talk: Talk) -> None:
    await talk.ask(talk.step(), talk.answer())
    await talk.kill(stalled(talk.answer(), 4))

    assert await restart() == 1


@scenario
async def crash_between_a_call_and_its_result(talk: Talk) -> None:
    turn = await talk.kill(talk.step(calls=2), stalled(talk.step(), 2))
    newest = await Event.objects.filter(turn=turn, type="tool_result").order_by("-seq").afirst()
    assert newest is not None
    await newest.adelete()

    assert await restart() == 1


@scenario
async def step_cap(talk: Talk) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.MAX_STEPS", 2)
        turn = await talk.ask(talk.step(), talk.step(calls=2))

    assert turn.status == "iteration_capped"


@scenario
async def answer_asked_again(talk: Talk) -> None:
    turn = await talk.ask(talk.step(), talk.answer())
    talk.upstream.script([talk.step(calls=2), talk.answer()])
    accepted = await talk.turn_manager.retry(turn)
    assert accepted.turn_id is not None
    await talk.turn_manager.wait_until_finished(talk.conversation.pk, accepted.turn_id)

    assert (await Turn.objects.aget(pk=accepted.turn_id)).status == "completed"


@scenario
async def question_saved_and_not_asked(talk: Talk) -> None:
    first = await talk.ask(*talk.looked_up())
    turn = await talk.ask(*talk.looked_up(calls=2))
    kept = await database_sync_to_async(eventlog.save_unasked)(turn, "In other words?")
    assert (kept.status, kept.parent_id) == ("aborted", first.pk)


@scenario
async def compaction_between_turns(talk: Talk) -> None:
    await talk.ask(talk.step(text=LONG * 300), talk.answer(text=LONG * 300))
    overflow = {**talk.answer(), "faults": [{"kind": "context_overflow"}]}
    turn = await talk.ask(summary(), overflow)

    assert turn.status == "completed"
    assert await Event.objects.filter(type="compaction").acount() == 1


@scenario
async def compaction_inside_a_turn(talk: Talk) -> None:
    overflow = {**talk.answer(), "faults": [{"kind": "context_overflow"}]}
    turn = await talk.ask(summary(), talk.step(text=LONG * 400), talk.step(), overflow)

    assert turn.status == "completed"


@scenario
async def thinking_purged(talk: Talk) -> None:
    await talk.ask(talk.step(), talk.answer())
    await talk.ask(talk.answer())

    assert await database_sync_to_async(maintenance.purge_thinking)(timezone.now() + timedelta(hours=1))


@scenario
async def settings_changed_and_set_back(talk: Talk) -> None:
    await talk.ask(talk.step(), talk.answer())
    for layer in ({"enabled": False}, {"effort": "low", "format": "native"}):
        await talk.set(**layer)
        turn = await talk.ask(talk.answer())
        assert turn.status == "completed"
    for layer in ({"includeInContext": False}, {"stripFromContext": "all"}):
        await talk.set(**layer)
        turn = await talk.ask(talk.answer())
        names_it = turn.error_reason in ("missing_reasoning", "maybe_missing_reasoning")
        assert turn.status == "completed" or names_it or talk.kind.dialect == "details"
    await talk.set()


@scenario
async def cut_off_at_the_length_limit(talk: Talk) -> None:
    finish = "incomplete:max_output_tokens" if talk.kind.speaks_responses else "length"
    torn = [{"name": "searchFilings", "arguments": '{"query": "half'}]
    await talk.ask(talk.step(), talk.answer(finish=finish))
    turn = await talk.ask(talk.step(finish=finish, tool_calls=torn), talk.step(finish=finish), talk.answer())

    assert turn.status == "completed"


@scenario
async def reasoning_without_an_answer(talk: Talk) -> None:
    await talk.ask(talk.step(), {**talk.answer(), "content": None})


@scenario
async def imported_conversation(talk: Talk) -> None:
    now = timezone.now()
    answer = AssistantMessage(text="At nine.")
    turns = [EndedTurn("[No text]", [], "aborted", "", now, now, parent) for parent in (None, 0)]
    turns.append(EndedTurn("When?", [answer], "completed", "gpt-4o", now, now, 1))
    await database_sync_to_async(eventlog.add_ended_turns)(talk.conversation, turns)


def summary() -> dict[str, object]:
    """Return the summariser's reply; only its request has a question of that form."""
    return {"content": "They looked at filings.", "match": {"last_user_contains": "User: "}}


async def places(talk: Talk, *, calls: int) -> list[int]:
    """Return event indices of a reply of this model: all of them, or the middle and the last."""
    reply = talk.step(calls=calls) if calls else talk.answer()
    await talk.ask(reply, *([talk.answer()] if calls else []))
    events = int(talk.upstream.requests()[0]["events_sent"])
    return list(range(events)) if talk.kind.model in ALL_CUTS else [events // 2, events - 1]


@pytest.fixture
def talk(upstream, turn_manager, conversation):
    return Talk(upstream, turn_manager, conversation)


async def assert_continues(talk: Talk) -> None:
    """Ask for a tool loop; every request of it is accepted and sends all reasoning back."""
    before = len(talk.upstream.requests())
    replies = talk.looked_up(calls=2)
    turn = await talk.ask(*replies)
    requests = talk.upstream.requests()[before:]

    assert [(request["verdict"], request["rule"]) for request in requests] == [("accepted", None)] * len(replies)
    assert [request["lost_reasoning"] for request in requests] == [[]] * len(replies)
    assert turn.status == "completed"


CELLS = [
    pytest.param(kind, name, id=f"{kind.model}, {name}", marks=[] if (row + column) % 13 == 0 else [pytest.mark.slow])
    for row, kind in enumerate(KINDS.values())
    for column, name in enumerate(SCENARIOS)
    if kind.takes_tools or name not in LOOPS
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CELLS)
async def test_next_request_is_accepted(talk, kind, name):
    await talk.choose(kind)

    await SCENARIOS[name](talk)

    await assert_continues(talk)
    assert set(talk.upstream.refusals()) <= HELD_BACK.get(name, set())


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, *(pytest.param(stride, marks=pytest.mark.slow) for stride in range(2, 7))])
async def test_switching_models_there_and_back(talk, stride):
    there, back = route(stride)

    for kind in there:
        await talk.choose(kind)
        turn = await talk.ask(*talk.looked_up())
        assert (turn.status, turn.error_reason) == ("completed", "" if kind.takes_tools else "tools"), kind
    for kind in back:
        await talk.choose(kind)
        turn = await talk.ask(talk.answer())
        assert (turn.status, turn.error_reason) == ("completed", "" if kind.takes_tools else "tools"), kind

    requests = sum(1 + kind.takes_tools for kind in there) + len(back)
    assert [request["verdict"] for request in talk.upstream.requests()] == ["accepted"] * requests


def route(stride: int) -> tuple[list[Kind], list[Kind]]:
    """Return a round through all models that ends where it began, and the same round backwards."""
    kinds = list(KINDS.values())
    there = [kinds[stride * n % len(kinds)] for n in range(len(kinds) + 1)]
    return there, there[-2::-1]


def test_matrix_is_complete():
    rounds = [[*there, *back] for there, back in map(route, range(1, 7))]

    assert {kind.dialect for kind in KINDS.values()} == set(MODES)
    assert (len(KINDS), len(SCENARIOS)) == (13, 17)
    assert SCENARIOS.keys() >= LOOPS
    assert len({pair for walk in rounds for pair in pairwise(walk)}) == 13 * 12
