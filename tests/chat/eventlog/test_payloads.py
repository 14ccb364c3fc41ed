"""Rows of an older schema are read as today's, and stay as they were written."""

import pytest

from chat import eventlog
from chat.eventlog.serialization import SCHEMA, upgrade_payload
from chat.models import Event
from reasoning.events import Reasoning
from tests.factories import make_conversation, open_turn

THOUGHT = Reasoning(kind="text", text="hm", source_field="", model="m", provider="p", step=0)


@pytest.mark.django_db
def test_row_of_the_first_schema_is_read_as_todays_and_not_rewritten(alice):
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    eventlog.append(turn, [THOUGHT])
    Event.objects.filter(turn=turn).update(schema=1)

    read = next(event for event in eventlog.history(turn.conversation_id) if isinstance(event, Reasoning))

    assert (read.text, read.source_field) == ("hm", "think_tags")
    assert set(Event.objects.filter(turn=turn).values_list("schema", flat=True)) == {1}
    assert Event.objects.get(turn=turn, type="reasoning").public["source_field"] == ""


def test_every_older_schema_has_its_step():
    for schema in range(1, SCHEMA + 1):
        assert upgrade_payload("user_message", schema, {"text": "q"}) == {"text": "q"}


def test_payload_of_a_later_schema_is_left_as_it_is():
    assert upgrade_payload("reasoning", SCHEMA + 1, {"kind": "text"}) == {"kind": "text"}
