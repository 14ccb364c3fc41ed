"""The page of a user's data: export of everything, deletion of all conversations and of the account."""

import asyncio
import io
import json
from datetime import timedelta
from zipfile import is_zipfile

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from accounts.access.tokens import authenticate, create_token
from accounts.models import AccessToken, AuditEntry, User
from accounts.preferences import save_profile
from chat.models import Conversation, Event, Project, Turn
from reasoning.events import AssistantMessage
from tests.chat.asking import send, signed_in
from tests.chat.attached import REPORT, attach
from tests.chat.shared_talk import SECRET, make_talk, unzipped
from tests.chat.sockets import frames_until, socket_of
from tests.factories import PASSWORD, client_of, end_turn, make_answer, make_conversation, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
PAGE, EXPORT = "/data/", "/data/export/"
DELETE_ALL, DELETE_ACCOUNT = "/data/delete-conversations/", "/data/delete-account/"


def test_export_holds_all_that_the_user_sees_and_nothing_else(alice, bob):
    talk = make_talk(alice)
    Conversation.objects.filter(pk=talk.pk).update(system_prompt="Answer in metres.")
    debt = Project.objects.create(owner=alice, name="Debt")
    debt.conversations.add(talk)
    debt.conversations.create(owner=alice, title="Passing", expires_at=timezone.now() + timedelta(hours=1))
    other = make_conversation(owner=alice, title="../../etc")
    file = attach(other, "Größe & Maß.txt")
    end_turn(open_turn(other.pk, text="Why?", attached=[file.pk]), [AssistantMessage(text="So.")])
    attach(other, "not sent.txt")
    make_answer(make_conversation(owner=bob, title="Bobs"))
    make_conversation(owner=alice, title="empty")
    save_profile(alice, "quiet", {"reasoning.effort": "low"})

    answer = client_of(alice).get(EXPORT)
    files = unzipped(answer)

    assert (answer["Content-Type"], "no-store" in answer["Cache-Control"]) == ("application/zip", True)
    stem = f"conversations/{talk.created_at:%Y-%m-%d}-debt-covenants-{talk.pk.hex[:8]}"
    assert len(files) == 6
    assert files[f"attachments/{other.pk.hex[:8]}/{file.pk.hex[:8]}-Größe__Maß.txt"] == REPORT
    assert {"account.json", f"{stem}.md", f"{stem}.json"} <= files.keys()
    assert not [name for name in files if ".." in name]
    account = json.loads(files["account.json"])
    assert account["profiles"] == {"quiet": {"reasoning.effort": "low"}}
    assert account["projects"] == [{"name": "Debt", "systemPrompt": "", "conversations": ["Debt covenants"]}]
    assert account["systemPrompts"] == [{"conversation": "Debt covenants", "systemPrompt": "Answer in metres."}]
    envelope = json.loads(files[f"{stem}.json"])["messages"][1]
    assert envelope["toolTrace"]
    assert envelope["thinking"]["truncated"]
    assert "thought-canary" in files[f"{stem}.md"]
    everything = "".join(files.values())
    assert not [
        text
        for text in ("raw-arguments-canary", "tail-of-the-thought", SECRET, "Bobs", "Passing")
        if text in everything
    ]


def test_exports_are_limited(alice):
    client = client_of(alice)

    codes = [client.get(EXPORT).status_code for _ in range(7)]

    assert codes == [200] * 6 + [429]


async def test_export_is_cut_off_where_its_user_signs_out(alice):
    await database_sync_to_async(make_talk)(alice)
    client = await signed_in(alice)

    parts = aiter((await client.get(EXPORT)).streaming_content)
    received = await anext(parts)
    await client.post("/accounts/logout/")
    received += b"".join([part async for part in parts])

    assert received.startswith(b"PK")
    assert not is_zipfile(io.BytesIO(received))


def test_all_conversations_of_the_user_are_deleted(alice, bob):
    for owner in (alice, alice, bob):
        make_answer(make_conversation(owner=owner))
    make_conversation(owner=alice)  # empty, as after "New chat"
    client = client_of(alice)
    assert "Yes, delete my 2 conversations" in client.get(PAGE).text
    assert client.post(DELETE_ALL).status_code == 400

    answer = client.post(DELETE_ALL, {"confirm": "on"}, follow=True)

    assert "2 conversations were deleted." in answer.text
    assert not alice.conversations.exists()
    assert bob.conversations.exists()


def test_account_is_deleted_with_everything_and_signed_out_everywhere(alice, bob):
    conversation = make_conversation(owner=alice)
    make_answer(conversation)
    _row, token = create_token(alice)
    here, elsewhere = client_of(alice), client_of(alice)
    make_answer(make_conversation(owner=bob))
    assert here.post(DELETE_ACCOUNT, {"password": "wrong"}).status_code == 400

    answer = here.post(DELETE_ACCOUNT, {"password": PASSWORD}, follow=True)

    assert "Your account and all its data were deleted." in answer.text
    assert elsewhere.get(PAGE)["Location"].startswith("/accounts/login/")
    assert authenticate(f"Bearer {token}") is None
    assert list(User.objects.all()) == [bob]
    assert list(Conversation.all_objects.values_list("owner", flat=True)) == [bob.pk]
    assert {turn.conversation.owner for turn in Turn.objects.all()} == {bob}
    assert not Event.objects.exclude(turn__conversation__owner=bob).exists()
    assert not AccessToken.objects.exists()
    assert AuditEntry.objects.get().username == "alice"


def test_wrong_passwords_are_limited_and_staff_stay(alice, sam):
    client = client_of(alice)
    codes = [client.post(DELETE_ACCOUNT, {"password": "wrong"}).status_code for _ in range(11)]

    assert codes == [400] * 10 + [429]
    assert client.post(DELETE_ACCOUNT, {"password": PASSWORD}).status_code == 429
    assert client_of(sam).post(DELETE_ACCOUNT, {"password": PASSWORD}).status_code == 403
    assert User.objects.count() == 2


async def test_running_turn_is_stopped_before_its_account_is_deleted(upstream, alice, conversation):
    upstream.script([{"content": "one two three", "faults": [{"kind": "stall", "at": "event:2", "name": "never"}]}])
    client = await signed_in(alice)

    async with socket_of(conversation, alice) as socket:
        await send(conversation, "Why?")
        await frames_until(socket, '"running":true')
        await client.post(DELETE_ACCOUNT, {"password": PASSWORD})
        async with asyncio.timeout(30):
            while (output := await socket.receive_output(timeout=30))["type"] != "websocket.close":
                pass

    assert output["code"] == 4401
    assert not await User.objects.aexists()
    assert not await Turn.objects.aexists()
