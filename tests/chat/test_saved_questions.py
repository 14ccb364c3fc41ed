"""A question in other words may be saved and not asked: on a branch of its own, and no model hears of it. Ui 2."""

from __future__ import annotations

from datetime import timedelta

import lxml.html
import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from accounts.models import User
from chat import eventlog
from chat.cards import build
from chat.eventlog import branches
from chat.models import Conversation, Turn
from chat.turns.manager import TurnManager
from chat.turns.statistics import recent_turns
from reasoning.visibility import Visibility
from tests.chat.asking import ask, events_of, kinds
from tests.contract_server.fixture import ContractHandle
from tests.factories import client_of, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def asked(alice: User) -> Turn:
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
def test_saved_question_is_stored_beside_the_asked_one(alice: User, asked: Turn, headers: dict[str, str]) -> None:
    kept = saves(alice, asked, " q1 otherwise ", **headers)

    assert shown(asked.conversation) == ["q1 otherwise"]
    assert (kept.status, kept.parent_id, kept.number) == ("aborted", asked.parent_id, 1)
    assert place(kept) == (2, 2)
    branches.select(asked)
    assert shown(asked.conversation) == ["q1"]
    assert place(asked) == (1, 2)


def test_card_of_a_saved_question_offers_to_send_it(alice: User, asked: Turn) -> None:
    kept = saves(alice, asked, "q1 otherwise")

    page = client_of(alice).get(f"/chats/{asked.conversation_id}/").content.decode()
    card = build.answer_card(eventlog.turn_record(kept), Visibility())

    assert (card.status, card.notice, card.ended_label) == ("stopped", "Saved, not asked yet.", "")
    assert (card.answer_html, card.feedback, card.usage_label) == ("", None, "")
    assert "Saved, not asked yet." in page
    [send] = lxml.html.fromstring(page).xpath(f"//button[@hx-post='{card.retry_url}']")
    assert (send.text_content().strip(), send.get("data-icon")) == ("Send", "send")


async def test_saved_question_is_sent_on_request_and_replaces_its_version(
    upstream: ContractHandle, turn_manager: TurnManager, conversation: Conversation
) -> None:
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


def test_deselected_or_continued_version_remains_a_version(alice: User, asked: Turn) -> None:
    kept = saves(alice, asked, "q1 otherwise")
    branches.select(asked)
    other = saves(alice, asked, "q1 in the end")
    assert place(other) == (3, 3)
    branches.select(kept)
    make_turn(asked.conversation, question="And then?")

    last = eventlog.save_unasked(kept, "q1 at last")

    assert place(last) == (4, 4)


def test_saving_is_refused_while_a_turn_runs(alice: User, asked: Turn) -> None:
    open_turn(asked.conversation_id, text="running")
    path = f"/chats/{asked.conversation_id}/turns/{asked.pk}/edit/"

    plain = client_of(alice).post(path, {"text": "q1 otherwise", "save": "only"})
    part = client_of(alice).post(path, {"text": "q1 otherwise", "save": "only"}, headers=HTMX)

    assert (plain.status_code, part.status_code) == (400, 200)
    assert all("An answer is being written" in one.content.decode() for one in (plain, part))
    assert all("q1 otherwise</textarea>" in one.content.decode() for one in (plain, part))
    assert shown(asked.conversation) == ["q1", "running"]


def test_saved_question_counts_as_no_turn_of_a_model(alice: User, asked: Turn) -> None:
    before = recent_turns(timezone.now() - timedelta(days=1))

    saves(alice, asked, "q1 otherwise")

    assert recent_turns(timezone.now() - timedelta(days=1))["turns"] == before["turns"] == 1
