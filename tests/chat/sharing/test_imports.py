"""Import of an export of ChatGPT, or of this product."""

import io
import json
import subprocess
import threading
from datetime import timedelta
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from chat import eventlog
from chat.eventlog import leases
from chat.management.commands import preview_request
from chat.models import Conversation, ConversationImport, Event, Turn
from chat.sharing.imports import reader
from chat.sharing.imports import run as imports
from chat.turns.manager import turn_manager
from tests.chat.shared_talk import make_talk, unzipped
from tests.factories import SECRET, client_of, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/data/import/"
DEEP = [(number, "false" if number % 2 else "true") for number in range(1_500)]
PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file-1"}


def node(
    role: str, *parts: object, parent: str | None = None, at: float | None = None, **message: Any
) -> dict[str, Any]:
    content = {"content_type": "multimodal_text" if any(isinstance(p, dict) for p in parts) else "text", "parts": parts}
    return {"message": {"author": {"role": role}, "content": content, "create_time": at, **message}, "parent": parent}


def chatgpt(title: str = "Ferry times", **changes: Any) -> dict[str, Any]:
    """Make a conversation as ChatGPT exports it: with a branch that isn't shown, and a tool's messages."""
    mapping = {
        "root": {"message": None, "parent": None},
        "system": node("system", "", parent="root"),
        "q1": node("user", "When does the <b>ferry</b> leave?", parent="system", at=1_700_000_000.5),
        "old": node("assistant", "At noon.", parent="q1"),
        "call": node("assistant", 'search("ferry")', parent="q1", recipient="browser"),
        "result": node("tool", "<html>", parent="call"),
        "a1": node("assistant", f"At **nine**. api_key={SECRET}", parent="result", metadata={"model_slug": "gpt-4o"}),
        "a2": node("assistant", "<think>hm</think>Or at ten.", parent="a1", at=1_700_000_060),
        "q2": node("user", PICTURE, parent="a2"),
    }
    return {"title": title, "id": "1f-" + title, "mapping": mapping, "current_node": "q2", **changes}


def upload(client: Client, *contents: object) -> Any:
    """Send files; return the refusal, or the page when their import has ended."""
    data = [content if isinstance(content, bytes) else json.dumps(content).encode() for content in contents]
    files = [SimpleUploadedFile(f"conversations-{number:03}.json", each) for number, each in enumerate(data)]
    answer = client.post(PAGE, {"file": files})
    return imported(client) if answer.status_code == 303 else answer


def texts_of(conversation: Conversation) -> list[str]:
    """Return the questions and answers of the selected branch."""
    events = Event.objects.filter(turn__conversation=conversation, turn__is_active=True).order_by("seq")
    return [event.public["text"] for event in events if "text" in event.public]


def imported(client: Client) -> Any:
    """Return the page when all imports have ended."""
    for thread in threading.enumerate():
        if thread.name == "import":
            thread.join()
    return client.get(PAGE)


def zipped(**files: object) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return packed.getvalue()


def exported(client: Client, conversation: Conversation) -> dict[str, Any]:
    return json.loads(client.get(f"/chats/{conversation.pk}/export/?format=json").content)


def test_chatgpt_conversation_is_imported_as_its_shown_branch(alice):
    client = client_of(alice)

    answer = upload(client, [chatgpt()])

    assert "1 conversation was imported." in answer.text
    conversation = alice.conversations.get()
    assert (conversation.title, conversation.updated_at.timestamp()) == ("Ferry times", 1_700_000_060)
    assert conversation.created_at.timestamp() == 1_700_000_000.5
    first, second = conversation.turns.filter(is_active=True).order_by("number")
    assert (first.status, first.model, second.status) == ("completed", "gpt-4o", "aborted")
    texts = texts_of(conversation)
    assert texts[0] == "When does the <b>ferry</b> leave?"
    assert texts[1].startswith("At **nine**. ")
    assert texts[1].endswith("\n\nOr at ten.")
    assert SECRET not in texts[1]
    assert texts[2:] == ["[Picture, not imported]"]
    page = client.get(conversation.get_absolute_url()).text
    assert "<strong>nine</strong>" in page
    assert "&lt;b&gt;ferry" in page
    call_command("audit_storage")


def test_import_stores_nothing_of_a_conversation_that_is_read_while_all_are_deleted(alice, monkeypatch):
    client, receive = client_of(alice), imports.receive

    def delete_and_receive(*args: Any) -> object:
        received = receive(*args)
        if isinstance(received, imports.FoundTurns):
            client.post("/data/delete-conversations/", {"confirm": "on"})
        return received

    monkeypatch.setattr(imports, "receive", delete_and_receive)
    upload(client, [chatgpt()])

    assert not Conversation.all_objects.filter(owner=alice).exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"title": "Odd", "messagesTree": []},
        {"title": "Odd", "messagesTree": [], "messages": None},
        {
            "chat": {
                "title": "Odd",
                "history": {"messages": {"1": {"id": "1", "role": "system", "content": "Be brief."}}},
            }
        },
    ],
    ids=["no messages", "null", "instructions alone"],
)
def test_odd_conversation_hides_no_other(alice, odd):
    page = upload(client_of(alice), [odd], [chatgpt()])

    assert [conversation.title for conversation in alice.conversations.all()] == ["Ferry times"]
    assert "Something went wrong" not in page.text


@pytest.mark.slow
def test_repeated_import_skips_what_is_here(alice, bob):
    client = client_of(alice)
    talk = make_talk(alice)
    upload(client, [chatgpt()])

    again = upload(client, zipped(**{"export/conversations.json": [chatgpt(), chatgpt("Other")], "chat.html": b"<p>"}))
    own = upload(client, exported(client, talk))

    assert "1 conversation was imported." in again.text
    assert "Here already" in again.text
    assert "Ferry times" in again.text
    assert "0 conversations were imported." in own.text
    assert alice.conversations.count() == 3
    assert "2 conversations were imported." in upload(client_of(bob), [chatgpt(), chatgpt("Other")]).text


def test_own_export_comes_back_equal_and_can_be_continued(alice, bob):
    talk = make_talk(alice)
    make_turn(talk, question="And now?\n<think>", answer="```\n<think>\n```\n\nSee *above*.")
    files = unzipped(client_of(alice).get("/data/export/"))

    answer = upload(client_of(bob), zipped(**{name: text.encode() for name, text in files.items()}))

    assert "1 conversation was imported." in answer.text
    copy = bob.conversations.get()
    before, after = exported(client_of(alice), talk), exported(client_of(bob), copy)
    assert copy.title == talk.title
    names = ("role", "text", "at", "answer", "status", "model")
    assert [[entry.get(name) for name in names] for entry in after["messages"]] == [
        [entry.get(name) for name in names] for entry in before["messages"]
    ]
    assert all(entry["toolTrace"] == entry["citations"] == [] for entry in after["messages"][1::2])
    out = io.StringIO()
    call_command(preview_request.Command(), str(copy.pk), stdout=out)
    assert "See *above*." in out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no conversation in it"),
        (b"hello", "no conversation in it"),
        (b'{"mapping": {"a"', "Cut off or damaged"),
        (b'["' + b'\\"' * 100_000, "no conversation in it"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"a": [' + b"0, [], " * 3_000_000, "too large"),
        (b"[" + b"{}," * 2_000, "The rest of conversations-000.json was not read"),
        (b'[{"a": "' + b"a" * reader.MAX_CONVERSATION_BYTES + b'"}]', "Too large"),
        ([{"mapping": {"a": []}}, {}], "No export of ChatGPT, Claude, LibreChat, Open WebUI or Legible"),
        ([{}, {"mapping": {"a": {"parent": "a"}}}], "No text"),
        (b"PK\x03\x04 and so on", "damaged"),
        (zipped(**{"user.json": {}}), "no conversations.json"),
        (zipped(**{"conversations.json": [chatgpt()]})[:-60], "damaged"),
        (zipped(**{"conversations.json": [chatgpt()]})[:-6] + b"\xff\xff\0\0\0\0", "damaged"),  # an offset
        (lambda: zipped(**{"conversations.json": b" " * (reader.MAX_FILE_BYTES + 1)}), "Unpacked"),
        (lambda: zipped(**{f"{n}.txt": b"" for n in range(reader.MAX_FILES + 1)}), "too many files"),
    ],
)
def test_what_is_no_export_is_refused(alice, content, words):
    answer = upload(client_of(alice), content() if callable(content) else content)

    assert words in answer.text
    assert not alice.conversations.exists()


@pytest.mark.slow
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"])
def test_time_that_no_page_could_show_is_left_out(alice, at):
    question = {"role": "user", "text": "Why?", "at": at}

    assert "1 conversation was imported." in upload(client_of(alice), [{"messages": [question]}]).text

    assert abs((alice.conversations.get().created_at - timezone.now()).total_seconds()) < 3600


def test_import_that_runs_is_alone_and_shows_how_far_it_is(alice, bob):
    client = client_of(alice)
    report = {"imported": 2, "shortened": 0, "skipped": {"Here already": [1, ["Ferry times"]]}}
    running = ConversationImport.objects.create(owner=alice, report=report)

    refused = upload(client, [chatgpt()])
    page, asked = client.get(PAGE), client.get(PAGE, headers={"HX-Request": "true"})
    ConversationImport.objects.filter(pk=running.pk).update(ended_at=timezone.now())
    ended = client.get(PAGE, headers={"HX-Request": "true"})

    assert (refused.status_code, "still running" in refused.text) == (429, True)
    assert "3 conversations so far." in page.text
    assert "3 conversations so far." in asked.text
    assert 'type="file"' not in page.text
    assert ended.headers["HX-Refresh"] == "true"
    assert "2 conversations were imported." in client.get(PAGE).text
    assert "were imported." not in client_of(bob).get(PAGE).text


def test_third_import_of_a_process_waits(alice):
    client = client_of(alice)
    file = SimpleUploadedFile("conversations.json", json.dumps([chatgpt()]).encode())
    with imports.slots, imports.slots:
        assert client.post(PAGE, {"file": file}).status_code == 303
        waiting = client.get(PAGE).text
    ended = imported(client)

    assert "0 conversations so far." in waiting
    assert "1 conversation was imported." in ended.text


def test_import_of_a_process_that_is_gone_can_be_repeated(alice):
    ConversationImport.objects.create(owner=alice)
    ConversationImport.objects.update(updated_at=timezone.now() - timedelta(minutes=6))

    assert "The import was interrupted." in client_of(alice).get(PAGE).text
    assert "1 conversation was imported." in upload(client_of(alice), [chatgpt()]).text


def test_import_ends_in_time_and_where_the_server_stops(alice, monkeypatch):
    client = client_of(alice)
    with monkeypatch.context() as shutdown:
        shutdown.setattr(turn_manager, "is_draining", lambda: True)
        stopped = upload(client, [chatgpt()])
    monkeypatch.setattr(imports, "MAX_S", 0)
    late = upload(client, b"[" * 100_000)  # what is cut off here is not looked at

    assert "The server was restarted." in stopped.text
    assert not alice.conversations.exists()
    assert "Not imported yet" in late.text
    assert "Not a ChatGPT or Legible export" not in late.text


def test_import_stops_where_all_conversations_are_deleted(alice, monkeypatch):
    client, store = client_of(alice), imports.import_conversation

    def store_and_delete(*args: Any) -> None:
        store(*args)
        client.post("/data/delete-conversations/", {"confirm": "on"})

    monkeypatch.setattr(imports, "import_conversation", store_and_delete)
    page = upload(client, [chatgpt(), chatgpt("Other")])

    assert not alice.conversations.exists()
    assert "imported." not in page.text.replace("not imported.", "")


@pytest.mark.slow
def test_long_texts_are_shortened_and_limits_hold(alice, settings, monkeypatch):
    settings.MESSAGE_MAX_CHARS, settings.MAX_ANSWER_BYTES = 60, 50
    monkeypatch.setattr(imports, "MAX_CONVERSATIONS", 1)
    client = client_of(alice)
    long = [{"role": "user", "text": "word " * 50, "at": "9999-01-01T00:00:00"}]
    long += [{"role": "assistant", "answer": "word " * 50, "status": "complete", "model": "m" * 999}]

    answer = upload(client, [{"messages": long}, chatgpt()])
    codes = [upload(client, [chatgpt()]).status_code for _ in range(10)]

    assert "1 of them was shortened" in answer.text
    assert "Not imported yet" in answer.text
    question, reply, _end = Event.objects.filter(conversation__title__startswith="word").order_by("seq")
    assert question.public["text"].endswith("[Shortened when it was imported]")
    assert len(question.public["text"]) == 60
    assert reply.public["text"].endswith("[Shortened when it was imported]")
    assert codes == [200] * 9 + [429]
    assert Turn.objects.count() == 4  # one of them on a branch that isn't shown


def talk_of(*nodes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Make a conversation of ChatGPT whose messages follow each other."""
    mapping = {f"n{number}": {"parent": f"n{number - 1}", **each} for number, each in enumerate(nodes)}
    linked = {key: {**each, "parent": each["parent"] or f"n{int(key[1:]) - 1}"} for key, each in mapping.items()}
    return {"title": "Ferry times", "id": "talk", "mapping": linked, **changes}


def said(role: str, content_type: str, text: str, **message: Any) -> dict[str, Any]:
    return node(role, **{"content": {"content_type": content_type, "text": text, "language": "unknown"}, **message})


def imported_texts(person: Any, *contents: object) -> list[str]:
    """Import files of one conversation; return its questions and answers."""
    upload(client_of(person), *contents)
    return texts_of(person.conversations.get())


def test_words_of_a_voice_chat_are_its_texts(alice):
    spoken = {"content_type": "audio_transcription", "text": "When does it leave?", "direction": "in"}
    answer = {"content_type": "audio_transcription", "text": "At nine.", "direction": "out"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file-2"}

    texts = imported_texts(alice, [talk_of(node("user", spoken, sound), node("assistant", sound, answer))])

    assert texts == ["When does it leave?", "At nine."]
    assert "recordings: 2" in client_of(alice).get(PAGE).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "metadata", "stored"),
    [
        ("Nine \ue200cite\ue202turn0search1\ue201 sharp.", {}, "Nine sharp."),
        ("Nine 【4†source】.", {}, "Nine."),
        ("Nine:contentReference[oaicite:0]{index=0}.", {}, "Nine."),
        ("Nine \ue200cite\ue202turn0search1", {}, "Nine"),
        ('To \ue200entity\ue202["city","Kiel","port"]\ue201.', {}, "To Kiel."),
        ("A \ue203cited\ue204 word 【and】 `items[3]`", {}, "A cited word 【and】 `items[3]`"),
        (
            "Nine \ue200cite\ue202turn0search1\ue201.",
            {
                "content_references": [
                    {"matched_text": " ", "type": "sources_footnote"},
                    {
                        "matched_text": "\ue200cite\ue202turn0search1\ue201",
                        "items": [{"title": "Ferry [1]", "url": "https://a.example/x_(y)"}],
                    },
                ]
            },
            "Nine ([Ferry 1](https://a.example/x_%28y%29)).",
        ),
        (
            "Nine【4†source】.",
            {"citations": [{"start_ix": 4, "end_ix": 14, "metadata": {"title": "T", "url": "https://a.example/"}}]},
            "Nine ([T](https://a.example/)).",
        ),
        ("Nine【4†x】.", {"citations": [{"start_ix": 4, "end_ix": 9, "metadata": {"url": "javascript:x"}}]}, "Nine."),
    ],
)
def test_marks_of_citations_become_links_or_nothing(alice, text, metadata, stored):
    answer = node("assistant", text, metadata=metadata)

    assert imported_texts(alice, [talk_of(node("user", "When?"), answer)]) == ["When?", stored]


def test_documents_and_code_are_blocks_of_the_answer(alice):
    document = {"name": "Timetable", "type": "document", "content": "At nine.\n```\nx\n```"}
    changed = {"updates": [{"pattern": ".*", "replacement": "At ten."}]}
    texts = imported_texts(
        alice,
        [
            talk_of(
                node("user", "Write it."),
                said("assistant", "code", json.dumps(document), recipient="canmore.create_textdoc"),
                node("tool", "Successfully created", recipient="all"),
                node("assistant", json.dumps(changed), recipient="canmore.update_textdoc"),
                said("assistant", "code", "print(9)", recipient="python"),
                said("tool", "execution_output", "9"),
                node("assistant", "It is in the canvas."),
            )
        ],
    )

    parts = ["**Timetable**", "````markdown\nAt nine.\n```\nx\n```\n````", "```markdown\nAt ten.\n```"]
    assert texts[1] == "\n\n".join([*parts, "```python\nprint(9)\n```", "It is in the canvas."])
    assert "steps of tools: 2" in client_of(alice).get(PAGE).text


def test_pictures_are_named_where_they_were(alice):
    file = {"id": "file-1", "name": "quay.png", "mime_type": "image/png"}
    asked = node("user", PICTURE, "Draw this quay.", metadata={"attachments": [file, {"name": "plan.pdf"}]})
    drawn = node("tool", PICTURE, recipient="all")

    texts = imported_texts(alice, [talk_of(asked, said("assistant", "code", "{}", recipient="dalle.text2im"), drawn)])

    names = "[Picture, not imported: quay.png]\n\nDraw this quay.\n\n[File, not imported: plan.pdf]"
    assert texts == [names, "[Picture, not imported]"]
    assert alice.conversations.get().turns.get().status == "completed"
    page = client_of(alice).get(PAGE).text
    assert "pictures: 2" in page
    assert "files: 1" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": None},
        {"author": None},
        {"author": {"role": None}},
        {"create_time": "1700000000"},
        {"create_time": {"odd": 1}},
        {"id": 7},
        {"recipient": None},
        {"metadata": []},
    ],
)
@pytest.mark.parametrize("which", [0, 1])
def test_odd_field_of_a_message_loses_nothing(alice, changes, which):
    nodes = [node("user", "When?"), node("assistant", "At nine.")]
    nodes[which]["message"].update(changes)

    assert imported_texts(alice, [talk_of(*nodes)]) == ["When?", "At nine."]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"content": None}, {"content": {"content_type": "text", "parts": None}}])
def test_message_without_content_hides_no_other(alice, changes):
    nodes = [node("user", "When?"), node("assistant", "x"), node("assistant", "At nine.")]
    nodes[1]["message"].update(changes)

    assert imported_texts(alice, [talk_of(*nodes)]) == ["When?", "At nine."]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"current_node": "gone"},
        {"current_node": None},
        {"id": 7, "title": None},
        {
            "mapping": {
                "q": {**node("user", "When?"), "children": ["a"]},
                "a": {**node("assistant", "\ud800At nine."), "children": []},
            }
        },
        {"mapping": {"q": node("user", "When?", parent="gone"), "a": node("assistant", "At nine.", parent="lost")}},
        {"mapping": {"q": node("user", "When?", parent="a"), "a": node("assistant", "At nine.", parent="q")}},
    ],
)
def test_odd_tree_loses_nothing(alice, changes):
    talk = talk_of(node("user", "When?"), node("assistant", "At nine."), **changes)

    question, answer = imported_texts(alice, [talk])

    assert question == "When?"
    assert answer.removeprefix("?") == "At nine."


def test_all_branches_come_and_can_be_selected(alice):
    mapping = {
        "q": node("user", "When?", at=100_000),
        "a1": node("assistant", "At nine.", parent="q", at=100_010),
        "a2": node("assistant", "At ten.", parent="q", at=100_020),
        "q2": node("user", "And back?", parent="a1", at=100_030),
        "b2": node("assistant", "At six.", parent="q2", at=100_040),
        "q3": node("user", "And there?", parent="a1", at=100_050),
        "b3": node("assistant", "At noon.", parent="q3", at=100_060),
    }
    client = client_of(alice)
    upload(client, [{"title": "Ferry times", "id": "1", "mapping": mapping, "current_node": "b2"}])
    talk = alice.conversations.get()
    shown = texts_of(talk)
    versions = eventlog.branches.versions(list(talk.turns.filter(is_active=True)))
    eventlog.branches.select(talk.turns.get(number=1, is_active=False))
    other = texts_of(talk)
    eventlog.branches.select(talk.turns.get(number=1, is_active=False))

    assert shown == ["When?", "At nine.", "And back?", "At six."]
    assert [[len(answers) for answers in each] for each in versions.values()] == [[2], [1, 1]]
    assert other == ["When?", "At ten."]
    assert texts_of(talk) == ["When?", "At nine.", "And there?", "At noon."]
    assert "Previous version" in client.get(talk.get_absolute_url()).text


def test_branches_above_the_limits_are_counted(alice, monkeypatch):
    monkeypatch.setattr(imports, "MAX_TURNS", 2)
    mapping = {"q": node("user", "When?"), **{f"a{n}": node("assistant", f"At {n}.", parent="q") for n in range(5)}}

    upload(client_of(alice), [{"id": "1", "mapping": mapping, "current_node": "a1"}])

    assert texts_of(alice.conversations.get()) == ["When?", "At 1."]
    assert "answers of other branches, above the limits: 3" in client_of(alice).get(PAGE).text


def openwebui_form() -> dict[str, Any]:
    thought = '<details type="reasoning" done="true"><summary>Thought</summary>&gt; hm</details>\n'
    messages = {
        "1": {"id": "1", "parentId": None, "role": "user", "content": "When?", "timestamp": 1_700_000_000},
        "2": {"id": "2", "parentId": "1", "role": "assistant", "content": thought + "At nine.", "model": "llama"},
        "3": {"id": "3", "parentId": "1", "role": "assistant", "content": "At ten.", "model": "llama"},
    }
    return {"id": "ow", "title": "Ferry", "chat": {"history": {"currentId": "2", "messages": messages}}}


def librechat_form(*, nested: bool) -> dict[str, Any]:
    root = "00000000-0000-0000-0000-000000000000"
    question = {"messageId": "1", "parentMessageId": root, "isCreatedByUser": True, "sender": "User", "text": "When?"}
    answers = [
        {"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "text": "At ten.", "model": "gpt"},
        {
            "messageId": "3",
            "parentMessageId": "1",
            "isCreatedByUser": False,
            "model": "llama",
            "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "At nine."}}],
            "createdAt": "2024-05-01T16:35:12.604Z",
        },
    ]
    form = {"conversationId": "lc", "title": "Ferry", "recursive": nested}
    if nested:
        return {**form, "messagesTree": [{**question, "children": answers}]}
    return {**form, "messages": [question, *answers]}


def claude_form() -> dict[str, Any]:
    root = "00000000-0000-4000-8000-000000000000"
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "At nine."}]
    messages = [
        {
            "uuid": "1",
            "parent_message_uuid": root,
            "sender": "human",
            "text": "When?",
            "created_at": "2025-01-01T00:00:00Z",
        },
        {
            "uuid": "2",
            "parent_message_uuid": "1",
            "sender": "assistant",
            "content": [{"type": "text", "text": "At ten."}],
        },
        {"uuid": "3", "parent_message_uuid": "1", "sender": "assistant", "text": "At nine.", "content": blocks},
    ]
    return {
        "uuid": "cl",
        "name": "Ferry",
        "model": "llama",
        "chat_messages": messages,
        "current_leaf_message_uuid": "3",
    }


@pytest.mark.parametrize(
    "content",
    [
        [openwebui_form()],
        librechat_form(nested=True),
        librechat_form(nested=False),
        {"conversations": [librechat_form(nested=True)]},
        [claude_form()],
    ],
)
def test_exports_of_other_products_are_read_with_their_branches(alice, content):
    assert imported_texts(alice, content) == ["When?", "At nine."]

    talk = alice.conversations.get()
    assert talk.title == "Ferry"
    assert talk.turns.get(is_active=True).model == "llama"
    assert talk.turns.count() == 2
    assert "thoughts of models: 1" in client_of(alice).get(PAGE).text


def test_document_of_claude_is_a_block(alice):
    form = claude_form()
    artifact = {"command": "create", "title": "Table", "language": "python", "content": "print(9)"}
    form["chat_messages"][2]["content"].append({"type": "tool_use", "name": "artifacts", "input": artifact})

    assert imported_texts(alice, [form])[1] == "At nine.\n\n**Table**\n\n```python\nprint(9)\n```"


@pytest.mark.slow
def test_long_conversation_of_librechat_may_be_nested_deeply(alice):
    opened = [f'{{"messageId": "{n}", "isCreatedByUser": {asks}, "text": "x", "children": [' for n, asks in DEEP]
    messages = "".join(opened) + "]}" * len(opened)

    upload(client_of(alice), f'{{"conversationId": "1", "title": "Long", "messagesTree": [{messages}]}}'.encode())

    assert alice.conversations.get().turns.count() == len(DEEP) / 2


def test_several_files_are_one_import(alice):
    page = upload(client_of(alice), [chatgpt()], {}, zipped(**{"conversations.json": [chatgpt("Other")]}))

    assert "2 conversations were imported." in page.text
    assert "No export of ChatGPT" in page.text


def test_import_of_a_process_that_died_is_freed_when_the_server_starts(alice, bob):
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    host = leases.worker().split(":")[0]
    ConversationImport.objects.create(owner=alice, worker=f"{host}:{dead.pid}:0")
    ConversationImport.objects.create(owner=bob, worker=leases.worker())

    imports.end_abandoned()

    assert "The import was interrupted." in client_of(alice).get(PAGE).text
    assert "1 conversation was imported." in upload(client_of(alice), [chatgpt()]).text
    assert "Importing" in client_of(bob).get(PAGE).text


def test_full_disk_is_named(alice, monkeypatch):
    def is_full(*_args: object) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(eventlog, "add_ended_turns", is_full)

    assert "disk is full" in upload(client_of(alice), [chatgpt()]).text
    assert not alice.conversations.exists()


PLAIN = {"title": "T", "id": "p1", "mapping": {"a": node("user", "Grüße"), "b": node("assistant", "A", parent="a")}}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([PLAIN]).encode("utf-16"),
        json.dumps([PLAIN]).encode("utf-32"),
        json.dumps([PLAIN], ensure_ascii=False).encode("cp1252"),
        {"version": 4, "exported": "2026-01-01", "conversations": [PLAIN]},
        {"data": {"conversations": [PLAIN]}},
        zipped(**{"chat-export-1.json": [PLAIN], "__MACOSX/._chat-export-1.json": b"\0\5"}),
        zipped(**{"export\\Conversations (1).json": [PLAIN]}),
    ],
)
def test_file_that_another_program_saved_anew_is_read(alice, content):
    assert imported_texts(alice, content) == ["Grüße", "A"]


def test_bad_byte_or_control_character_refuses_no_conversation(alice):
    content = json.dumps([PLAIN], ensure_ascii=False).encode()

    assert imported_texts(alice, content.replace(b'"A"', b'"A\xff\tB"')) == ["Grüße", "A\ufffd\tB"]


@pytest.mark.parametrize(
    "code",
    [
        '```\nicon = "\ue200\ue201"  \n```',
        "~~~\nx = '【4†source】'\n~~~",
        "`:contentReference[oaicite:0]{index=0}` and ``\\ue202turn0search1``",
    ],
)
def test_code_that_looks_like_a_citation_stays(alice, code):
    assert imported_texts(alice, [talk_of(node("user", "Q"), node("assistant", f"{code} Nine【4†source】."))]) == [
        "Q",
        f"{code} Nine.",
    ]


def test_indent_of_a_question_and_blanks_of_a_document_stay(alice):
    document = json.dumps({"name": "T", "type": "code/python", "content": "\tx = 1  \n"})
    texts = imported_texts(
        alice,
        [
            talk_of(
                node("user", "\n    def f():\n        pass\n"),
                said("assistant", "code", document, recipient="canmore.create_textdoc"),
                said("assistant", "code", "f()"),
            )
        ],
    )

    assert texts == ["    def f():\n        pass", "**T**\n\n```python\n\tx = 1  \n```\n\n```\nf()\n```"]


TIMES = (  # of 2024-03-01 10:00, as programs write it
    1_709_287_200,
    1_709_287_200_000,
    1_709_287_200_500_000_000,
    "1709287200.0",
    "2024-03-01T10:00:00Z",
    "Fri, 01 Mar 2024 10:00:00 GMT",
    "Fri Mar 01 2024 10:00:00 GMT+0000 (Coordinated Universal Time)",
    "2024-03-01 10:00:00 UTC",
    "2024/03/01 10:00:00",
    {"$date": "2024-03-01T10:00:00.000Z"},
    {"$date": {"$numberLong": "1709287200500"}},
)


def test_time_is_read_however_it_is_written(alice):
    talks = []
    for number, at in enumerate(TIMES):
        talks.append(talk_of(node("user", "Q", at=at), node("assistant", "A"), id=f"message {number}"))
        talks.append(talk_of(node("user", "Q"), node("assistant", "A"), id=f"conversation {number}", create_time=at))

    upload(client_of(alice), talks)

    times = [f"{each.created_at:%Y-%m-%d %H:%M}" for each in alice.conversations.all()]
    assert times == ["2024-03-01 10:00"] * 2 * len(TIMES)


@pytest.mark.parametrize(
    "form",
    [
        {
            "uuid": "c1",
            "chat_messages": [
                {"sender": "human", "content": "Q", "attachments": [{"file_name": "", "extracted_content": "pasted"}]},
                {"sender": "assistant", "content": "A"},
            ],
        },
        {
            "conversationId": "l1",
            "messages": [
                {"messageId": "1", "isCreatedByUser": True, "text": "Q\n\n```\npasted\n```"},
                {"messageId": "2", "text": ":::thinking\nhm\n:::\n\nA", "content": [{"type": "think", "think": "hm"}]},
            ],
        },
        {
            "title": "T",
            "history": {
                "messages": {
                    "a": {"role": "user", "content": "Q\n\n```\npasted\n```", "parentId": None},
                    "b": {"role": "assistant", "content": "A", "parentId": "a"},
                }
            },
        },
        {
            "messages": [
                {"role": "user", "content": "Q\n\n```\npasted\n```"},
                {"role": "assistant", "content": "A"},
            ]
        },
    ],
)
def test_texts_are_found_wherever_a_product_has_them(alice, form):
    assert imported_texts(alice, [form]) == ["Q\n\n```\npasted\n```", "A"]
