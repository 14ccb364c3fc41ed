"""Why an answer ended: in the envelope, in the list, in both exports, and for turns of earlier versions."""

import asyncio

import pytest

from chat.models import Turn
from reasoning.envelope import finish_reason
from tests.chat.api_client import EVENTS, ask, client_of, post, streamed
from tests.chat.asking import signed_in
from tests.factories import client_of as page_client_of
from tests.factories import make_turn

SEARCH = {"name": "searchFilings", "arguments": '{"query": "turbines"}'}
CUT_OFF = "The answer reached the output limit and is cut off here."
QUOTA = {"kind": "http_error", "status": 429, "message": "You exceeded your current quota: insufficient_quota."}
BUSY = {"kind": "rate_limit", "retry_after": 60, "times": 3}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("reply", "status", "reason"),
    [
        ({"content": "Whole."}, "complete", "stop"),
        ({"content": "Cut", "finish": "length"}, "complete", "length"),
        ({"content": "Cut", "finish": "content_filter"}, "complete", "content_filter"),
        ({"tool_calls": [SEARCH]}, "stopped", "step_limit"),
        ({"content": "x", "faults": [{"kind": "server_error", "times": 3}]}, "error", "error"),
    ],
)
async def test_envelope_events_list_and_exports_say_why_an_answer_ended(
    upstream, alice, conversation, settings, reply, status, reason
):
    settings.MAX_STEPS = 1
    upstream.script([reply])
    client, page = await client_of(alice), await signed_in(alice)

    _texts, _names, done = await streamed(await post(client, conversation, {"text": "Why?"}, **EVENTS))
    listed = (await client.get(f"/api/chats/{conversation.pk}/messages/")).json()[-1]
    exported = (await page.get(f"/chats/{conversation.pk}/export/?format=json")).json()["messages"][-1]
    markdown = (await page.get(f"/chats/{conversation.pk}/export/")).content.decode()

    assert {(form["status"], form["finishReason"]) for form in (done, listed, exported)} == {(status, reason)}
    assert (CUT_OFF in markdown) is (reason == "length")
    assert ("withheld the rest" in markdown) is (reason == "content_filter")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "server_error", "times": 3}, {"code": "server_error", "retryable": True}),
        (BUSY, {"code": "rate_limited", "retryable": True, "retryAfter": 60}),
        (QUOTA, {"code": "rate_limited", "retryable": False}),
    ],
)
async def test_failed_turn_says_whether_to_try_again(upstream, alice, conversation, fault, expected):
    upstream.script([{"content": "x", "faults": [fault]}])

    answer = await ask(await client_of(alice), conversation)

    error = answer.json()["error"]
    assert (answer.status_code, error.pop("message") != "", error) == (200, True, expected)


@pytest.mark.django_db(transaction=True)
async def test_stopped_answer_says_that_its_user_stopped_it(upstream, alice, conversation):
    upstream.script([{"content": "One two.", "chunk": "word", "faults": [{"kind": "stall", "name": "go"}]}])
    client, page = await client_of(alice), await signed_in(alice)

    asking = asyncio.create_task(ask(client, conversation))
    await asyncio.to_thread(upstream.wait_for, held="go")
    await page.post(f"/chats/{conversation.pk}/stop/")
    form = (await asking).json()

    assert (form["status"], form["finishReason"]) == ("stopped", "user_stop")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "completed", "error_code": "length"}, "length"),
        ({"status": "iteration_capped"}, "step_limit"),
        ({"status": "interrupted"}, "interrupted"),
        ({"status": "aborted", "error_code": Turn.UNASKED}, "user_stop"),
        ({"status": "errored", "error_code": "timeout", "error_message": "It was silent."}, "error"),
    ],
)
def test_turn_of_an_earlier_version_reads_the_same(client, conversation, fields, reason):
    turn = make_turn(conversation)
    Turn.objects.filter(pk=turn.pk).update(**fields)

    form = page_client_of(conversation.owner).get(f"/api/chats/{conversation.pk}/messages/").json()[-1]

    assert form["finishReason"] == reason
    if reason == "error":
        assert form["error"] == {
            "code": "timeout",
            "message": "The model took too long to answer. Try again.",
            "retryable": True,
        }


def test_every_status_of_a_turn_has_a_reason_but_running():
    assert {status for status in Turn.Status.values if finish_reason(status) is None} == {"running"}
    assert finish_reason("errored", "length") == "error"
