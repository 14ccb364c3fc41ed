"""System prompts of site, model and conversation, and a user's library of prompts."""

import json

import pytest

from chat.models import Prompt, SiteSettings
from tests.chat.asking import ask, owner_of, send, signed_in
from tests.chat.sockets import frames_until, socket_of
from tests.factories import client_of

pytestmark = pytest.mark.django_db(transaction=True)


async def test_system_prompts_are_sent_in_order(upstream, conversation, ada):
    upstream.script([{"content": "Aye."}])
    await SiteSettings.objects.acreate(system_prompt="Say nothing of prices.")
    client = await owner_of(conversation)
    address = f"/chats/{conversation.pk}/system-prompt/"

    too_long = await client.post(address, {"system_prompt": "x" * 8001})
    saved = await client.post(address, {"system_prompt": "Answer like a pirate."})
    page = await client.get(address)
    await ask(conversation)

    assert (too_long.status_code, saved.status_code) == (400, 303)
    assert "Answer like a pirate." in page.content.decode()
    [request] = upstream.requests()
    system = request["body"]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].index("Say nothing of prices.") < system["content"].index("Answer like a pirate.")
    assert (await (await signed_in(ada)).post(address, {"system_prompt": "No."})).status_code == 404


async def test_prompt_of_the_library_is_put_into_the_composer(conversation, alice):
    await Prompt.objects.acreate(owner=alice, name="review", text="Review this:\nline by line")

    without_script = await send(conversation, "/prompt review")
    async with socket_of(conversation, alice) as socket:
        await frames_until(socket, "running")
        await socket.send_to(json.dumps({"text": "/prompt review", "id": "a"}))
        frame = (await frames_until(socket, '"type":"draft"'))[-1]
        await socket.send_to(json.dumps({"text": "/prompt revue", "id": "b"}))
        refused = (await frames_until(socket, "revue"))[-1]

    assert "Review this:\nline by line</textarea>" in without_script.content.decode()
    assert json.loads(frame) == {"type": "draft", "text": "Review this:\nline by line"}
    assert "There is no prompt revue. Saved prompts: review." in refused
    assert not await conversation.turns.aexists()


def test_prompts_are_saved_edited_and_deleted_by_their_owner(alice, bob):
    client, stranger = client_of(alice), client_of(bob)
    for text in ("Review <this>", "Review that"):
        assert client.post("/prompts/", {"name": "review", "text": text}).status_code == 302
    prompt = Prompt.objects.get()

    assert (prompt.owner, prompt.text) == (alice, "Review that")
    assert client.post("/prompts/", {"name": "two words", "text": "x"}).status_code == 400
    assert "Review that" in client.get(f"/prompts/?edit={prompt.pk}").content.decode()
    assert "Review that" not in stranger.get(f"/prompts/?edit={prompt.pk}").content.decode()
    assert stranger.post("/prompts/", {"delete": prompt.pk}).status_code == 404
    assert client.get(f"/prompts/?edit={'9' * 5_000}").status_code == 200
    assert client.post("/prompts/", {"delete": "9" * 5_000}).status_code == 404
    assert client.post("/prompts/", {"delete": prompt.pk}).status_code == 302
    assert not Prompt.objects.exists()
