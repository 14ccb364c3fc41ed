"""A write that was done, of which the word got lost with the connection, is not done twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from django.db import OperationalError

from accounts.models import User
from chat import log, recovery, turns
from chat.models import Conversation
from chat.runner import Runner
from reasoning.events import AssistantMessage, ToolCall, ToolResult
from tests.chat.asking import ask, events_of
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = [ToolCall(call_id=one, name="searchFilings", arguments="{}", step=0) for one in ("c1", "c2")]
RESULTS = [ToolResult(call_id=one, output="same", ok=True, step=0) for one in ("c1", "c2")]


def unheard(*args: Any) -> None:
    """Append, and lose the word of it."""
    log.append(*args)
    raise OperationalError("server closed the connection unexpectedly")


async def test_step_and_result_stand_in_the_log_once(
    upstream: ContractHandle, runner: Runner, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_PAUSE_S", 0)
    monkeypatch.setattr(turns, "_append", recovery.insisted(unheard, log.append_missing))
    search = {"name": "searchFilings", "arguments": json.dumps({"query": "covenants"})}
    upstream.script([{"reasoning": "I look.", "content": "First.", "tool_calls": [search]}, {"content": "Done."}])

    turn = await ask(runner, conversation, "Why?")

    found = Counter(event.type for event in await events_of(turn))
    assert turn.status == "completed"
    assert found == {
        "user_message": 1,
        "reasoning": 1,
        "tool_call": 1,
        "tool_result": 1,
        "assistant_message": 2,
        "turn_end": 1,
    }


def test_events_that_are_missing_are_appended_and_those_that_are_there_are_not(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")

    for events in (CALLS, RESULTS[:1], RESULTS[1:], [AssistantMessage(text="a", step=1)]):
        for _twice in range(2):
            log.append_missing(turn, events)

    assert [event.type for event in log.history(turn.conversation_id)] == [
        "user_message",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "assistant_message",
    ]
