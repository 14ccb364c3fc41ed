"""Continue: the rest of a cut-off answer is asked for and joined to it, in the same turn."""

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from chat import eventlog
from chat.cards import continuation
from chat.eventlog import write
from chat.html import render_answer
from chat.models import Conversation, Turn
from chat.turns import finish, queue
from chat.turns.manager import turn_manager
from reasoning.events import AssistantMessage, TurnStatus
from reasoning.prompt import CONTINUE
from reasoning.visibility import Visibility
from tests.chat.asking import ask, ended, following, owner_of, until
from tests.factories import client_of, end_turn, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
SO_FAR = "The first half,\n\nand then"


def cut_off(
    conversation: Conversation, status: TurnStatus = "interrupted", *, text: str = SO_FAR, question: str = "Why?"
) -> Turn:
    """Make a turn whose answer has no end."""
    turn = open_turn(conversation.pk, text=question)
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


CUT_TEXTS = {
    "word": ("It is a conti", "nuation of it."),
    "list": ("1. one\n2. t", "wo\n3. three"),
    "list at a line": ("- one\n", "- two"),
    "table": ("| a | b |\n|---|---|\n| 1 | 2 |", "\n| 3 | 4 |"),
    "code": ("```python\ndef f(x):\n    ret", "urn x\n```"),
    "sentence": ("The first half,\n\nand then", " it ends."),
}
# The rest begins a line, though the model sends no line break.
BLOCKS = {
    "table": ("| a | b |\n|---|---|\n| 1 | 2 |", "| 3 | 4 |\n| 5 | 6 |"),
    "list": ("- one\n- two", "- three"),
    "numbers": ("1. one", "2. two"),
    "heading": ("It ends.", "## Next"),
    "end of code": ("```python\nx = 1", "```\nAfter."),
}


async def cut_by_length(upstream: Any, conversation: Conversation, text: str, rest: dict[str, Any]) -> Turn:
    """Ask, get an answer that reached its limit, and ask for the rest."""
    upstream.script([{"content": text, "finish": "length"}, rest])
    turn = await ask(conversation)
    answer = await (await owner_of(conversation)).post(address(turn))
    assert answer.status_code == 303
    return await ended(conversation)


@pytest.mark.spec("product 41")
@pytest.mark.parametrize("kind", CUT_TEXTS)
async def test_rest_is_joined_to_the_cut_answer_in_the_same_turn(upstream, alice, conversation, kind):
    text, rest = CUT_TEXTS[kind]

    turn = await cut_by_length(upstream, conversation, text, {"content": rest})

    record = (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record()
    assert (turn.number, turn.status, record.answer) == (1, "completed", text + rest)
    page = await database_sync_to_async(page_of)(alice, conversation)
    assert str(render_answer(text + rest, ())) in page
    assert page.count('data-role="user"') == 1
    assert f'action="{address(turn)}"' not in page


@pytest.mark.spec("product 41")
@pytest.mark.parametrize("kind", BLOCKS)
async def test_rest_that_begins_a_block_begins_a_line(upstream, alice, conversation, kind):
    text, rest = BLOCKS[kind]

    turn = await cut_by_length(upstream, conversation, text, {"content": rest})

    record = (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record()
    assert record.answer == f"{text}\n{rest}"
    page = await database_sync_to_async(page_of)(alice, conversation)
    assert str(render_answer(f"{text}\n{rest}", ())) in page


@pytest.mark.spec("product 41")
async def test_thinking_of_both_parts_is_kept(upstream, conversation):
    upstream.script(
        [
            {"reasoning": "I count.", "content": "one, tw", "finish": "length"},
            {"reasoning": "I go on.", "content": "o, three"},
        ]
    )
    turn = await ask(conversation)

    answer = await (await owner_of(conversation)).post(address(turn))

    assert answer.status_code == 303
    turn = await ended(conversation)
    record = (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record()
    thinking = await database_sync_to_async(eventlog.thinking_for)(turn, Visibility(thinking="whole"))
    assert (turn.status, record.answer) == ("completed", "one, two, three")
    assert thinking is not None
    assert thinking.text == "I count.\n\nI go on."


@pytest.mark.spec("product 41")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_request_for_the_rest_has_the_answer_so_far(upstream, conversation, settings, api):
    settings.OPENAI_API, settings.OPENAI_MODEL = api, "gpt-5-mini" if api == "responses" else "plain-model"
    turn = await cut_by_length(upstream, conversation, "one, tw", {"content": "o, three"})
    upstream.script([{"content": "Yes."}])
    await ask(conversation, "Sure?")

    for request in upstream.requests()[1:]:
        sent = request["body"].get("messages") or request["body"]["input"]
        said = [(entry["role"], entry["content"]) for entry in sent if entry["role"] != "system"]
        assert said[:3] == [("user", "Why?"), ("assistant", "one, tw"), ("user", CONTINUE)]
    assert said[3:] == [("assistant", "o, three"), ("user", "Sure?")]
    assert (upstream.refusals(), turn.status) == ([], "completed")


@pytest.mark.spec("product 41")
async def test_continuing_that_fails_leaves_the_answer_and_can_be_tried_again(upstream, alice, conversation):
    turn = await cut_by_length(
        upstream, conversation, "one, tw", {"content": "never", "faults": [{"kind": "http_error", "status": 401}]}
    )

    page = await database_sync_to_async(page_of)(alice, conversation)
    assert (turn.status, page.count("one, tw")) == ("errored", 1)
    assert f'action="{address(turn)}"' in page
    upstream.script([{"content": "o"}])
    await (await owner_of(conversation)).post(address(turn))
    turn = await ended(conversation)
    record = (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record()
    assert (turn.status, turn.error_code, record.answer) == ("completed", "", "one, two")


@pytest.mark.spec("product 41")
async def test_stop_keeps_what_came_of_the_rest(upstream, conversation):
    upstream.script(
        [{"content": "one, tw", "finish": "length"}, {"deltas": [{"content": "o, three"}, {"hold": "rest"}]}]
    )
    turn = await ask(conversation)
    async with following(conversation) as events:
        await (await owner_of(conversation)).post(address(turn))
        while "text" not in [event["kind"] for event in await until(events, "text", "ended")]:
            pass
        await turn_manager.stop(conversation.pk)
    turn = await ended(conversation)

    record = (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record()
    assert turn.status == "aborted"
    assert record.answer.startswith("one, two")


@pytest.mark.slow
@pytest.mark.spec("product 41")
async def test_offline_analyst_writes_the_rest(conversation):
    whole = await ask(conversation, "What are you?")
    answer = (await database_sync_to_async(eventlog.turn_record)(whole)).answer_record().answer
    turn = await database_sync_to_async(cut_off)(conversation, text=answer[:20], question="What are you?")

    await (await owner_of(conversation)).post(address(turn))
    turn = await ended(conversation, 2)

    assert (await database_sync_to_async(eventlog.turn_record)(turn)).answer_record().answer == answer


@pytest.mark.spec("product 41")
def test_process_that_dies_while_it_continues_keeps_what_was_shown(conversation):
    turn = cut_off(conversation, text="- one\n- tw")
    queue.resume(turn)
    write.save_checkpoints({turn.pk: ("- one\n- two\n- th", "", {})})

    finish.interrupt_turn(turn)

    assert eventlog.turn_record(turn).answer_record().answer == "- one\n- two\n- th"
    assert continuation.can_continue(turn, eventlog.turn_record(turn).answer_record())


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
    turn = await ended(conversation)

    assert "Stopped after 2 steps." in page
    assert f'action="{address(capped)}"' in page
    assert (capped.status, answer.status_code, turn.status) == ("iteration_capped", 303, "completed")
    sent = json.dumps(upstream.requests()[2]["body"])
    assert [f"n{n}" in sent for n in range(3)] == [True, True, False]
    assert CONTINUE not in sent
    assert (upstream.refusals(), turn.pk) == ([], capped.pk)
