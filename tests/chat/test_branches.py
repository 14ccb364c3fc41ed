"""Branches: any question asked again makes a sibling, one path is selected, and only that path counts."""

from __future__ import annotations

import re

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient

from accounts.models import User
from chat import eventlog
from chat.cards import build
from chat.eventlog import branches
from chat.models import Conversation, Turn
from chat.turns.manager import TurnManager
from chat.turns.manager import runner as the_runner
from reasoning.events import AssistantMessage
from tests.chat.asking import ask, following, until
from tests.factories import client_of, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)


def make_again(turn: Turn, question: str) -> Turn:
    """Ask something else in the place of a turn, and answer it."""
    fresh = open_turn(turn.conversation_id, text=question, replaces=turn)
    eventlog.close_turn(fresh, [AssistantMessage(text=f"On {question}")], status="completed")
    return fresh


def make_three(owner: User) -> tuple[Conversation, Turn, Turn, Turn]:
    conversation = make_conversation(owner=owner)
    turns = [make_turn(conversation, question=f"q{number}") for number in (1, 2, 3)]
    return conversation, turns[0], turns[1], turns[2]


def shown(conversation: Conversation) -> list[str]:
    return [build.question_card(rows).text for rows in eventlog.turns(conversation.pk)]


def test_an_earlier_question_asked_again_takes_what_came_after_it_off_the_branch(alice: User) -> None:
    conversation, first, second, _third = make_three(alice)

    again = make_again(second, "q2 otherwise")

    assert shown(conversation) == ["q1", "q2 otherwise"]
    assert (again.parent_id, again.number) == (first.pk, 2)
    assert make_turn(conversation, question="next").number == 3


def test_the_first_question_can_be_asked_again(alice: User) -> None:
    conversation, first, *_rest = make_three(alice)

    again = make_again(first, "q1 otherwise")

    assert shown(conversation) == ["q1 otherwise"]
    assert (again.parent_id, again.number) == (None, 1)


def test_selecting_goes_down_to_the_youngest_answer_below(alice: User) -> None:
    conversation, _first, second, third = make_three(alice)
    make_again(third, "q3 otherwise")
    again = make_again(second, "q2 otherwise")

    branches.select(second)
    assert shown(conversation) == ["q1", "q2", "q3 otherwise"]
    branches.select(third)
    assert shown(conversation) == ["q1", "q2", "q3"]
    branches.select(again)
    assert shown(conversation) == ["q1", "q2 otherwise"]


@pytest.mark.spec("001 BR-005")
def test_the_next_request_holds_the_selected_path_alone(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    make_again(second, "q2 otherwise")
    branches.select(second)

    active = [
        event.text for event in eventlog.history(conversation.pk) if event.type == "user_message" and event.active
    ]

    assert active == ["q1", "q2", "q3"]


def test_seq_rises_along_every_path(alice: User) -> None:
    conversation, _first, second, third = make_three(alice)
    make_again(second, "q2 otherwise")
    branches.select(third)
    make_turn(conversation, question="q4")

    seqs = [event.seq for event in eventlog.history(conversation.pk) if event.active]

    assert seqs == sorted(seqs)
    assert len(set(seqs)) == len(seqs)


def test_nothing_is_selected_while_a_turn_runs(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    make_again(second, "q2 otherwise")
    open_turn(conversation.pk, text="running")

    with pytest.raises(eventlog.TurnRunningError):
        branches.select(second)
    assert shown(conversation) == ["q1", "q2 otherwise", "running"]


def test_a_card_says_which_of_its_siblings_it_is(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    middle = make_again(second, "again")
    newest = make_again(middle, "and again")
    branches.select(middle)

    view = build.question_card(eventlog.turns(conversation.pk)[1]).branch

    assert view is not None
    assert (view.position, view.count) == (2, 3)
    assert view.before
    assert view.after
    assert (view.before.id, view.after.id) == (second.public_id, newest.public_id)
    assert view.after.url.endswith(f"/turns/{newest.pk}/select/")
    assert build.question_card(eventlog.turns(conversation.pk)[0]).branch is None


def test_the_ends_lead_nowhere(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    make_again(second, "again")

    page = client_of(alice).get(f"/chats/{conversation.pk}/").content.decode()

    [tools] = re.findall(r"<div class=\"row hint branch\".*?</div>", page, re.DOTALL)
    assert "2/2" in tools
    assert tools.count("disabled") == 1
    assert tools.count("formaction") == 1


def test_branches_are_walked_without_script(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    make_again(second, "again")

    answer = client_of(alice).post(f"/chats/{conversation.pk}/turns/{second.pk}/select/")

    assert (answer.status_code, answer["Location"]) == (303, f"/chats/{conversation.pk}/#m-{second.public_id}-q")
    assert shown(conversation) == ["q1", "q2", "q3"]


def test_a_selection_is_refused_in_words_while_a_turn_runs(alice: User) -> None:
    conversation, _first, second, _third = make_three(alice)
    make_again(second, "again")
    open_turn(conversation.pk, text="running")
    client, path = client_of(alice), f"/chats/{conversation.pk}/turns/{second.pk}/select/"

    assert client.post(path, headers={"HX-Request": "true"}).status_code == 409
    assert "An answer is being written" in client.post(path, follow=True).content.decode()


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("who", ["bob", "sam", "ada"])
def test_nobody_else_edits_or_selects(request: pytest.FixtureRequest, alice: User, who: str) -> None:
    conversation, _first, second, _third = make_three(alice)
    client = client_of(request.getfixturevalue(who))

    for action in ("select", "edit"):
        path = f"/chats/{conversation.pk}/turns/{second.pk}/{action}/"
        assert client.post(path, {"text": "mine"}).status_code == 404
    assert client.get(f"/chats/{conversation.pk}/turns/{second.pk}/edit/").status_code == 404
    assert shown(conversation) == ["q1", "q2", "q3"]


def test_the_form_of_an_edit_holds_the_question_with_and_without_script(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_turn(conversation, question="Why <b>so</b>?")
    client, path = client_of(alice), f"/chats/{conversation.pk}/turns/{turn.pk}/edit/"

    page = client.get(path).content.decode()
    part = client.get(path, headers={"HX-Request": "true"}).content.decode()

    assert ">Why &lt;b&gt;so&lt;/b&gt;?</textarea>" in part
    assert ">Why &lt;b&gt;so&lt;/b&gt;?</textarea>" in page
    assert "<html" in page
    assert "<html" not in part


async def signed_in(person: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(person)
    return client


async def test_an_edited_question_is_asked_in_its_place(alice: User, conversation: Conversation) -> None:
    first = await ask(conversation, "What would breach the covenants?")
    await ask(conversation, "And then?")
    client = await signed_in(alice)
    async with following(conversation) as messages:
        answer = await client.post(
            f"/chats/{conversation.pk}/turns/{first.pk}/edit/", {"text": "What else?"}, headers={"HX-Request": "true"}
        )
        await until(messages, "redraw")
        live = the_runner.live(conversation.pk)
        if live:
            await the_runner.finished(conversation.pk, live.id)

    assert answer.status_code == 204
    assert await database_sync_to_async(shown)(conversation) == ["What else?"]


async def test_an_empty_edit_comes_back_with_what_is_wrong(alice: User, conversation: Conversation) -> None:
    turn = await ask(conversation, "What?")
    client = await signed_in(alice)
    path = f"/chats/{conversation.pk}/turns/{turn.pk}/edit/"

    plain = await client.post(path, {"text": "  "})
    part = await client.post(path, {"text": "  "}, headers={"HX-Request": "true"})

    assert (plain.status_code, part.status_code) == (400, 200)
    assert "the message is empty" in plain.content.decode()
    assert "the message is empty" in part.content.decode()
    assert await conversation.turns.acount() == 1


async def test_an_earlier_answer_is_written_again_and_pages_are_told(
    runner: TurnManager, conversation: Conversation
) -> None:
    first = await ask(conversation, "What would breach the covenants?")
    await ask(conversation, "And then?")
    async with following(conversation) as messages:
        accepted = await runner.retry(first)
        await until(messages, "redraw")
        assert accepted.turn_id is not None
        await runner.finished(conversation.pk, accepted.turn_id)

    fresh = await Turn.objects.aget(pk=accepted.turn_id)
    assert (fresh.number, fresh.parent_id, fresh.status) == (1, None, "completed")
    assert await conversation.turns.filter(is_active=True).acount() == 1


async def test_pages_are_told_of_another_branch(alice: User, conversation: Conversation) -> None:
    turn = await ask(conversation, "What?")
    client = await signed_in(alice)
    async with following(conversation) as messages:
        answer = await client.post(f"/chats/{conversation.pk}/turns/{turn.pk}/select/", headers={"HX-Request": "true"})
        told = [event["kind"] for event in await until(messages, "model")]

    assert (answer.status_code, told) == (204, ["redraw", "model"])
