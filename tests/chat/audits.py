"""Run the audit in a test, over what a test has planted past the log."""

import io
from typing import Any

from django.core.management import call_command

from accounts.models import User
from chat import eventlog
from chat.models import Event, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.factories import make_conversation, open_turn

SECRET = "sk-" + "proj-" + "Q1w2E3r4T5y6" * 4
THOUGHT = "The board quietly doubts whether the second turbine will ever run again before the winter storms arrive."
STEP = {
    "tool": "searchFilings",
    "args": {"query": "turbines"},
    "durationMs": 3.5,
    "results": 1,
    "topCitations": [
        {"filing": "10-K", "snippet": "Call Pat Doe at 415-555-0132 or pat@example.com.", "url": "/f/#p1"}
    ],
    "status": "ok",
}


def audit(*arguments: str) -> str:
    """Run the command; return its lines, "" where it found nothing."""
    said = io.StringIO()
    code: object = 0
    try:
        call_command("audit_storage", *arguments, stdout=said)
    except SystemExit as ended:
        code = ended.code
    assert code == (0 if said.getvalue() == "Nothing found.\n" else 1)
    return said.getvalue() if code else ""


def make_whole_turn(owner: User) -> Turn:
    """Make a finished turn with all that a turn may leave."""
    turn = open_turn(make_conversation(owner=owner).pk, text="What of the turbines?")
    thought = Reasoning(kind="text", text=THOUGHT, source_field="reasoning", model="m", provider="p", step=0)
    item = Reasoning(kind="item", item={"id": "r1", "encrypted_content": "x" * 80}, model="m", provider="p", step=0)
    call = ToolCall(call_id="c1", name="searchFilings", arguments='{"query": "turbines"}', step=0)
    eventlog.append(turn, [thought, item, call])
    eventlog.append(turn, [ToolResult(call_id="c1", output="Turbine two stands still.", ok=True, step=0)], {"c1": STEP})
    eventlog.close_turn(
        turn, [AssistantMessage(text="It stands still.", summary=("Searched.", "Read."))], status="completed"
    )
    return turn


def plant(turn: Turn, kind: str, **fields: Any) -> None:
    """Put fields into the public half of an event, past the log."""
    event = turn.events.filter(type=kind).first()
    assert event is not None
    Event.objects.filter(pk=event.pk).update(public={**event.public, **fields})
