"""Canaries in every private channel of one real turn, and every door by which it leaves: none comes out.

A door that is added to ``tests.exits`` and not here fails the first test. The browser's own doors (clipboard,
storage, the printed page) are in ``tests/browser/test_canaries.py``.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient, Client

from accounts.access.tokens import create_token
from accounts.models import User
from chat.eventlog.link_tokens import token_of
from chat.models import Conversation, Project, Turn
from chat.sharing import links
from chat.sharing.export import Choice
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.chat.mcp_server.peers import NEW, OLD, peer_of
from tests.chat.shared_talk import unzipped
from tests.chat.sockets import frames_until, socket_of
from tests.exits import SHOWN_BY
from tests.factories import client_of, make_user
from tests.frame_words import heard

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 15")]

THINKING = "canary-of-the-thinking-tail"
SCRATCHPAD = "canary-of-the-scratchpad"
ARGUMENT = "sk-proj-Ca4naryOfTheArguments7Wq2Zx9Lm3Rt8"
RESULT = "canary-Pass-w0rd-in-the-query"  # the tool says back what it was asked for
NOTE = "canary-in-a-query"  # which the tool says back, too
CANARIES = (THINKING, SCRATCHPAD, ARGUMENT, RESULT, NOTE)
SAID = "The covenants are in Item 7."
EVERYTHING = "summary=1&trace=1&thinking=1"
ANSWER = f"{opening()}{SAID}\n\n<scratchpad>\n{SCRATCHPAD}\n</scratchpad>\n"
SCRIPT = [
    reply(
        thinks("Weighing one clause. " * 60 + THINKING),
        calls("searchFilings", json.dumps({"query": "covenants", "api_key": ARGUMENT})),
    ),
    reply(
        calls(
            "searchFilings",
            json.dumps({"query": f"<scratchpad>{NOTE}</scratchpad> debt password={RESULT}"}),
            id_="call_2",
        )
    ),
    reply(says(ANSWER)),
]


def found(sent: str) -> list[str]:
    return [canary for canary in CANARIES if canary in sent]


async def asked(conversation: Conversation, token: str) -> tuple[str, str]:
    """Have the turn run by the API as events, watched by a page; return the bytes that both were sent."""
    async with socket_of(conversation, conversation.owner) as socket:
        answer = await _events(conversation, token)
        frames = await frames_until(socket, "Answer ready")
        for form in ({"action": "refresh"}, {"action": "sync", "last": "", "status": ""}):
            await socket.send_json_to(form)
            frames += await frames_until(socket, '"running":false')
    return answer, heard(frames)


async def _events(conversation: Conversation, token: str) -> str:
    path = f"/api/chats/{conversation.pk}/messages/"
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    body = json.dumps({"text": "What do they say?"})
    answer = await AsyncClient().post(path, body, content_type="application/json", headers=headers)
    return b"".join([piece async for piece in answer]).decode()


def doors(turn: Turn, token: str) -> Mapping[str, tuple[str, ...]]:
    """Return the addresses of every door, each in all its forms."""
    chat = f"/chats/{turn.conversation_id}/"
    own = f"{chat}turns/{turn.pk}/"
    return {
        "chat:conversation": (chat, f"{chat}?open={turn.public_id}"),
        "chat:messages": (f"{chat}messages/",),
        "chat:thinking": (f"{own}thinking/",),
        "chat:trace": (f"{own}trace/",),
        "chat:copy": (f"{own}copy/",),
        "chat:export": tuple(f"{chat}export/?format={kind}&{EVERYTHING}" for kind in ("md", "json")),
        "chat:export_all": ("/data/export/",),
        "chat:share": (f"{chat}share/",),
        "chat:share_preview": (f"{chat}share/preview/?{EVERYTHING}&open={turn.public_id}",),
        "chat:shared": (f"/s/{token}/", f"/s/{token}/?open={turn.public_id}"),
        "chat:shared_thinking": (f"/s/{token}/{turn.pk}/thinking/",),
        "chat:shared_answer": (f"/s/{token}/{turn.pk}/answer/",),
        "chat:edit": (f"{own}edit/",),
        "chat:conversations": ("/chats/?q=covenants", *(f"/chats/?q={canary}" for canary in CANARIES)),
        "chat:projects": ("/projects/",),
        "chat:project": (f"/projects/{turn.conversation.project_id}/",),
        "chat:home": ("/",),
        "chat:api_messages": (f"/api{chat}messages/", f"/api{chat}messages/?include=trace"),
        "chat:api_message": (f"/api{chat}messages/{turn.public_id}/",),
        "chat:next_request": (f"{chat}next-request/",),
        "chat:preview": (f"{chat}preview/",),  # 404 for whoever is no administrator
    }


def admin_pages(turn: Turn) -> tuple[str, ...]:
    return (
        f"/admin/chat/conversation/{turn.conversation_id}/change/",
        f"/admin/chat/turn/{turn.pk}/change/",
        "/admin/chat/turn/",
        "/admin/chat/conversation/?q=covenants",
        *(f"/admin/chat/event/{pk}/change/" for pk in turn.events.values_list("pk", flat=True)),
    )


def read(client: Client, address: str) -> str:
    """Return what an address sends, without the address itself where a search shows it again."""
    answer = client.get(address, follow=True)
    sent = "\n".join(unzipped(answer).values()) if answer.streaming else answer.content.decode()
    return sent.replace(address.partition("?q=")[2], "") if "?q=" in address else sent


def test_every_door_is_tried():
    read_again = doors(Turn(conversation=Conversation()), "token").keys()

    assert read_again | {"chat:mcp"} == SHOWN_BY.keys()


@pytest.fixture
def site(upstream, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    upstream.script(SCRIPT)
    return upstream


async def test_no_door_lets_a_canary_out(site, conversation, alice, caplog):
    conversation.project = await Project.objects.acreate(owner=alice, name="Covenants")
    await conversation.asave()
    _kept, token = await database_sync_to_async(create_token)(alice, "script")
    events, frames = await asked(conversation, token)
    turn = await Turn.objects.select_related("conversation").aget()

    sent = await database_sync_to_async(_everything)(turn, alice)

    assert SAID in events
    assert SAID in frames
    assert found(events) == found(frames) == []
    assert {name: hits for name, text in sent.items() if (hits := found(text))} == {}
    assert [name for name in ("chat:export", "chat:shared", "chat:api_messages") if SAID not in sent[name]] == []
    assert "Weighing one clause." in sent["chat:shared_thinking"]
    assert "Covenants" in sent["chat:project"]
    assert found(caplog.text) == []


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_answer_over_mcp_has_no_canary(site, conversation, alice, revision):
    heard_steps: list[Any] = []

    async def hear(*progress: Any) -> None:
        heard_steps.append(progress)

    async with peer_of(alice, revision) as peer:
        arguments = {"question": "What do they say?", "conversation": str(conversation.pk)}
        answer = await peer.call_tool("ask", arguments, progress_callback=hear)

    sent = answer.model_dump_json()
    assert SAID in sent
    assert found(sent + str(heard_steps)) == []
    assert "Weighing one clause." not in sent


async def test_next_request_contains_the_raw_call_and_nothing_else_private(site, conversation, alice):
    _kept, token = await database_sync_to_async(create_token)(alice, "script")
    await asked(conversation, token)

    site.script([reply(says("After."))])
    await _events(conversation, token)

    body = json.dumps(site.requests()[-1]["body"])
    assert ARGUMENT in body
    assert NOTE in body
    assert SCRATCHPAD not in body
    assert THINKING not in body


def _everything(turn: Turn, owner: User) -> dict[str, str]:
    link = links.create_link(owner, turn.conversation, Choice(True, True, True), days=7)
    client = client_of(owner)
    sent = {
        name: "\n".join(read(client, address) for address in addresses)
        for name, addresses in doors(turn, token_of(link)).items()
    }
    staff = client_of(make_user("root", is_staff=True, is_superuser=True))
    sent["admin"] = "\n".join(_admin_page(staff, address) for address in admin_pages(turn))
    sent["title"] = Conversation.objects.get(pk=turn.conversation_id).title
    return sent


def _admin_page(client: Client, address: str) -> str:
    answer: Any = client.get(address)
    assert answer.status_code == 200, address
    return str(answer.content.decode())
