"""Continue: an answer that was cut off goes on in a new turn, which is given its text. Replay 2.12."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.test import Client
from django.utils import translation

from accounts.models import User
from chat import eventlog
from chat.cards import continuation
from chat.models import Conversation, Turn
from chat.validation import InvalidInputError
from reasoning.events import AssistantMessage, TurnStatus
from tests.chat.asking import ask
from tests.contract_server.fixture import ContractHandle
from tests.factories import PASSWORD, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
SO_FAR = "The first half,\n\nand then"


def cut_off(
    conversation: Conversation, status: TurnStatus = "interrupted", *, text: str = SO_FAR, **figures: Any
) -> Turn:
    """Leave a turn whose answer has no end."""
    turn = open_turn(conversation.pk, text="Why?")
    eventlog.close_turn(
        turn, [AssistantMessage(text=text, partial=True, step=1)] if text else [], status=status, **figures
    )
    return turn


def address(turn: Turn) -> str:
    return f"/chats/{turn.conversation_id}/turns/{turn.pk}/continue/"


def page_of(person: User, turn: Turn) -> str:
    client = Client()
    client.force_login(person)
    return client.get(f"/chats/{turn.conversation_id}/").content.decode()


@pytest.mark.parametrize(
    ("status", "figures"),
    [
        ("interrupted", {}),
        ("aborted", {}),
        ("iteration_capped", {}),
        ("errored", {}),
        ("completed", {"error_code": "length"}),
    ],
)
def test_answer_that_was_cut_off_offers_to_continue(
    alice: User, conversation: Conversation, status: TurnStatus, figures: dict[str, Any]
) -> None:
    turn = cut_off(conversation, status, error_message="It broke.", **figures)

    assert f'action="{address(turn)}"' in page_of(alice, turn)


@pytest.mark.parametrize(("status", "text"), [("completed", SO_FAR), ("interrupted", ""), ("aborted", "")])
def test_whole_or_empty_answer_offers_nothing_to_continue(
    alice: User, conversation: Conversation, status: TurnStatus, text: str
) -> None:
    turn = cut_off(conversation, status, text=text)

    assert "/continue/" not in page_of(alice, turn)
    with pytest.raises(InvalidInputError) as refused:
        continuation.continuation_message(turn, text)
    assert refused.value.code == "nothing_to_continue"


async def test_new_turn_is_given_the_text_so_far(upstream: ContractHandle, conversation: Conversation) -> None:
    turn = await database_sync_to_async(cut_off)(conversation)
    upstream.script([{"content": "it ends."}])

    message = await database_sync_to_async(continuation.continuation_message)(turn, SO_FAR)
    await ask(conversation, message.text)

    [request] = upstream.requests()
    assert request["verdict"] == "accepted"
    assert request["body"]["messages"][-1] == {"role": "user", "content": f"{continuation.SENTENCE}\n\n{SO_FAR}"}
    rows = await database_sync_to_async(eventlog.turns)(conversation.pk)
    assert [row.turn.status for row in rows] == ["interrupted", "completed"]


def test_text_that_is_too_long_loses_its_beginning(conversation: Conversation, settings: LazySettings) -> None:
    settings.MESSAGE_MAX_CHARS = 100
    turn = cut_off(conversation, text="a" * 90 + "the end")

    text = continuation.continuation_message(turn, "a" * 90 + "the end").text

    assert len(text) == 100
    assert continuation.split_continuation(text)[1].startswith("…a")
    assert text.endswith("the end")


@pytest.mark.parametrize("language", ["en", "de"])
def test_question_card_folds_what_it_hands_over(alice: User, conversation: Conversation, language: str) -> None:
    turn = cut_off(conversation)
    with translation.override(language):
        text = continuation.continuation_message(turn, SO_FAR).text

    assert continuation.split_continuation(text)[1] == SO_FAR
    page = page_of(alice, make_turn(conversation, question=text))
    [fold] = page.split('<details class="question question--long">')[1:]
    assert SO_FAR in fold.split("</details>")[0]
    assert page.count("and then</p>") == 2  # in the answer that was cut off, and in the fold


def test_other_questions_are_shown_as_they_are() -> None:
    assert continuation.split_continuation("Continue\n\nplease") == ("Continue\n\nplease", "")


def test_older_answer_is_not_continued(conversation: Conversation) -> None:
    turn = cut_off(conversation)
    make_turn(conversation)

    with pytest.raises(InvalidInputError) as refused:
        continuation.continuation_message(turn, SO_FAR)

    assert refused.value.code == "not_newest"


def test_refusal_is_said_on_the_page(alice: User, conversation: Conversation, client: Client) -> None:
    turn = cut_off(conversation)
    open_turn(conversation.pk, text="Next?")
    assert client.login(username="alice", password=PASSWORD)

    answer = client.post(address(turn))

    assert answer.status_code == 409
    assert "Only the newest answer can be continued." in answer.content.decode()


@pytest.mark.spec("product 14")
def test_nobody_else_continues_an_answer(alice: User, bob: User, client: Client) -> None:
    turn = cut_off(make_conversation(owner=alice))
    client.force_login(bob)

    assert client.post(address(turn)).status_code == 404
    assert client.get(address(turn)).status_code == 405
    assert client.post(f"/chats/{turn.conversation_id}/turns/{uuid.uuid4()}/continue/").status_code == 404
    assert Turn.objects.filter(conversation=turn.conversation_id).count() == 1
