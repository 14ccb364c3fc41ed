"""The event log: one transaction a write, rising ``seq``, and two halves that never mix."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from chat import eventlog
from chat.conversations import titles
from chat.models import Checkpoint, Event, Turn
from chat.turns import finish
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult, TurnEnd, UserMessage
from reasoning.visibility import SiteFlags, Viewer, visibility
from tests.factories import make_conversation, open_turn, save_checkpoint

pytestmark = pytest.mark.engine

CANARY = "zebra-canary-7731"
THOUGHT = Reasoning(kind="text", text=CANARY, source_field="reasoning", model="m", provider="p", step=0)
CALL = ToolCall(call_id="c1", name="searchFilings", arguments=f'{{"query": "{CANARY}"}}', step=0)
RESULT = ToolResult(call_id="c1", output=CANARY, ok=True, step=0)
TRACE = {"c1": {"tool": "searchFilings", "args": {"query": "[redacted]"}, "durationMs": 3, "status": "ok"}}
ALL = visibility(SiteFlags(thinking_for_users="full"), Viewer())


def test_seq_rises_without_gaps_over_turns(alice: User) -> None:
    conversation = make_conversation(owner=alice)

    for question in ("one", "two"):
        turn = open_turn(conversation.pk, text=question)
        eventlog.append(turn, [THOUGHT, CALL])
        eventlog.close_turn(turn, [AssistantMessage(text="a", step=1)], status="completed")

    assert list(conversation.events.values_list("seq", flat=True)) == list(range(1, 11))


@pytest.mark.spec("product 3")
def test_private_halves_are_sealed_at_rest(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    eventlog.append(turn, [THOUGHT, CALL, RESULT], TRACE)
    save_checkpoint(turn, answer="shown", thinking=CANARY)

    with connection.cursor() as cursor:
        cursor.execute("SELECT public, sealed FROM chat_event")
        rows = repr([[bytes(half) if isinstance(half, memoryview) else half for half in row] for row in cursor])
        cursor.execute("SELECT answer, sealed FROM chat_checkpoint")
        rows += repr([[bytes(half) if isinstance(half, memoryview) else half for half in row] for row in cursor])

    assert CANARY not in rows
    assert "shown" in rows


@pytest.mark.spec("001 BR-002")
@pytest.mark.spec("product 10")
def test_history_gives_back_what_was_recorded(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="q")
    eventlog.append(turn, [THOUGHT, CALL, RESULT], TRACE)

    question, thought, call, result = eventlog.history(conversation.pk)

    assert isinstance(question, UserMessage)
    assert isinstance(thought, Reasoning)
    assert thought.text == CANARY
    assert isinstance(call, ToolCall)
    assert call.arguments == CALL.arguments
    assert isinstance(result, ToolResult)
    assert result.output == CANARY


def test_public_halves_carry_the_redacted_trace_and_no_text(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    eventlog.append(turn, [THOUGHT, CALL, RESULT], TRACE)

    events = eventlog.turn_record(turn).events

    assert CANARY not in repr(events)
    assert events[-1]["trace"] == TRACE["c1"]
    assert events[1]["tokens_est"] == 5


def test_second_turn_waits_for_the_first(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    open_turn(conversation.pk, text="one")

    with pytest.raises(eventlog.TurnRunningError):
        open_turn(conversation.pk, text="two")


def test_database_itself_refuses_a_second_running_turn(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    Turn.objects.create(conversation=conversation, number=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.create(conversation=conversation, number=2)


def test_turn_ends_once(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")

    eventlog.close_turn(turn, [], status="completed")
    eventlog.close_turn(turn, [], status="errored")

    assert turn.status == "completed"
    assert turn.events.filter(type=TurnEnd.type).count() == 1


def test_retry_takes_the_old_turn_off_the_branch_and_keeps_it(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    old = open_turn(conversation.pk, text="q")
    eventlog.close_turn(old, [], status="errored")

    fresh = open_turn(conversation.pk, text="q", replaces=old)

    assert [rows.turn.pk for rows in eventlog.turns(conversation.pk)] == [fresh.pk]
    assert [event.active for event in eventlog.history(conversation.pk)] == [False, False, True]
    assert fresh.number == old.number


def test_only_a_turn_of_the_selected_branch_is_replaced(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    old = open_turn(conversation.pk, text="q")
    eventlog.close_turn(old, [], status="errored")
    eventlog.close_turn(open_turn(conversation.pk, text="q", replaces=old), [], status="completed")

    with pytest.raises(eventlog.InactiveBranchError):
        open_turn(conversation.pk, text="q", replaces=old)


def test_interrupted_turn_keeps_its_checkpoint_and_closes_open_calls(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="q")
    eventlog.append(turn, [CALL])
    save_checkpoint(turn, answer="half an", thinking=CANARY)

    finish.interrupt_turn(turn)
    finish.interrupt_turn(turn)

    kinds = list(turn.events.values_list("type", flat=True))
    assert kinds == ["user_message", "tool_call", "tool_result", "reasoning", "assistant_message", "turn_end"]
    assert eventlog.turn_record(turn).events[4]["text"] == "half an"
    assert not Checkpoint.objects.exists()


@pytest.mark.spec("product 4")
def test_thinking_comes_out_only_for_who_may_see_it_and_redacted(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    secret = "sk-" + "a1b2c3d4" * 5
    eventlog.append(
        turn, [Reasoning(kind="text", text=f"use {secret}", source_field="", model="m", provider="p", step=0)]
    )

    whole = eventlog.thinking_for(turn, ALL)

    assert eventlog.thinking_for(turn, visibility(SiteFlags(thinking_for_users="hidden"), Viewer())) is None
    assert whole is not None
    assert secret not in whole.text
    assert "[redacted]" in whole.text


def test_title_comes_from_the_first_question_redacted_and_cut(alice: User) -> None:
    conversation = make_conversation(owner=alice)

    open_turn(conversation.pk, text="What about alice@example.com and " + "very " * 30 + "long questions?")

    conversation.refresh_from_db()
    assert "alice@" not in conversation.title
    assert len(conversation.title) <= titles.TITLE_CHARS + 1


def test_events_are_never_updated(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="q")
    before = list(Event.objects.values())

    eventlog.append(turn, [THOUGHT])
    eventlog.close_turn(turn, [], status="completed")

    assert list(Event.objects.order_by("seq").values())[: len(before)] == before
