"""A model service in trouble, with several conversations at once: storms, patience, a slow first token. Replay 2.10."""

import asyncio
import re
from typing import Any

import pytest
from channels.db import database_sync_to_async

from accounts.demo import staff_group
from accounts.models import User
from chat.cards.build import answer_card
from chat.eventlog import turn_record
from chat.models import Turn
from chat.providers.base import ProviderError
from chat.providers.openai_chat import OpenAIChatProvider
from chat.turns import retry, run
from reasoning.visibility import Visibility
from tests.chat.asking import ask, owner_of, send, signed_in
from tests.chat.sockets import frames_until, socket_of
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)
SEES = Visibility(thinking="whole")
AN_HOUR_S = 3600.0


async def _ask_in_each(alice: User, count: int) -> list[Turn]:
    chats = [await database_sync_to_async(make_conversation)(owner=alice) for _ in range(count)]
    return list(await asyncio.gather(*(ask(chat, f"[q{n}] Why?") for n, chat in enumerate(chats))))


def _replies(count: int, fault: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"content": f"Answer {n}.", "faults": [fault], "match": {"last_user_contains": f"[q{n}]"}} for n in range(count)
    ]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "rate_limit", "times": 2}, id="429"),
        pytest.param({"kind": "server_error", "times": 2}, id="500"),
        pytest.param({"kind": "server_error", "status": 503, "body": "html", "times": 2}, id="503"),
        pytest.param({"kind": "http_error", "status": 409, "message": "Conflict", "times": 2}, id="409"),
        pytest.param({"kind": "http_error", "status": 400, "message": "At capacity", "times": 2}, id="busy"),
        pytest.param({"kind": "disconnect", "at": "connect", "times": 2}, id="cut"),
    ],
)
async def test_turns_survive_repeated_faults(upstream, alice, fault):
    upstream.script(_replies(4, fault))

    ended = await _ask_in_each(alice, 4)

    assert [turn.status for turn in ended] == ["completed"] * 4
    assert len(upstream.requests()) == 12


async def test_endless_rate_limit_fails_each_turn(upstream, alice):
    upstream.script(_replies(4, {"kind": "rate_limit", "times": 9}))

    ended = await _ask_in_each(alice, 4)

    assert {(turn.status, turn.error_code) for turn in ended} == {("errored", "rate_limited")}
    assert len(upstream.requests()) == 4 * (1 + retry.MAX_WAITS)


async def test_wait_that_is_too_long_is_left_to_the_person(upstream, conversation):
    upstream.script([{"content": "one", "faults": [{"kind": "rate_limit", "retry_after": AN_HOUR_S}]}])

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("errored", "rate_limited")
    assert len(upstream.requests()) == 1
    assert (await database_sync_to_async(lambda: answer_card(turn_record(turn), SEES))()).error


async def test_slow_first_token_is_announced_until_it_comes(upstream, conversation, monkeypatch):
    monkeypatch.setattr(run, "SLOW_S", 0.01)
    held = [{"hold": "go"}, {"content": "At last. "}, {"hold": "end"}, {"content": "End."}]
    upstream.script([{"deltas": held}])
    async with socket_of(conversation, conversation.owner) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, "Still waiting for the model…")
        upstream.release("go")
        await frames_until(socket, "Writing…")
        page = await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")
        upstream.release("end")
        await frames_until(socket, "Answer ready")

    assert "Still waiting" not in page.content.decode()


async def test_model_that_is_being_loaded_is_waited_for(upstream, conversation, monkeypatch):
    monkeypatch.setattr(retry, "LONGEST_LOADING_WAIT_S", 0.0)
    loading = {"kind": "http_error", "status": 503, "message": "Loading model", "times": 5}
    upstream.script([{"content": "Loaded.", "faults": [loading]}])

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert len(upstream.requests()) == 6


async def test_endpoint_that_is_asked_for_its_model_while_loading_is_waited_for(
    upstream, conversation, monkeypatch, settings
):
    failures = iter((ProviderError("server_error", "loading", retryable=True),) * 3)
    find = OpenAIChatProvider.find_model

    async def find_model(provider):
        if error := next(failures, None):
            raise error
        return await find(provider)

    monkeypatch.setattr(OpenAIChatProvider, "find_model", find_model)
    monkeypatch.setattr(retry, "LONGEST_LOADING_WAIT_S", 0.0)
    settings.OPENAI_MODEL = None
    upstream.script([{"content": "Loaded."}])

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert next(failures, None) is None


def test_loading_is_waited_for_with_longer_pauses_as_long_as_for_a_first_word(settings):
    settings.FIRST_WORD_TIMEOUT_S = 100
    error = ProviderError("server_error", "loading", retryable=True)
    policy, waits = retry.RetryPolicy(), []
    while policy.take_wait(error):
        waits.append(policy.wait_s(error))

    assert waits[:6] == [1, 2, 4, 8, 16, 16]
    assert 100 - 16 < sum(waits) <= 100


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "server_error", "message": "model requires more system memory (8.4 GiB)", "times": 9}, "8.4 GiB"),
        ({"kind": "error_event", "message": "OpenAIException - Connection error.", "times": 9}, "OpenAIException"),
        ({"kind": "server_error", "message": "worker key sk-proj-" + "Z9y8X7w6V5u4" * 4, "times": 9}, "worker key"),
        ({"kind": "server_error", "status": 502, "body": "html", "times": 9}, "502"),
    ],
)
async def test_words_of_a_failing_service_reach_staff_alone(upstream, conversation, sam, caplog, fault, said):
    upstream.script([{"content": "x", "faults": [fault]}])

    turn = await ask(conversation)

    page = await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")
    await database_sync_to_async(lambda: sam.groups.add(staff_group()))()
    admin = await (await signed_in(sam)).get(f"/admin/chat/turn/{turn.pk}/change/")
    [logged] = [record for record in caplog.records if record.message == "turn failed"]
    assert said in turn.error_detail == logged.detail
    assert said in admin.content.decode()
    assert "The model failed. Try again in a moment." in page.content.decode()
    words = re.sub(r"[\w-]{20,}", "", page.content.decode())  # without ids and tokens, which may have any digits
    assert said not in words.replace("HTTP 502", "")
    assert "Z9y8X7w6V5u4" not in turn.error_detail + admin.content.decode()
