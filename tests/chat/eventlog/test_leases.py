"""Leases and recovery: which process may write to a turn or end it, and what is stored of one that was cut off."""

import asyncio
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet
from django.db import OperationalError, connection
from django.utils import timezone

from chat import eventlog
from chat.eventlog import leases, read, write
from chat.mcp.servers import OfferedTools
from chat.models import Checkpoint, Turn
from chat.turns import finish, heartbeat
from chat.turns.manager import TurnManager
from reasoning.events import AssistantMessage, Reasoning
from reasoning.redaction import redact_text
from tests.factories import abandon, end_turn, make_conversation, open_turn, save_checkpoint

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


@pytest.fixture
def turn(alice):
    return open_turn(make_conversation(owner=alice).pk, text="q")


def test_turn_of_a_living_process_is_left_alone(turn):
    Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0", lease_until=timezone.now() + timedelta(seconds=9))

    assert finish.recover_abandoned_turns().ended == []
    turn.refresh_from_db()
    assert turn.status == "running"


def test_turn_with_an_expired_lease_is_taken_over_once(turn):
    abandon(turn)

    assert leases.take_over() == [turn]
    assert leases.take_over() == []


@pytest.mark.parametrize("minutes", [-10, 10])
def test_process_with_a_wrong_clock_leaves_a_running_turn_alone(turn, monkeypatch, minutes):
    leases.renew([turn.pk])
    Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0")

    with monkeypatch.context() as one:
        set_clock(one, minutes)
        assert leases.take_over() == []


@pytest.mark.parametrize("minutes", [-10, 10])
@pytest.mark.parametrize("is_renewed", [False, True], ids=["new", "renewed"])
def test_lease_of_a_process_with_a_wrong_clock_lasts_as_long_as_any(alice, monkeypatch, settings, minutes, is_renewed):
    def lease_from_elsewhere():
        turn = open_turn(make_conversation(owner=alice).pk, text="q")
        assert not is_renewed or leases.renew([turn.pk]) == set()
        Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0")
        return turn

    with monkeypatch.context() as one:
        set_clock(one, minutes)
        lease_from_elsewhere()
        settings.LEASE_EXPIRY_S = -1
        over = lease_from_elsewhere()

    assert leases.take_over() == [over]


def set_clock(monkeypatch: pytest.MonkeyPatch, minutes: int) -> None:
    """Move the clock of this process."""
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(minutes=minutes))
    passed = time.time
    monkeypatch.setattr(time, "time", lambda: passed() + minutes * 60)


def test_turn_of_this_process_without_a_task_ends_when_its_lease_expires(turn):
    at_once = finish.recover_abandoned_turns().ended
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))

    at_work = finish.recover_abandoned_turns([turn.conversation_id]).ended
    found = finish.recover_abandoned_turns().ended

    assert (at_once, at_work, found) == ([], [], [turn])
    turn.refresh_from_db()
    assert turn.status == "interrupted"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("noticed_by", ["refresh", "recover_abandoned_turns"])
async def test_lease_that_expired_during_a_database_outage_may_be_renewed_first(
    turn, monkeypatch, settings, noticed_by
):
    monkeypatch.setattr(leases, "outage", leases.Outage())
    await database_sync_to_async(abandon)(turn)
    refused = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def refuse(*_args: Any) -> None:
        loop.call_soon_threadsafe(refused.release)
        raise OperationalError("unavailable")

    monkeypatch.setattr({"refresh": OfferedTools}.get(noticed_by, finish), noticed_by, refuse)
    settings.LEASE_HEARTBEAT_S = 0.01
    recovering = asyncio.create_task(TurnManager().recover_abandoned())
    await refused.acquire()
    await refused.acquire()  # the first time has been noted by now
    recovering.cancel()

    settings.LEASE_HEARTBEAT_S = 60
    take_over = database_sync_to_async(leases.take_over)
    assert await take_over() == []
    settings.LEASE_HEARTBEAT_S = 0
    assert await take_over() == [turn]


def test_dead_process_of_this_machine_is_noticed_at_once(turn):
    host = leases.worker().rpartition(":")[0].rpartition(":")[0]
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    Turn.objects.filter(pk=turn.pk).update(
        worker=f"{host}:{child.pid}:x", lease_until=timezone.now() + timedelta(hours=1)
    )

    assert finish.recover_abandoned_turns().ended == [turn]


def test_process_with_the_id_of_a_dead_one_takes_over_its_turns(turn):
    name = leases.worker().rpartition(":")[0] + ":another-life"
    Turn.objects.filter(pk=turn.pk).update(worker=name, lease_until=timezone.now() + timedelta(hours=1))

    assert finish.recover_abandoned_turns().ended == [turn]


@pytest.mark.django_db(transaction=True)
def test_process_that_lost_its_lease_cannot_write(turn, monkeypatch):
    slow = Turn.objects.get(pk=turn.pk)
    abandon(slow)
    slow.refresh_from_db()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(leases, "worker", lambda: "elsewhere:2:0")
        assert leases.take_over() == [turn]  # it still runs: the other process has not ended it yet

    with pytest.raises(eventlog.LeaseLostError):
        eventlog.append(slow, [AssistantMessage(text="late", step=0)])
    assert not eventlog.close_turn(slow, [AssistantMessage(text="late", step=0)], status="completed")
    assert leases.renew([turn.pk]) == {turn.pk}

    turn.refresh_from_db()
    assert turn.status == "running"
    assert "late" not in str(eventlog.history(turn.conversation_id))


def test_process_that_renews_at_the_last_moment_has_its_lease(turn):
    abandon(turn)
    renewed = []

    def renew_first(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and not renewed:
            renewed.append(True)
            Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() + timedelta(hours=1))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(renew_first):
        assert leases.take_over() == []

    assert renewed


def test_renewal_extends_leases_and_returns_the_lost_ones(turn, settings):
    settings.LEASE_EXPIRY_S = 300

    assert leases.renew([turn.pk]) == set()
    turn.refresh_from_db()
    assert turn.lease_until is not None
    assert turn.lease_until > timezone.now() + timedelta(seconds=200)

    abandon(turn)
    assert leases.renew([turn.pk]) == {turn.pk}


def test_checkpoints_of_all_turns_are_saved_in_one_statement(alice, django_assert_num_queries):
    turns = [open_turn(make_conversation(owner=alice).pk, text="q") for _ in range(5)]

    with django_assert_num_queries(1):  # type: ignore[operator]
        write.save_checkpoints({turn.pk: (f"a{turn.number}", "t", {}) for turn in turns})
    # Thinking that is stored already is not written again
    write.save_checkpoints({turns[0].pk: ("more", None, {})})

    assert Checkpoint.objects.count() == 5
    assert (read.checkpoint_answer(turns[0].pk), read.checkpoint_thinking(turns[0].pk)) == ("more", "t")


def test_no_checkpoint_outlives_its_turn(turn):
    end_turn(turn, [AssistantMessage(text="one")])

    assert heartbeat.save_heartbeat([turn.pk], {turn.pk: ("late", "private")}) == {turn.pk}
    assert not Checkpoint.objects.exists()


def test_turn_whose_checkpoint_no_key_decrypts_ends_without_it(turn, settings):
    save_checkpoint(turn, answer="so far", thinking="private")
    abandon(turn)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    assert finish.recover_abandoned_turns().ended == [turn]

    turn.refresh_from_db()
    assert turn.status == "interrupted"


@pytest.mark.parametrize(
    ("shown", "answers", "thoughts"),
    [
        (("Let me look.\n\nFound", "{thought}\n\nNow I"), ["Let me look.", "Found"], ["Ask bo@example.com.", "Now I"]),
        (("Let me lo", "Ask"), ["Let me look."], ["Ask bo@example.com."]),
    ],
    ids=["newer than the last step", "older than the last step"],
)
def test_recovery_does_not_double_the_text_of_stored_steps(turn, shown, answers, thoughts):
    thought = Reasoning(
        kind="text", text="Ask bo@example.com.", source_field="reasoning", model="m", provider="p", step=0
    )
    eventlog.append(turn, [thought, AssistantMessage(text="Let me look.", step=0)])
    save_checkpoint(turn, answer=shown[0], thinking=shown[1].format(thought=redact_text(thought.text)))
    abandon(turn)

    finish.recover_abandoned_turns()

    events = eventlog.history(turn.conversation_id)
    assert [event.text for event in events if isinstance(event, AssistantMessage)] == answers
    assert [event.text for event in events if isinstance(event, Reasoning)] == thoughts


# Clock jumps
def test_jump_of_the_clock_takes_no_turn_from_a_living_process(turn, monkeypatch, settings):
    monkeypatch.setattr(leases, "clock", leases.DatabaseClock())
    monkeypatch.setattr(leases, "outage", leases.Outage())
    Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0", lease_until=timezone.now() + timedelta(seconds=20))
    assert leases.take_over() == []

    an_hour_ago = timezone.now() - timedelta(hours=1)
    leases.clock.has_jumped(an_hour_ago)  # it is an hour later when the clock is read the next time
    Turn.objects.filter(pk=turn.pk).update(lease_until=an_hour_ago + timedelta(seconds=20))

    assert leases.take_over() == []
    settings.LEASE_HEARTBEAT_S = 0
    assert leases.take_over() == [turn]


def test_turn_takes_no_negative_time_where_the_clock_is_set_back(turn):
    Turn.objects.filter(pk=turn.pk).update(started_at=timezone.now() + timedelta(hours=1))
    turn.refresh_from_db()

    end_turn(turn, [AssistantMessage(text="one")])

    assert turn.ended_at is not None
    assert turn.ended_at >= turn.started_at
