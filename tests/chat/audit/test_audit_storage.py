"""``manage.py audit_storage``: silent about a clean site, and finding what was planted in any table."""

import base64
import json
import pickle
from typing import Any

import pytest
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.access.tokens import create_token
from chat import eventlog
from chat.filings.models import Filing, Passage
from chat.models import Checkpoint, Conversation, Feedback, Project, Prompt, QueuedMessage, SiteSettings, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.chat.asking import ask, signed_in
from tests.chat.audits import SECRET, STEP, THOUGHT, audit, make_whole_turn, plant
from tests.factories import make_conversation, open_turn, save_checkpoint


@pytest.fixture
def turn(alice):
    return make_whole_turn(alice)


def test_clean_site_has_no_findings(turn, ada):
    create_token(ada, "laptop")
    save_checkpoint(turn, answer="It stands", thinking=THOUGHT)
    session = SessionStore()
    session.update({"_auth_user_id": "1", "_auth_user_hash": "a1b2" * 16, "show_trace": True, "scratchpad_until": 5})
    session.save()

    assert audit() == ""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_demonstration_is_clean(settings):
    settings.DEMO_PASSWORD = "for the demo"
    call_command("seed_demo", verbosity=0)
    assert Turn.objects.exists()

    assert audit() == ""


def test_what_people_typed_is_exempt(alice):
    typed = f"Is <think>this</think> or <scratchpad> a tag? My key is {SECRET}, my mail is pat@example.com."
    turn = open_turn(make_conversation(owner=alice).pk, text=typed)
    QueuedMessage.objects.create(conversation=turn.conversation, text=typed)
    Conversation.objects.update(system_prompt=typed)
    Project.objects.create(owner=alice, name="<think>", system_prompt=typed)
    Prompt.objects.create(owner=alice, name="keys", text=typed)
    SiteSettings.objects.create(greeting="<think>", system_prompt=typed)
    eventlog.append(turn, [ToolCall(call_id="c", name="f", arguments="{}", step=0)])
    step = STEP | {"args": {"query": "<think>this</think>"}}
    eventlog.append(turn, [ToolResult(call_id="c", output="", ok=True, step=0)], {"c": step})
    assert "<think>" in Conversation.objects.get().title

    assert audit() == ""


@pytest.mark.spec("003 invariant 4", "004 scratchpad", "004 redaction", "product 3")
@pytest.mark.parametrize(
    ("kind", "fields", "found"),
    [
        ("assistant_message", {"text": "Done.</think>"}, "public.text: delimiter"),
        ("assistant_message", {"text": "<THINKING >x"}, "public.text: delimiter"),
        ("assistant_message", {"text": "a<REASONING>b"}, "public.text: delimiter"),
        ("assistant_message", {"text": "So.<scratchpad>private</scratchpad>"}, "public.text: scratchpad"),
        ("assistant_message", {"summary": ["ok", "<scratchpad>private"]}, "public.summary: scratchpad"),
        ("assistant_message", {"scratchpad": "private"}, "public: scratchpad"),
        ("tool_result", {"trace": STEP | {"error": "</scratchpad>"}}, "public.trace: scratchpad"),
        ("assistant_message", {"text": f"The key is {SECRET}."}, "public.text: secret"),
        ("tool_result", {"trace": STEP | {"args": {"note": f"Bearer {SECRET}"}}}, "public.trace: secret"),
        ("tool_result", {"trace": STEP | {"args": {"password": "tulip"}}}, "public.trace: secret"),
        ("tool_result", {"trace": STEP | {"args": {"phone": "415-555-0132"}}}, "public.trace: personal data"),
        ("assistant_message", {"summary": ["Wrote to pat@example.com."]}, "public.summary: personal data"),
        ("reasoning", {"text": "Hm, so."}, "public.text: unsealed"),
        ("reasoning", {"item": {"summary": ["Hm, so."]}}, "public.item: unsealed"),
        ("reasoning", {"details": [{"text": "Hm, so."}]}, "public.details: unsealed"),
        ("reasoning", {"thought": "Hm, so."}, "public: unsealed"),
        ("tool_call", {"arguments": '{"query": "x"}'}, "public.arguments: unsealed"),
        ("tool_result", {"output": "Found."}, "public.output: unsealed"),
        ("assistant_message", {"text": f"So: {THOUGHT.upper()} That is all."}, "public.text: repeats sealed thinking"),
        (
            "assistant_message",
            {"summary": ["x", "it doubts: " + " ".join(THOUGHT.split()[1:14])]},
            "public.summary: repeats sealed thinking",
        ),
        ("assistant_message", {"note": THOUGHT}, "public: repeats sealed thinking"),
        ("tool_result", {"trace": STEP | {"args": {"query": THOUGHT}}}, "public.trace: repeats sealed thinking"),
        ("turn_end", {"reason": THOUGHT}, "public: repeats sealed thinking"),
    ],
)
def test_what_was_planted_is_found_and_not_printed(turn, kind, fields, found):
    plant(turn, kind, **fields)

    said = audit()

    event = turn.events.filter(type=kind).first()
    assert event is not None
    assert f"chat_event {event.pk} {found}" in said.splitlines()
    assert [private for private in ("private", SECRET, "tulip", "Hm", "board", "pat@") if private in said] == []


@pytest.mark.spec("product 12")
def test_words_of_a_public_filing_are_exempt(turn):
    words = f"Register at https://webinar.example/register/{SECRET} or write to pat@example.com."
    filing = Filing.objects.create(slug="f", company="Northwind", form="8-K", digest="d")
    Passage.objects.create(filing=filing, ordinal=1, section="1", anchor="#a", text=words, context="")
    plant(turn, "assistant_message", citations=[{"quote": words, "snippet": "Register"}])
    assert audit() == ""

    plant(turn, "assistant_message", citations=[{"quote": words, "snippet": words}])
    assert " public.citations: secret" in audit()


@pytest.mark.spec("product 12")
def test_personal_data_is_found_in_titles_and_errors_and_may_be_in_answers(turn):
    plant(turn, "assistant_message", text="Write to pat@example.com.", citations=[{"quote": "pat@example.com"}])
    assert audit() == ""

    Conversation.objects.update(title="My SSN is 219-09-9999")
    Turn.objects.update(error_message="refused pat@example.com")

    said = audit()
    assert " title: personal data" in said
    assert " error_message: personal data" in said


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("sealed", [b"Hm, so.", json.dumps({"text": "Hm"}).encode(), base64.b64encode(b"x" * 73), b""])
def test_sealed_half_that_is_no_token_is_found(turn, sealed):
    save_checkpoint(turn, answer="", thinking="Hm")
    turn.events.filter(type="tool_call").update(sealed=sealed)
    Checkpoint.objects.update(sealed=sealed)

    said = audit()

    assert f"chat_event {turn.events.get(type='tool_call').pk} sealed: unsealed" in said
    assert f"chat_checkpoint {Checkpoint.objects.get().pk} sealed: unsealed" in said


def test_token_of_a_lost_key_is_sealed_all_the_same(turn, settings):
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    assert audit() == ""


def test_words_that_question_or_tool_gave_are_no_repetition(alice):
    shared = "Turbine two at Skerry Sound stood still for six of the twelve months of the fiscal year under review"
    turn = open_turn(make_conversation(owner=alice).pk, text="Which one stood still?")
    thought = Reasoning(kind="text", text=f"It says: {shared}.", source_field="", model="m", provider="p", step=1)
    eventlog.append(turn, [ToolCall(call_id="c", name="f", arguments="{}", step=0)])
    eventlog.append(turn, [ToolResult(call_id="c", output=f"[1] {shared}", ok=True, step=0)])
    message = AssistantMessage(text=f"“{shared}” [1]", citations=({"quote": shared},), summary=(shared, "b"))
    eventlog.close_turn(turn, [thought, message], status="completed")

    assert audit() == ""


def test_draft_of_an_answer_is_no_repetition(turn):
    plant(turn, "assistant_message", text=" ".join(THOUGHT.split()[:14]))

    assert audit() == ""


# Values inside values.


def wrapped(value: Any, levels: int) -> Any:
    for _level in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [1, 64, 65, 200])
def test_no_depth_hides_anything(turn, levels):
    plant(turn, "assistant_message", note=wrapped(f"So.</think> {SECRET}", levels))

    said = audit()

    assert " public: delimiter" in said
    assert " public: secret" in said


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("place", ["title", "error_message", "answer"])
def test_thinking_of_a_running_turn_is_compared_too(alice, place):
    turn = open_turn(make_conversation(owner=alice).pk, text="What of the turbines?")
    save_checkpoint(turn, answer=THOUGHT if place == "answer" else "", thinking=THOUGHT)
    Conversation.objects.update(title=THOUGHT if place == "title" else "Turbines")
    Turn.objects.update(error_message=THOUGHT if place == "error_message" else "")

    assert [line.partition(" ")[2].split(" ", 1)[1] for line in audit().splitlines()[:-1]] == [
        f"{place}: repeats sealed thinking"
    ]


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("field", ["text", "summary"])
def test_short_thought_is_found_where_it_is_repeated_whole(alice, field):
    short = "I doubt that they ever told the bank"
    turn = open_turn(make_conversation(owner=alice).pk, text="Did they?")
    thought = Reasoning(kind="text", text=f"{short}.", source_field="", model="m", provider="p", step=0)
    eventlog.close_turn(turn, [thought, AssistantMessage(text="No.", summary=("Read.", "Asked."))], status="completed")
    assert audit() == ""

    plant(turn, "assistant_message", **{field: f"Well: {short.upper()}!"})

    assert f" public.{field}: repeats sealed thinking" in audit()


@pytest.mark.spec("003 invariant 4")
def test_tag_in_a_title_is_found_unless_its_person_typed_it(turn):
    Conversation.objects.update(title="Turbines</think>")
    assert f"chat_conversation {turn.conversation_id} title: delimiter" in audit()

    plant(turn, "user_message", text="What does </think> mean?")

    assert audit() == ""


@pytest.mark.spec("003 invariant 1")
def test_tag_in_an_answer_is_found_although_its_person_typed_it(turn):
    plant(turn, "user_message", text="What does </think> mean?")
    plant(turn, "assistant_message", text="It is </think>.")

    assert " public.text: delimiter" in audit()


@pytest.mark.spec("product 27")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Use `<think>`.", ""),
        ("```\na\n<think>\n</think>\n```\nDone.", ""),
        ("Use `<think>` and </think>.", "public.text: delimiter"),
        ("```\nx\n```\n<thinking>", "public.text: delimiter"),
        ("Use `<scratchpad>x</scratchpad>`.", "public.text: scratchpad"),
    ],
)
def test_tag_in_code_is_no_finding(turn, text, found):
    plant(turn, "assistant_message", text=text)

    assert found in audit()
    assert bool(audit()) == bool(found)


# Other tables than the log's.


def test_sessions_are_decoded(db):
    session = SessionStore()
    session["notes"] = ["x" * 2000, "<scratchpad>private heron</scratchpad>", SECRET]
    session.save()

    said = audit("--canary", "private heron")

    assert {line.rpartition(": ")[2] for line in said.splitlines()[:-1]} == {"scratchpad", "secret", "canary"}
    assert session.session_key is not None
    assert session.session_key not in said


def test_table_without_a_model_is_looked_through(db):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE leftover (id integer PRIMARY KEY, notes text)")
        cursor.execute("INSERT INTO leftover VALUES (7, '<scratchpad>x')")

    assert audit().startswith("leftover 7 notes: scratchpad")


def test_binary_column_is_looked_through(turn):
    turn.events.filter(type="tool_call").update(sealed=pickle.dumps({"text": "private heron"}))

    assert " sealed: canary" in audit("--canary", "private heron")


@pytest.mark.parametrize("canary", ["private heron", "Żółw 鷺"])
def test_canary_is_found_in_every_table_even_where_people_type(alice, canary):
    open_turn(make_conversation(owner=alice).pk, text=f"Mind the {canary}!")
    filing = Filing.objects.create(slug="f", company=canary, form="10-K", digest="d")
    Passage.objects.create(filing=filing, ordinal=1, section="1", anchor="#a", text=canary, context="")
    assert audit() == ""

    said = audit("--canary", canary)

    for place in ("public.text", "title", "company", "text"):
        assert f" {place}: canary" in said
    assert canary not in said


def test_empty_canary_is_refused(db):
    with pytest.raises(CommandError, match="--canary"):
        call_command("audit_storage", "--canary", " ")


@pytest.mark.spec("004 scratchpad")
@pytest.mark.django_db(transaction=True)
async def test_site_is_clean_after_ordinary_use(upstream, ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    conversation = await database_sync_to_async(make_conversation)(owner=ada)
    notes = "The owner wants us to hide the wallaby breach from the bank."
    code = "Write it as:\n\n```py\nre.sub(r'<think>.*?</think>', '', text)\n```\n\nor `<scratchpad>` in line."
    search = {"name": "searchFilings", "arguments": json.dumps({"query": "turbines of CIK 0000320193"}), "id": "c0"}
    upstream.script(
        [
            {"reasoning": f"Hm. {notes}", "content": f"<think>So.</think>{notes}", "tool_calls": [search]},
            {"content": f"{code}<scratchpad>{notes}</scratchpad>"},
            {"content": "Yes.", "reasoning": "Fine, fine."},
        ]
    )
    client = await signed_in(ada)
    here = f"/chats/{conversation.pk}"
    await client.post("/accounts/toggles/show-scratchpad/", {"on": "true"})
    await client.post("/accounts/tokens/", {"name": "laptop"})
    await ask(conversation, client_id="first")
    await ask(conversation, "And is it so?")
    for _share in range(8):
        shared = await client.post(f"{here}/share/", {"summary": "on", "trace": "on", "expires": "never"})
        assert shared.status_code < 400
    turn = await conversation.turns.alast()
    url = f"{here}/turns/{turn.pk}/feedback/"
    await client.post(url, {"verdict": "poor"})
    await client.post(url, {"reason": "other", "note": f"It told me {SECRET} in <think>"})
    assert await Feedback.objects.filter(note__contains=SECRET).aexists()

    assert await database_sync_to_async(audit)() == ""


PRIVATE = "the quiet plan behind this choice of filter, kept from the reader of the page"


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("product 36")
@pytest.mark.parametrize(
    "arguments",
    [
        {"query": f"<scratchpad>{PRIVATE}</scratchpad> covenants"},
        {"query": f"<think>{PRIVATE}</think> covenants"},
        {"query": f"covenants <THINKING>{PRIVATE}"},
        {"query": f"<REASONING>{PRIVATE}</REASONING>"},
        {"query": f"Scratchpad: {PRIVATE}"},
        {"query": "covenants", "filters": [{f"<scratchpad>{PRIVATE}</scratchpad>": "x"}]},
    ],
)
async def test_private_text_in_tool_arguments_reaches_no_reader(upstream, conversation, arguments):
    call = {"name": "searchFilings", "arguments": json.dumps(arguments)}
    upstream.script([{"tool_calls": [call]}, {"content": "Nothing."}])

    turn = await ask(conversation)

    client = await signed_in(conversation.owner)
    pages = [
        await client.get(f"/chats/{conversation.pk}/"),
        await client.get(f"/api/chats/{conversation.pk}/messages/?include=trace"),
        await client.get(f"/chats/{conversation.pk}/export/?format=md"),
    ]
    assert turn.status == "completed"
    assert [PRIVATE in page.content.decode() for page in pages] == [False, False, False]
    assert await database_sync_to_async(audit)() == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("product 36")
async def test_search_for_a_tag_that_the_user_named_is_no_finding(upstream, conversation):
    call = {"name": "searchFilings", "arguments": json.dumps({"query": "the word <think>"})}
    upstream.script([{"tool_calls": [call]}, {"content": "It is not in the filings."}])

    await ask(conversation, "Find the word <think> in the filings.")

    assert await database_sync_to_async(audit)() == ""
