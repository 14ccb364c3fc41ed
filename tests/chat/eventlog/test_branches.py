"""Branches: any question asked again makes a sibling, one path is selected, and only that path counts."""

import re
from datetime import timedelta
from typing import Any

import lxml.html
import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat import eventlog
from chat.cards import build
from chat.eventlog import branches
from chat.models import Conversation, Event, Turn
from chat.turns.statistics import recent_turns
from reasoning.events import AssistantMessage
from reasoning.visibility import Visibility
from tests.chat.asking import ask, ended, events_of, kinds, owner_of, questions
from tests.factories import client_of, end_turn, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


def make_again(turn: Turn, question: str) -> Turn:
    """Ask something else in the place of a turn, and answer it."""
    fresh = open_turn(turn.conversation_id, text=question, replaces=turn)
    end_turn(fresh, [AssistantMessage(text=f"On {question}")])
    return fresh


@pytest.fixture
def turns(conversation):
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
    upstream, conversation, turns, at, action, shown
):
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


def test_selecting_goes_down_to_the_youngest_answer_below(alice, conversation, turns):
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
async def test_next_request_contains_the_selected_path_alone_in_order(upstream, conversation, turns):
    upstream.script([{"content": "Four."}])
    await database_sync_to_async(make_again)(turns[1], "q2 otherwise")
    await (await owner_of(conversation)).post(action_url(turns[2], "select"))

    await ask(conversation, "q4")

    [request] = upstream.requests()
    asked = [message["content"] for message in request["body"]["messages"] if message["role"] == "user"]
    assert asked == ["q1", "q2", "q3", "q4"]


def test_selection_is_refused_while_a_turn_runs(alice, conversation, turns):
    make_again(turns[1], "again")
    open_turn(conversation.pk, text="running")
    client, path = client_of(alice), action_url(turns[1], "select")

    assert client.post(path, headers=HTMX).status_code == 409
    assert "An answer is being written" in client.post(path, follow=True).content.decode()
    assert questions(conversation) == ["q1", "again", "running"]


def test_card_names_the_other_versions(alice, conversation, turns):
    middle = make_again(turns[1], "again")
    newest = make_again(middle, "and again")
    client = client_of(alice)

    def tools():
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


def test_versions_of_a_question_and_of_its_answer_are_counted_apart(alice, conversation, turns):
    make_again(turns[2], "q3")
    client = client_of(alice)

    def counters():
        page = lxml.html.fromstring(client.get(f"/chats/{conversation.pk}/").content.decode())
        cards = [page.get_element_by_id(name) for name in (f"m-{shown().public_id}-q", f"m-{shown().public_id}")]
        return [[" ".join(one.text_content().split()) for one in card.find_class("branch")] for card in cards]

    def shown():
        return conversation.turns.get(number=3, is_active=True)

    assert counters() == [[], ["2/2"]]
    other = make_again(shown(), "q3 otherwise")
    assert counters() == [["2/2"], []]
    select(client, turns[2])
    assert counters() == [["1/2"], ["1/2"]]
    select(client, other)
    assert counters() == [["2/2"], []]


@pytest.mark.parametrize("action", ["retry", "edit"])
def test_turn_of_another_branch_is_not_asked_again(alice, conversation, turns, action):
    make_again(turns[1], "again")

    assert client_of(alice).post(action_url(turns[1], action), {"text": "late"}).status_code == 404
    assert questions(conversation) == ["q1", "again"]


def test_edit_form_contains_the_question_with_and_without_script(alice, conversation):
    turn = make_turn(conversation, question="Why <b>so</b>?")
    client = client_of(alice)

    page = client.get(action_url(turn, "edit")).content.decode()
    part = client.get(action_url(turn, "edit"), headers=HTMX).content.decode()

    assert all(">Why &lt;b&gt;so&lt;/b&gt;?</textarea>" in form for form in (page, part))
    assert ("<html" in page, "<html" in part) == (True, False)


def test_empty_edit_is_returned_with_the_reason(alice, conversation):
    turn = make_turn(conversation)
    client = client_of(alice)

    plain = client.post(action_url(turn, "edit"), {"text": "  "})
    part = client.post(action_url(turn, "edit"), {"text": "  "}, headers=HTMX)

    assert (plain.status_code, part.status_code) == (400, 200)
    assert all("the message is empty" in answer.content.decode() for answer in (plain, part))
    assert Turn.objects.count() == 1


# A question in other words may be saved and not asked: on a branch of its own, and no model hears of it.


@pytest.fixture
def asked(alice):
    return make_turn(make_conversation(owner=alice), question="q1")


def shown(conversation: Conversation) -> list[str]:
    return [build.question_card(rows).text for rows in eventlog.turns(conversation.pk)]


def place(turn: Turn) -> tuple[int, int] | None:
    view = build.question_card(eventlog.turn_record(turn)).branch
    return (view.position, view.count) if view else None


def saves(person: User, turn: Turn, text: str, **headers: str) -> Turn:
    path = f"/chats/{turn.conversation_id}/turns/{turn.pk}/edit/"
    answer = client_of(person).post(path, {"text": text, "save": "only"}, headers=headers)
    kept = Turn.objects.get(conversation=turn.conversation_id, is_active=True)
    page = f"/chats/{turn.conversation_id}/#m-{kept.public_id}-q"
    assert (answer.status_code, answer.get("Location")) == ((204, None) if headers else (303, page))
    return kept


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain form", "script"])
def test_saved_question_is_stored_beside_the_asked_one(alice, asked, headers):
    kept = saves(alice, asked, " q1 otherwise ", **headers)

    assert shown(asked.conversation) == [" q1 otherwise"]
    assert (kept.status, kept.parent_id, kept.number) == ("aborted", asked.parent_id, 1)
    assert place(kept) == (2, 2)
    branches.select(asked)
    assert shown(asked.conversation) == ["q1"]
    assert place(asked) == (1, 2)


def test_card_of_a_saved_question_offers_to_send_it(alice, asked):
    kept = saves(alice, asked, "q1 otherwise")

    page = client_of(alice).get(f"/chats/{asked.conversation_id}/").content.decode()
    card = build.answer_card(eventlog.turn_record(kept), Visibility())

    assert (card.status, card.notice, card.ended_label) == ("stopped", "Saved, not asked yet.", "")
    assert (card.answer_html, card.actions.feedback, card.actions.usage_label) == ("", None, "")
    assert "Saved, not asked yet." in page
    [send] = lxml.html.fromstring(page).xpath(f"//button[@hx-post='{card.actions.retry_url}']")
    assert (send.text_content().strip(), send.get("data-icon")) == ("Send", "send")


async def test_saved_question_is_sent_on_request_and_replaces_its_version(upstream, turn_manager, conversation):
    upstream.script([{"content": "One."}, {"content": "Two."}])
    first = await ask(conversation, "q1")
    kept = await database_sync_to_async(eventlog.save_unasked)(first, "q1 otherwise")
    assert kinds(await events_of(kept)) == ["user_message", "turn_end"]
    assert len(upstream.requests()) == 1

    accepted = await turn_manager.retry(kept)
    assert accepted.turn_id is not None
    await turn_manager.wait_until_finished(conversation.pk, accepted.turn_id)

    sent = await Turn.objects.aget(pk=accepted.turn_id)
    assert (sent.status, len(upstream.requests())) == ("completed", 2)
    assert await database_sync_to_async(shown)(conversation) == ["q1 otherwise"]
    assert await database_sync_to_async(place)(sent) == (2, 2)


def test_deselected_or_continued_version_remains_a_version(alice, asked):
    kept = saves(alice, asked, "q1 otherwise")
    branches.select(asked)
    other = saves(alice, asked, "q1 in the end")
    assert place(other) == (3, 3)
    branches.select(kept)
    make_turn(asked.conversation, question="And then?")

    last = eventlog.save_unasked(kept, "q1 at last")

    assert place(last) == (4, 4)


def test_saving_is_refused_while_a_turn_runs(alice, asked):
    open_turn(asked.conversation_id, text="running")
    path = f"/chats/{asked.conversation_id}/turns/{asked.pk}/edit/"

    plain = client_of(alice).post(path, {"text": "q1 otherwise", "save": "only"})
    part = client_of(alice).post(path, {"text": "q1 otherwise", "save": "only"}, headers=HTMX)

    assert (plain.status_code, part.status_code) == (400, 200)
    assert all("An answer is being written" in one.content.decode() for one in (plain, part))
    assert all("q1 otherwise</textarea>" in one.content.decode() for one in (plain, part))
    assert shown(asked.conversation) == ["q1", "running"]


def test_saved_question_counts_as_no_turn_of_a_model(alice, asked):
    before = recent_turns(timezone.now() - timedelta(days=1))

    saves(alice, asked, "q1 otherwise")

    assert recent_turns(timezone.now() - timedelta(days=1))["turns"] == before["turns"] == 1
