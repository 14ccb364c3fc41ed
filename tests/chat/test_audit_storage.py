"""The audit of what is stored: silent about a clean site, and finding what was planted in the log."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import LazySettings
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import call_command

from accounts.models import User
from accounts.tokens import create_token
from chat import log
from chat.models import Checkpoint, Conversation, Filing, Passage, QueuedMessage, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.chat.audits import SECRET, STEP, THOUGHT, audit, make_whole_turn, plant
from tests.factories import make_conversation, open_turn


@pytest.fixture
def turn(alice: User) -> Turn:
    return make_whole_turn(alice)


def test_clean_site_has_nothing_to_tell(turn: Turn, ada: User) -> None:
    create_token(ada, "laptop")
    log.save_checkpoint(turn, answer="It stands", thinking=THOUGHT)
    session = SessionStore()
    session.update({"_auth_user_id": "1", "_auth_user_hash": "a1b2" * 16, "show_trace": True, "scratchpad_until": 5})
    session.save()

    assert audit() == ""


@pytest.mark.django_db(transaction=True)
def test_demonstration_is_clean(settings: LazySettings) -> None:
    settings.DEMO_PASSWORD = "for the demo"
    call_command("seed_demo", verbosity=0)
    assert Turn.objects.exists()

    assert audit() == ""


def test_random_number_of_a_call_is_no_secret(alice: User) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    log.append(turn, [ToolCall(call_id="call_00_" + "kW3xTz9QvLr2Hn8B" + "pYd5aB", name="f", arguments="{}", step=0)])

    assert audit() == ""


def test_what_people_typed_is_exempt(alice: User) -> None:
    typed = f"Is <think>this</think> or <scratchpad> a tag? My key is {SECRET}, my mail is pat@example.com."
    turn = open_turn(make_conversation(owner=alice).pk, text=typed)
    QueuedMessage.objects.create(conversation=turn.conversation, text=typed)
    log.append(turn, [ToolCall(call_id="c", name="f", arguments="{}", step=0)])
    step = STEP | {"args": {"query": "<think>this</think>"}}
    log.append(turn, [ToolResult(call_id="c", output="", ok=True, step=0)], {"c": step})
    assert "<think>" in Conversation.objects.get().title

    assert audit() == ""


@pytest.mark.spec("003 invariant 4")
@pytest.mark.parametrize("text", ["Done.</think>", "<THINKING >x", "a<REASONING>b", "</reasoning>"])
def test_delimiter_in_an_answer_is_found(turn: Turn, text: str) -> None:
    plant(turn, "assistant_message", text=text)

    event = turn.events.get(type="assistant_message")
    assert audit().splitlines() == [f"chat_event {event.pk} public.text: delimiter", "Places found: 1."]


@pytest.mark.spec("004 scratchpad")
@pytest.mark.parametrize(
    ("kind", "fields", "place"),
    [
        ("assistant_message", {"text": "So.<scratchpad>private</scratchpad>"}, "public.text"),
        ("assistant_message", {"summary": ["ok", "<scratchpad>private"]}, "public.summary"),
        ("assistant_message", {"scratchpad": "private"}, "public"),
        ("tool_result", {"trace": STEP | {"error": "</scratchpad>"}}, "public.trace"),
    ],
)
def test_scratchpad_is_found(turn: Turn, kind: str, fields: dict[str, Any], place: str) -> None:
    plant(turn, kind, **fields)

    said = audit()

    assert f" {place}: scratchpad" in said
    assert "private" not in said


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("assistant_message", {"text": f"The key is {SECRET}."}),
        ("tool_result", {"trace": STEP | {"args": {"note": f"Bearer {SECRET}"}}}),
        ("tool_result", {"trace": STEP | {"args": {"password": "tulip"}}}),
    ],
)
def test_secret_is_found_and_not_printed(turn: Turn, kind: str, fields: dict[str, Any]) -> None:
    plant(turn, kind, **fields)

    said = audit()

    assert ": secret" in said
    assert SECRET not in said
    assert "tulip" not in said


@pytest.mark.spec("product 12")
def test_words_of_a_public_filing_stay_as_they_are(turn: Turn) -> None:
    words = f"Register at https://webinar.example/register/{SECRET} or write to pat@example.com."
    filing = Filing.objects.create(slug="f", company="Northwind", form="8-K", digest="d")
    Passage.objects.create(filing=filing, ordinal=1, section="1", anchor="#a", text=words, context="")
    plant(turn, "assistant_message", citations=[{"quote": words, "snippet": "Register"}])
    assert audit() == ""

    plant(turn, "assistant_message", citations=[{"quote": words, "snippet": words}])
    assert " public.citations: secret" in audit()


@pytest.mark.spec("product 12")
def test_personal_data_is_found_where_it_should_be_masked(turn: Turn) -> None:
    plant(turn, "assistant_message", text="Write to pat@example.com.", citations=[{"quote": "pat@example.com"}])
    assert audit() == ""

    plant(turn, "assistant_message", summary=["Wrote to pat@example.com."])
    plant(turn, "tool_result", trace=STEP | {"args": {"phone": "415-555-0132"}})
    Conversation.objects.update(title="My SSN is 219-09-9999")
    Turn.objects.update(error_message="refused pat@example.com")

    said = audit()
    for place in ("public.summary", "public.trace", "title", "error_message"):
        assert f" {place}: personal data" in said


@pytest.mark.spec("product 3")
@pytest.mark.parametrize(
    ("kind", "fields", "place"),
    [
        ("reasoning", {"text": "Hm, so."}, "public.text"),
        ("reasoning", {"item": {"summary": ["Hm, so."]}}, "public.item"),
        ("reasoning", {"details": [{"text": "Hm, so."}]}, "public.details"),
        ("reasoning", {"thought": "Hm, so."}, "public"),
        ("tool_call", {"arguments": '{"query": "x"}'}, "public.arguments"),
        ("tool_result", {"output": "Found."}, "public.output"),
    ],
)
def test_private_field_in_the_public_half_is_found(turn: Turn, kind: str, fields: dict[str, Any], place: str) -> None:
    plant(turn, kind, **fields)

    event = turn.events.filter(type=kind).first()
    assert event is not None
    assert audit().splitlines()[0] == f"chat_event {event.pk} {place}: unsealed"


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("sealed", [b"Hm, so.", json.dumps({"text": "Hm"}).encode(), base64.b64encode(b"x" * 73), b""])
def test_sealed_half_that_is_no_token_is_found(turn: Turn, sealed: bytes) -> None:
    log.save_checkpoint(turn, answer="", thinking="Hm")
    turn.events.filter(type="tool_call").update(sealed=sealed)
    Checkpoint.objects.update(sealed=sealed)

    said = audit()

    assert f"chat_event {turn.events.get(type='tool_call').pk} sealed: unsealed" in said
    assert f"chat_checkpoint {Checkpoint.objects.get().pk} sealed: unsealed" in said


def test_token_of_a_lost_key_is_sealed_all_the_same(turn: Turn, settings: LazySettings) -> None:
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    assert audit() == ""


@pytest.mark.spec("product 3")
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("assistant_message", {"text": f"So: {THOUGHT.upper()} That is all."}),
        ("assistant_message", {"summary": ["x", "it doubts: " + " ".join(THOUGHT.split()[1:14])]}),
        ("assistant_message", {"note": THOUGHT}),
        ("tool_result", {"trace": STEP | {"args": {"query": THOUGHT}}}),
        ("turn_end", {"reason": THOUGHT}),
    ],
)
def test_open_text_that_repeats_thinking_is_found(turn: Turn, kind: str, fields: dict[str, Any]) -> None:
    plant(turn, kind, **fields)

    said = audit()

    assert ": repeats sealed thinking" in said
    assert "board" not in said


def test_thinking_beside_the_log_is_found(turn: Turn) -> None:
    Turn.objects.update(error_message=THOUGHT)
    Conversation.objects.update(title=THOUGHT)
    log.save_checkpoint(turn, answer=THOUGHT, thinking="Something else was thought since then, in quite other words.")

    said = audit()

    for place in ("error_message", "title", "answer"):
        assert f" {place}: repeats sealed thinking" in said


def test_words_that_question_or_tool_gave_are_no_repetition(alice: User) -> None:
    shared = "Turbine two at Skerry Sound stood still for six of the twelve months of the fiscal year under review"
    turn = open_turn(make_conversation(owner=alice).pk, text="Which one stood still?")
    thought = Reasoning(kind="text", text=f"It says: {shared}.", source_field="", model="m", provider="p", step=1)
    log.append(turn, [ToolCall(call_id="c", name="f", arguments="{}", step=0)])
    log.append(turn, [ToolResult(call_id="c", output=f"[1] {shared}", ok=True, step=0)])
    message = AssistantMessage(text=f"“{shared}” [1]", citations=({"quote": shared},), summary=(shared, "b"))
    log.close_turn(turn, [thought, message], status="completed")

    assert audit() == ""


def test_draft_of_an_answer_is_no_repetition(turn: Turn) -> None:
    plant(turn, "assistant_message", text=" ".join(THOUGHT.split()[:14]))

    assert audit() == ""
