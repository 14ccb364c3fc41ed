"""Import of an export of ChatGPT, or of this product."""

import io
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chat.management.commands import preview_request
from chat.models import Conversation, ConversationImport, Event, Turn
from chat.sharing import imports
from chat.turns.manager import turn_manager
from tests.chat.shared_talk import make_talk, unzipped
from tests.factories import SECRET, client_of, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/data/import/"


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
        "q2": node("user", {"asset_pointer": "file-1"}, parent="a2"),
    }
    return {"title": title, "id": "1f-" + title, "mapping": mapping, "current_node": "q2", **changes}


def upload(client: Client, content: object, *, name: str = "conversations.json") -> Any:
    """Send a file; return the refusal, or the page when its import has ended."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = client.post(PAGE, {"file": SimpleUploadedFile(name, data)})
    return imported(client) if answer.status_code == 303 else answer


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
    first, second = conversation.turns.order_by("number")
    assert (first.status, first.model, second.status) == ("completed", "gpt-4o", "aborted")
    texts = [event.public["text"] for event in Event.objects.order_by("seq") if "text" in event.public]
    assert texts[0] == "When does the <b>ferry</b> leave?"
    assert texts[1].startswith("At **nine**. ")
    assert texts[1].endswith("\n\nOr at ten.")
    assert SECRET not in texts[1]
    assert texts[2:] == ["[No text]"]
    page = client.get(conversation.get_absolute_url()).text
    assert "<strong>nine</strong>" in page
    assert "&lt;b&gt;ferry" in page
    call_command("audit_storage")


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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no export"),
        (b"hello", "no export"),
        (b'{"mapping": {"a"', "Not a ChatGPT or Legible export"),
        (b'["' + b'\\"' * 100_000, "no export"),
        (b"[" * 100_000, "Not a ChatGPT or Legible export"),
        ([{"mapping": {"a": []}}, {}], "Not a ChatGPT or Legible export"),
        ([{}, {"mapping": {"a": {"parent": "a"}}}], "No text"),
        (b"PK\x03\x04 and so on", "damaged"),
        (zipped(**{"user.json": {}}), "no conversations.json"),
        (zipped(**{"conversations.json": [chatgpt()]})[:-60], "damaged"),
        (zipped(**{"conversations.json": [chatgpt()]})[:-6] + b"\xff\xff\0\0\0\0", "damaged"),  # an offset
        (zipped(**{"conversations.json": b" " * (imports.MAX_FILE_BYTES + 1)}), "Unpacked"),
        (zipped(**{f"{n}.txt": b"" for n in range(imports.MAX_FILES + 1)}), "too many files"),
    ],
)
def test_what_is_no_export_is_refused(alice, content, words):
    answer = upload(client_of(alice), content)

    assert words in answer.text
    assert not alice.conversations.exists()


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
    client, read = client_of(alice), imports.conversations_in

    def read_and_delete(*args: Any) -> Iterator[bytes]:
        for raw in read(*args):
            yield raw
            client.post("/data/delete-conversations/", {"confirm": "on"})

    monkeypatch.setattr(imports, "conversations_in", read_and_delete)
    page = upload(client, [chatgpt(), chatgpt("Other")])

    assert not alice.conversations.exists()
    assert "imported." not in page.text.replace("not imported.", "")


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
    assert Turn.objects.count() == 3
