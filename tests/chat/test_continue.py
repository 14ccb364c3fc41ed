"""Continue: a cut-off answer is continued in a new turn, which is sent its text."""

import json

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from chat.models import Conversation, Turn
from reasoning.events import AssistantMessage, TurnStatus
from tests.chat.asking import ask, ended, owner_of, questions
from tests.factories import client_of, end_turn, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
SENTENCE = "Continue your answer exactly where it stopped. So far it reads:"
SO_FAR = "The first half,\n\nand then"


def cut_off(conversation: Conversation, status: TurnStatus = "interrupted", *, text: str = SO_FAR) -> Turn:
    """Make a turn whose answer has no end."""
    turn = open_turn(conversation.pk, text="Why?")
    end_turn(turn, [AssistantMessage(text=text, partial=True, step=1)] if text else [], status=status)
    return turn


def address(turn: Turn) -> str:
    return f"/chats/{turn.conversation_id}/turns/{turn.pk}/continue/"


def page_of(person: User, conversation: Conversation) -> str:
    return client_of(person).get(f"/chats/{conversation.pk}/").content.decode()


@pytest.mark.parametrize(
    ("status", "text", "error_code", "is_offered"),
    [
        ("interrupted", SO_FAR, "", True),
        ("aborted", SO_FAR, "", True),
        ("iteration_capped", SO_FAR, "", True),
        ("errored", SO_FAR, "timeout", True),
        ("completed", SO_FAR, "length", True),
        ("completed", SO_FAR, "", False),
        ("interrupted", "", "", False),
        ("aborted", "", "", False),
        ("iteration_capped", "", "", True),
    ],
)
def test_only_an_answer_that_was_cut_off_can_be_continued(alice, conversation, status, text, error_code, is_offered):
    turn = cut_off(conversation, status, text=text)
    Turn.objects.filter(pk=turn.pk).update(error_code=error_code, error_message="It broke.")

    assert (f'action="{address(turn)}"' in page_of(alice, conversation)) is is_offered
    if not is_offered:
        refused = client_of(alice).post(address(turn))
        assert (refused.status_code, Turn.objects.count()) == (409, 1)


@pytest.mark.parametrize("language", ["en", "de"])
async def test_new_turn_is_sent_the_text_so_far_and_its_card_folds_it(upstream, alice, conversation, language):
    turn = await database_sync_to_async(cut_off)(conversation)
    upstream.script([{"content": "it ends."}])

    client = await owner_of(conversation)
    await client.post(address(turn), headers={"Accept-Language": language})
    await ended(conversation, 2)
    page = await database_sync_to_async(page_of)(alice, conversation)

    [request] = upstream.requests()
    sent = request["body"]["messages"][-1]["content"]
    assert request["verdict"] == "accepted"
    assert sent.startswith("Why?\n\n")  # without an answer of its own, the first question is joined with this one
    assert sent.endswith(f"\n\n{SO_FAR}")
    assert (SENTENCE in sent) is (language == "en")
    [fold] = page.split('<details class="question question--long">')[1:]
    assert SO_FAR in fold.split("</details>")[0]
    assert page.count("and then</p>") == 2  # in the answer that was cut off, and in the fold


async def test_text_that_is_too_long_loses_its_beginning(upstream, conversation, settings):
    settings.MESSAGE_MAX_CHARS = 100
    turn = await database_sync_to_async(cut_off)(conversation, text="a" * 90 + "the end")
    upstream.script([{"content": "it ends."}])

    await (await owner_of(conversation)).post(address(turn))
    await ended(conversation, 2)

    sent = upstream.requests()[0]["body"]["messages"][-1]["content"].removeprefix("Why?\n\n")
    assert len(sent) == 100
    assert sent.startswith(f"{SENTENCE}\n\n…a")
    assert sent.endswith("the end")


def test_other_questions_are_not_folded(alice, conversation):
    make_turn(conversation, question="Continue\n\nplease")

    assert "question--long" not in page_of(alice, conversation)


def test_older_answer_is_not_continued(alice, conversation):
    turn = cut_off(conversation)
    make_turn(conversation, question="Next?")

    refused = client_of(alice).post(address(turn))

    assert refused.status_code == 409
    assert "Only the newest answer can be continued." in refused.content.decode()


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_continue_after_the_step_limit_goes_on_with_the_finished_calls(upstream, conversation, settings, api):
    settings.MAX_STEPS, settings.OPENAI_API = 2, api
    settings.OPENAI_MODEL = "gpt-5-mini" if api == "responses" else "plain-model"
    steps = [{"tool_calls": [{"name": "searchFilings", "arguments": f'{{"query": "n{n}"}}'}]} for n in range(3)]
    upstream.script([*steps, {"content": "Found."}])
    capped = await ask(conversation)
    client = await owner_of(conversation)
    page = (await client.get(f"/chats/{conversation.pk}/")).content.decode()

    answer = await client.post(address(capped))
    turn = await ended(conversation, 2)

    assert "Stopped after 2 steps." in page
    assert f'action="{address(capped)}"' in page
    assert (capped.status, answer.status_code, turn.status) == ("iteration_capped", 303, "completed")
    sent = json.dumps(upstream.requests()[2]["body"])
    assert [f"n{n}" in sent for n in range(3)] == [True, True, False]
    assert "Go on where you stopped" in sent
    assert upstream.refusals() == []
    assert len(await database_sync_to_async(questions)(conversation)) == 2
