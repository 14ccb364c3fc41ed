"""The list of conversations: what it contains, and its actions, with htmx and without."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from lxml import html as markup

from accounts.models import User
from chat.conversations import actions, sidebar
from chat.models import Conversation, Turn
from config import server as server_process
from tests.factories import make_conversation, make_turn

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def make(owner: User, title: str, *, days_ago: float = 0, **fields: object) -> Conversation:
    conversation = make_conversation(owner=owner)
    make_turn(conversation)
    at = timezone.now() - timedelta(days=days_ago)
    Conversation.objects.filter(pk=conversation.pk).update(title=title, updated_at=at, is_renamed=True, **fields)
    conversation.refresh_from_db()
    return conversation


def labels(listed: sidebar.Sidebar) -> list[str]:
    return [group.label for group in listed.groups]


def titles(listed: sidebar.Sidebar) -> list[str]:
    return [one.title for group in listed.groups for one in group.conversations]


def links(answer: object) -> list[str]:
    root = markup.fromstring(f"<div>{answer.content.decode()}</div>")
    return [link.text_content().strip() for link in root.xpath("//li/a[1]")]


def test_pinned_come_first_then_days(alice, bob):
    make(alice, "old", days_ago=400)
    make(alice, "week", days_ago=3)
    make(alice, "now")
    make(alice, "kept", days_ago=40, is_pinned=True)
    make(bob, "his")

    listed = sidebar.newest(alice)

    assert titles(listed) == ["kept", "now", "week", "old"]
    assert labels(listed)[:3] == ["Pinned", "Today", "Previous 7 days"]
    assert [group.is_today for group in listed.groups] == [False, True, False, False]


@pytest.mark.parametrize(
    ("days_ago", "label"), [(1, "Yesterday"), (2, "Previous 7 days"), (6, "Previous 7 days"), (7, "March 2026")]
)
def test_days_are_grouped(alice, monkeypatch, days_ago, label):
    noon = datetime(2026, 3, 20, 12, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: noon)
    make(alice, "one", days_ago=days_ago)

    assert labels(sidebar.newest(alice)) == ["Today", label]


def test_empty_deleted_and_temporary_ones_are_left_out(alice):
    make_conversation(owner=alice, title="nothing asked")
    make(alice, "temporary", expires_at=timezone.now() + timedelta(hours=1))
    actions.delete(make(alice, "deleted"))

    assert titles(sidebar.newest(alice)) == []


def test_older_ones_come_a_page_at_a_time_each_once(alice, signed_in):
    for number in range(sidebar.PAGE_SIZE + 3):
        make(alice, f"n{number}", days_ago=400 + number / 100_000)
    first = sidebar.newest(alice)

    answer = signed_in.get(first.older_url, headers=HTMX)

    assert titles(first) == [f"n{number}" for number in range(sidebar.PAGE_SIZE)]
    assert links(answer) == [f"n{sidebar.PAGE_SIZE + number}" for number in range(3)]
    assert b"<h2>" not in answer.content  # its month stands on the page already
    assert b"Older" not in answer.content


def test_nothing_follows_a_conversation_that_was_deleted_meanwhile(alice, signed_in):
    for number in range(sidebar.PAGE_SIZE + 3):
        make(alice, f"n{number}", days_ago=400 + number / 100_000)
    older_url = sidebar.newest(alice).older_url
    actions.delete(alice.conversations.get(title=f"n{sidebar.PAGE_SIZE - 1}"))

    assert links(signed_in.get(older_url, headers=HTMX)) == []


def test_search_finds_as_a_page_and_as_a_part(alice, signed_in):
    conversation = make(alice, "Ferry timetable")
    make(alice, "Turbines")

    part, page = signed_in.get("/chats/?q=ferry", headers=HTMX), signed_in.get("/chats/?q=ferry")

    assert links(part) == ["Ferry timetable"]
    assert "<mark>Ferry</mark>" in part.content.decode()
    assert f"/chats/{conversation.pk}/" in page.content.decode()
    assert "<!doctype html>" in page.content.decode()
    assert "1 conversation found" in part.content.decode()


def test_rename_shows_and_refuses(alice, signed_in):
    conversation = make(alice, "Before")
    url = f"/chats/{conversation.pk}/manage/"

    renamed = signed_in.post(url, {"do": "rename", "title": "<b>After</b>"}, headers=HTMX)
    refused = signed_in.post(url, {"do": "rename", "title": " "})

    assert links(renamed) == ["<b>After</b>"]
    assert refused.status_code == 400
    assert 'role="alert"' in refused.content.decode()
    assert Conversation.objects.get().title == "<b>After</b>"


def test_pin_and_unpin(alice, signed_in):
    conversation = make(alice, "Ferry")
    url = f"/chats/{conversation.pk}/manage/"

    assert "Pinned" in signed_in.post(url, {"do": "pin"}, headers=HTMX).content.decode()
    assert "Pinned" not in signed_in.post(url, {"do": "unpin"}, headers=HTMX).content.decode()


@pytest.mark.django_db(transaction=True)
def test_delete_offers_undo_and_everything_is_404_meanwhile(alice, signed_in):
    conversation = make(alice, "Ferry")
    url = f"/chats/{conversation.pk}/"

    deleted = signed_in.post(f"{url}manage/", {"do": "delete"}, headers=HTMX)
    meanwhile = [signed_in.get(url), signed_in.get(f"{url}manage/"), signed_in.get(f"/api{url}messages/")]
    restored = signed_in.post(f"{url}manage/", {"do": "restore"}, headers=HTMX)

    assert links(deleted) == []
    assert "Undo" in deleted.content.decode()
    assert [answer.status_code for answer in meanwhile] == [404] * 3
    assert links(restored) == ["Ferry"]
    assert signed_in.get(url).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_page_of_a_deleted_conversation_leads_home_with_undo(alice, signed_in):
    kept, conversation = make(alice, "Kept"), make(alice, "Ferry")
    url = f"/chats/{conversation.pk}/"

    shown = {**HTMX, "HX-Current-URL": f"http://testserver{url}"}
    assert signed_in.post(f"{url}manage/", {"do": "delete"}, headers=shown).status_code == 204  # its socket is closed
    home = signed_in.get(f"/?deleted={conversation.pk}", follow=True)

    assert home.redirect_chain[-1][0] == f"/chats/{kept.pk}/?deleted={conversation.pk}"
    assert "Deleted: Ferry" in home.content.decode()
    assert "Deleted: " not in signed_in.get(f"/?deleted={uuid.uuid4()}", follow=True).content.decode()
    assert "Deleted: " not in signed_in.get("/?deleted=x", follow=True).content.decode()


def test_temporary_conversation_is_marked_and_not_home(alice, signed_in):
    answer = signed_in.post("/chats/", {"temporary": "1"}, follow=True)

    assert "Temporary chat. " in answer.content.decode()
    assert Conversation.objects.get().is_temporary
    assert signed_in.get("/")["Location"] != answer.redirect_chain[-1][0]


@pytest.mark.django_db(transaction=True)
async def test_purging_stops_a_running_turn_first(alice):
    gone = await Conversation.objects.acreate(owner=alice, deleted_at=timezone.now() - timedelta(minutes=1))
    turn = await Turn.objects.acreate(conversation=gone, number=1)

    await server_process.purge_conversations()
    assert await Conversation.all_objects.acount() == 1

    await Turn.objects.filter(pk=turn.pk).aupdate(status=Turn.Status.ABORTED)
    await server_process.purge_conversations()
    assert await Conversation.all_objects.acount() == 0


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/chats/", "Select: New chat"),
        ("/chats/", "Manage New chat"),
        ("/chats/{pk}/system-prompt/", "sent with every message of “New chat”"),
    ],
)
def test_conversation_without_a_title_is_named_everywhere(alice, signed_in, path, text):
    conversation = make(alice, "")

    page = signed_in.get(path.format(pk=conversation.pk)).text

    assert text in " ".join(markup.fromstring(page).xpath("string(//main)").split())
    assert "Conversation menu: New chat" in page


def test_undo_names_a_conversation_without_a_title(alice, signed_in):
    conversation = make(alice, "")

    listed = signed_in.post(f"/chats/{conversation.pk}/manage/", {"do": "archive"}, headers=HTMX).text

    assert "Archived: New chat" in listed
