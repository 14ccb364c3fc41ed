"""Canonical events and their JSON form, as the contracts fix it."""

import pytest

from reasoning.errors import EventError
from reasoning.events import AssistantMessage, TurnEnd, event_from_json, event_to_json

MADE = {"model": "m", "provider": "p"}
TEXT = {"kind": "text", "text": "Hm.", "source_field": "reasoning_content", "is_hidden": False, **MADE}
FORMS: list[dict[str, object]] = [
    {"seq": 1, "turn": "t", "type": "user_message", "text": "Why?"},
    {"seq": 2, "turn": "t", "step": 0, "type": "reasoning", **TEXT},
    {"seq": 3, "turn": "t", "step": 0, "type": "reasoning", "kind": "item", "item": {"id": "rs_1", "new": [1]}, **MADE},
    {"seq": 4, "turn": "t", "step": 0, "type": "reasoning", "kind": "details", "details": [{"type": "x"}], **MADE},
    {"seq": 5, "turn": "t", "step": 0, "type": "tool_call", "call_id": "c", "name": "f", "arguments": '{ "a":1}'},
    {"seq": 6, "turn": "t", "step": 0, "type": "permission_decision", "call_id": "c", "decision": "deny", "by": "x"},
    {"seq": 7, "turn": "t", "step": 0, "type": "tool_result", "call_id": "c", "output": "o", "ok": True},
    {
        **{"seq": 8, "turn": "t", "step": 1, "type": "assistant_message", "text": "A", "summary": ["s"]},
        **{"citations": [{"ref": 1}], "partial": False, "active": False},
    },
    {"seq": 9, "turn": "t", "type": "compaction", "to_seq": 4, "summary": "S"},
    {"seq": 10, "turn": "t", "type": "turn_end", "status": "completed"},
]


@pytest.mark.parametrize("form", FORMS, ids=[f"{form['type']}-{form['seq']}" for form in FORMS])
def test_each_kind_round_trips(form):
    assert event_to_json(event_from_json(form)) == form


def test_unknown_type_is_named():
    with pytest.raises(EventError, match="'telepathy'"):
        event_from_json({"type": "telepathy"})


def test_missing_field_is_named():
    with pytest.raises(EventError, match="call_id"):
        event_from_json({"type": "tool_result", "output": "", "ok": True})


def test_unknown_keys_of_a_later_version_are_ignored():
    event = event_from_json({"type": "turn_end", "status": "aborted", "mood": "fine"})

    assert event == TurnEnd(status="aborted")


def test_missing_optional_fields_take_defaults():
    event = event_from_json({"type": "assistant_message", "text": "A"})

    assert event == AssistantMessage(text="A", summary=(), citations=(), partial=False)
