"""The JSON API of one conversation: read, rename, pin, delete; errors in the usual form, nothing changed by them."""

from typing import Any

import pytest
from django.test import Client

from chat.conversations import actions
from chat.models import Conversation
from tests.factories import make_conversation

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(alice):
    return make_conversation(owner=alice, title="Ferry")


def patch(client: Client, conversation: Conversation, form: object) -> Any:
    return client.patch(f"/api/chats/{conversation.pk}/", form, content_type="application/json")


def test_list_says_what_each_is_called_and_whether_it_is_pinned(signed_in, conversation):
    actions.start(conversation.owner, temporary=True)

    (listed,) = signed_in.get("/api/chats/").json()

    assert listed == signed_in.get(f"/api/chats/{conversation.pk}/").json()
    assert listed.keys() == {"id", "title", "pinned", "allowedTools", "collections", "updatedAt"}
    assert (listed["title"], listed["pinned"]) == ("Ferry", False)


def test_patch_renames_and_pins(signed_in, conversation):
    answer = patch(signed_in, conversation, {"title": "Harbour", "pinned": True})

    assert answer.status_code == 200
    assert (answer.json()["title"], answer.json()["pinned"]) == ("Harbour", True)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.is_pinned, conversation.is_renamed) == ("Harbour", True, True)


@pytest.mark.parametrize(
    ("form", "code", "field"),
    [
        ({"pinned": True, "title": ""}, "invalid_title", "title"),
        ({"title": "\u200b\u2060 \u200b"}, "invalid_title", "title"),
        ({"title": "x" * 121}, "invalid_title", "title"),
        ({"title": None}, "invalid_title", "title"),
        ({"title": "\u200b\u202e"}, "invalid_title", "title"),  # nobody would see it
        ({"title": "a\x00"}, "invalid", "title"),
        ({"title": "\ud800"}, "invalid", "title"),
        ({"title": "Harbour", "pinned": "yes"}, "invalid_pinned", "pinned"),
        ({"title": "Harbour", "allowedTools": ["readPassage"]}, "invalid_allowed_tools", "allowedTools"),
        ({"title": "Harbour", "owner": 7}, "unknown_field", "owner"),
        ([], "invalid_json", None),
    ],
)
def test_refused_change_changes_nothing(signed_in, conversation, form, code, field):
    answer = patch(signed_in, conversation, form)

    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"].get("field")) == (code, field)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.is_pinned) == ("Ferry", False)


@pytest.mark.django_db(transaction=True)
async def test_deleted_conversation_is_404_at_every_address(async_client, alice, conversation):
    await async_client.aforce_login(alice)
    url = f"/api/chats/{conversation.pk}/"

    assert (await async_client.delete(url)).status_code == 204
    statuses = [(await async_client.get(url + rest)).status_code for rest in ("", "messages/", "settings/")]
    assert statuses == [404] * 3
    assert (await async_client.delete(url)).json()["error"]["code"] == "not_found"
    assert (await async_client.get("/api/chats/")).json() == []
