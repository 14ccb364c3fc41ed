"""``GET /metrics``: who may read it, and what it counts. Tests compare before and after, as a process counts all."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import AsyncClient, Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from chat.models import QueuedMessage, Turn
from chat.observability import metrics
from chat.turns import finish, statistics
from tests.chat.asking import ask, ended, owner_of
from tests.factories import abandon, client_of, make_conversation, open_turn

TOKEN = "only-for-tests-0123456789"
CANARY = "plover-amber-3302"
SECRET = "sk-" + "proj-" + "Q1w2E3r4T5y6" * 4


@pytest.fixture(autouse=True)
def token(settings):
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture(autouse=True)
def new_hosts(monkeypatch):
    """Forget the hosts of other tests, each with a port of its own: only so many have a label."""
    monkeypatch.setattr(metrics, "_hosts", set())


def sent(token: str = TOKEN) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


def read(text: bytes) -> dict[tuple[str, ...], float]:
    """Return the values of an OpenMetrics text by name and label values, these in the order of their names."""
    samples = [each for family in text_string_to_metric_families(text.decode()) for each in family.samples]
    return {(each.name, *(each.labels[name] for name in sorted(each.labels))): each.value for each in samples}


async def figures() -> dict[tuple[str, ...], float]:
    answer = await AsyncClient().get("/metrics", **sent())
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    return read(answer.content)


def added(before: dict[tuple[str, ...], float], after: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    return {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}


def test_address_is_nowhere_without_a_token(db, settings):
    settings.METRICS_TOKEN = None

    assert Client().get("/metrics", **sent("")).status_code == 404


@pytest.mark.parametrize("header", ["", TOKEN, "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ümlaut"])
def test_wrong_token_gets_401_and_no_figure(db, header):
    answer = Client().get("/metrics", headers={"Authorization": header} if header else {})

    assert (answer.status_code, answer.content) == (401, b"")
    assert answer["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.django_db(transaction=True)
async def test_turn_is_counted_with_its_tokens_tools_redactions_and_leaks(upstream, conversation):
    call = {"name": "searchFilings", "arguments": '{"query": "revenue"}'}
    used = {"input": 3000, "output": 20, "cached_tokens": 2560}
    upstream.script(
        [
            {"tool_calls": [call], "usage": used},
            {"content": f"<think>Hm {CANARY}.</think>It is {SECRET} then.</think>", "usage": used},
        ]
    )
    before = await figures()

    await ask(conversation, f"Why {CANARY}?")

    found = added(before, await figures())
    host = upstream.base_url.split("/")[2]
    assert found["legible_turn_ends_total", "", "completed"] == 1
    assert found["legible_turn_duration_seconds_count",] == found["legible_turn_first_word_seconds_count",] == 1
    assert found["legible_model_requests_total", "ok", host] == 2
    assert found["legible_model_last_success_timestamp_seconds", host] > 0
    assert [found["legible_tokens_total", kind] for kind in ("input", "output", "cached")] == [6000, 40, 5120]
    assert found["legible_tool_calls_total",] == 1
    assert found["legible_redactions_total", "secret"] == 1
    assert found["legible_leaks_stopped_total", "extracted_blocks"] == 1


@pytest.mark.django_db(transaction=True)
async def test_continued_turn_counts_only_what_came_since(upstream, conversation):
    used = {"input": 30, "output": 7}
    upstream.script([{"content": "One", "finish": "length", "usage": used}, {"content": " two.", "usage": used}])
    turn = await ask(conversation)
    before = await figures()

    client = await owner_of(conversation)
    await client.post(f"/chats/{conversation.pk}/turns/{turn.pk}/continue/")
    await ended(conversation)

    found = added(before, await figures())
    assert [found["legible_tokens_total", kind] for kind in ("input", "output")] == [30, 7]


@pytest.mark.django_db(transaction=True)
async def test_failure_of_a_service_is_counted_by_its_host_and_code(upstream, conversation):
    upstream.script([{"faults": [{"kind": "http_error", "status": 401}]}])
    before = await figures()

    turn = await ask(conversation)

    found = added(before, await figures())
    host = upstream.base_url.split("/")[2]
    assert found["legible_turn_ends_total", turn.error_code, "errored"] == 1
    assert found["legible_model_requests_total", turn.error_code, host] == 1
    assert found["legible_model_last_failure_timestamp_seconds", host] > 0


@pytest.mark.django_db(transaction=True)
async def test_no_figure_names_a_text_a_user_or_a_conversation(upstream, conversation):
    upstream.script([{"reasoning": CANARY, "content": CANARY}])

    turn = await ask(conversation, CANARY)

    text = (await AsyncClient().get("/metrics", **sent())).content.decode()
    private = (CANARY, "alice", str(conversation.pk), conversation.pk.hex, turn.public_id, "plain-model")
    assert [each for each in private if each in text] == []


@pytest.mark.django_db(transaction=True)
def test_refused_attempts_and_turns_are_counted_by_reason(alice, settings):
    settings.MAX_CONCURRENT_TURNS = 1
    open_turn(make_conversation(owner=alice).pk, text="q")
    other = make_conversation(owner=alice)
    before = read(Client().get("/metrics", **sent()).content)

    client_of(alice).post(f"/chats/{other.pk}/messages/", {"text": "q"})
    for _attempt in range(11):
        Client().post("/accounts/login/", {"username": "nobody", "password": "wrong"})

    found = added(before, read(Client().get("/metrics", **sent()).content))
    assert found["legible_refusals_total", "running_turns"] == 1
    assert found["legible_refusals_total", "sign-in"] == 1


@pytest.mark.django_db(transaction=True)
def test_turn_of_a_dead_process_is_counted_as_taken_over(alice):
    abandon(open_turn(make_conversation(owner=alice).pk, text="q"))
    before = read(Client().get("/metrics", **sent()).content)

    finish.recover_abandoned_turns()

    found = added(before, read(Client().get("/metrics", **sent()).content))
    assert found["legible_leases_taken_over_total",] == 1
    assert found["legible_turn_ends_total", "", "interrupted"] == 1


def test_database_says_what_all_processes_do(alice, db):
    one, other = (open_turn(make_conversation(owner=alice).pk, text="q") for _turn in range(2))
    Turn.objects.filter(pk=other.pk).update(worker="elsewhere:1:0")
    for priority in (QueuedMessage.Priority.HELD, QueuedMessage.Priority.NOW):
        QueuedMessage.objects.create(conversation=one.conversation, text="q", priority=priority)

    found = read(Client().get("/metrics", **sent()).content)

    assert (found["legible_database_up",], found["legible_database_turns_running",]) == (1, 2)
    assert found["legible_database_processes_running_turns",] == 2
    assert [found["legible_database_messages_queued", state] for state in ("waiting", "held")] == [1, 1]


def test_process_is_readable_while_its_database_is_not(db, monkeypatch):
    def fail(**_filters):
        raise OperationalError("password authentication failed for hunter2")

    monkeypatch.setattr(statistics.Turn.objects, "filter", fail)
    answer = Client().get("/metrics", **sent())

    found = read(answer.content)
    assert (answer.status_code, found["legible_database_up",]) == (200, 0)
    assert found["legible_database_errors_total", "metrics"] >= 1
    assert b"hunter2" not in answer.content
