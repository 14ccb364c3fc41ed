"""Branches: any question asked again makes a sibling, one path is selected, and only that path counts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from accounts.models import User
from chat.models import Conversation, Event, Turn
from reasoning.events import AssistantMessage
from tests.chat.asking import ask, ended, owner_of, questions
from tests.contract_server.fixture import ContractHandle
from tests.factories import client_of, end_turn, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


def make_again(turn: Turn, question: str) -> Turn:
    """Ask something else in the place of a turn, and answer it."""
    fresh = open_turn(turn.conversation_id, text=question, replaces=turn)
    end_turn(fresh, [AssistantMessage(text=f"On {question}")])
    return fresh


@pytest.fixture
def turns(conversation: Conversation) -> list[Turn]:
    return [make_turn(conversation, question=f"q{number}") for number in (1, 2, 3)]


def action_url(turn: Turn, action: str) -> str:
    return f"/chats/{turn.conversation_id}/turns/{turn.pk}/{action}/"


def select(client: Client, turn: Turn) -> Any:
    return client.post(action_url(turn, "select"))


@pytest.mark.parametrize(
    ("at", "action", "shown"),
    [
        (0, "edit", ["otherwise"]),
        (0, "retry", ["q1"]),
        (1, "edit", ["q1", "otherwise"]),
        (2, "retry", ["q1", "q2", "q3"]),
    ],
)
async def test_question_asked_again_replaces_what_came_after_it_and_changes_no_event(
    upstream: ContractHandle, conversation: Conversation, turns: list[Turn], at: int, action: str, shown: list[str]
) -> None:
    upstream.script([{"content": "Otherwise."}, {"content": "Next."}])
    before = [event async for event in Event.objects.values()]
    client = await owner_of(conversation)

    answer = await client.post(action_url(turns[at], action), {"text": "otherwise"}, headers=HTMX)
    again = await ended(conversation, at + 1)
    following = await ask(conversation, "next")

    assert answer.status_code == 204
    assert (again.parent_id, again.status) == (turns[at].parent_id, "completed")
    assert (following.parent_id, following.number) == (again.pk, at + 2)
    assert await database_sync_to_async(questions)(conversation) == [*shown, "next"]
    assert [event async for event in Event.objects.order_by("seq").values()][: len(before)] == before


def test_selecting_goes_down_to_the_youngest_answer_below(
    alice: User, conversation: Conversation, turns: list[Turn]
) -> None:
    _first, second, third = turns
    make_again(third, "q3 otherwise")
    again = make_again(second, "q2 otherwise")
    client = client_of(alice)

    answer = select(client, second)
    assert (answer.status_code, answer["Location"]) == (303, f"/chats/{conversation.pk}/#m-{second.public_id}-q")
    assert questions(conversation) == ["q1", "q2", "q3 otherwise"]
    select(client, third)
    assert questions(conversation) == ["q1", "q2", "q3"]
    select(client, again)
    assert questions(conversation) == ["q1", "q2 otherwise"]


@pytest.mark.spec("001 BR-005")
async def test_next_request_contains_the_selected_path_alone_in_order(
    upstream: ContractHandle, conversation: Conversation, turns: list[Turn]
) -> None:
    upstream.script([{"content": "Four."}])
    await database_sync_to_async(make_again)(turns[1], "q2 otherwise")
    await (await owner_of(conversation)).post(action_url(turns[2], "select"))

    await ask(conversation, "q4")

    [request] = upstream.requests()
    asked = [message["content"] for message in request["body"]["messages"] if message["role"] == "user"]
    assert asked == ["q1", "q2", "q3", "q4"]


def test_selection_is_refused_while_a_turn_runs(alice: User, conversation: Conversation, turns: list[Turn]) -> None:
    make_again(turns[1], "again")
    open_turn(conversation.pk, text="running")
    client, path = client_of(alice), action_url(turns[1], "select")

    assert client.post(path, headers=HTMX).status_code == 409
    assert "An answer is being written" in client.post(path, follow=True).content.decode()
    assert questions(conversation) == ["q1", "again", "running"]


def test_card_names_its_siblings(alice: User, conversation: Conversation, turns: list[Turn]) -> None:
    middle = make_again(turns[1], "again")
    newest = make_again(middle, "and again")
    client = client_of(alice)

    def tools() -> str:
        page = client.get(f"/chats/{conversation.pk}/").content.decode()
        [found] = re.findall(r"<div class=\"row hint branch\".*?</div>", page, re.DOTALL)
        return str(found)

    assert "3/3" in tools()
    assert action_url(middle, "select") in tools()
    assert (tools().count("disabled"), tools().count("formaction")) == (1, 1)
    select(client, middle)
    assert "2/3" in tools()
    assert action_url(turns[1], "select") in tools()
    assert action_url(newest, "select") in tools()


@pytest.mark.parametrize("action", ["retry", "edit"])
def test_turn_of_another_branch_is_not_asked_again(
    alice: User, conversation: Conversation, turns: list[Turn], action: str
) -> None:
    make_again(turns[1], "again")

    assert client_of(alice).post(action_url(turns[1], action), {"text": "late"}).status_code == 404
    assert questions(conversation) == ["q1", "again"]


def test_edit_form_contains_the_question_with_and_without_script(alice: User, conversation: Conversation) -> None:
    turn = make_turn(conversation, question="Why <b>so</b>?")
    client = client_of(alice)

    page = client.get(action_url(turn, "edit")).content.decode()
    part = client.get(action_url(turn, "edit"), headers=HTMX).content.decode()

    assert all(">Why &lt;b&gt;so&lt;/b&gt;?</textarea>" in form for form in (page, part))
    assert ("<html" in page, "<html" in part) == (True, False)


def test_empty_edit_is_returned_with_the_reason(alice: User, conversation: Conversation) -> None:
    turn = make_turn(conversation)
    client = client_of(alice)

    plain = client.post(action_url(turn, "edit"), {"text": "  "})
    part = client.post(action_url(turn, "edit"), {"text": "  "}, headers=HTMX)

    assert (plain.status_code, part.status_code) == (400, 200)
    assert all("the message is empty" in answer.content.decode() for answer in (plain, part))
    assert Turn.objects.count() == 1
