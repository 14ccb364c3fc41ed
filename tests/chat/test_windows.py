"""A long conversation is drawn from its end: fifty messages, earlier ones when they are asked for."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from lxml import html as markup

from accounts.models import User
from chat import log, windows
from chat.frames import PageFrames
from chat.models import Conversation
from chat.page import Page
from chat.watchers import Watcher
from reasoning.policy import Visibility
from tests.factories import make_conversation, make_turn

pytestmark = pytest.mark.django_db
TURNS = windows.TURNS + 5


@pytest.fixture
def long(alice: User) -> Conversation:
    conversation = make_conversation(owner=alice)
    for number in range(1, TURNS + 1):
        make_turn(conversation, question=f"Question {number}?")
    return conversation


def asked(html: str) -> list[str]:
    return [one.text_content().strip() for one in markup.fromstring(html).xpath("//p[@class='ask']")]


def get(client: Client, alice: User, path: str) -> Any:
    client.force_login(alice)
    return client.get(path).content.decode()


def questions(since: int, until: int = TURNS) -> list[str]:
    return [f"Question {number}?" for number in range(since, until + 1)]


def test_page_shows_the_newest_and_the_way_to_earlier_ones(client: Client, alice: User, long: Conversation) -> None:
    page = get(client, alice, f"/chats/{long.pk}/")

    assert asked(page) == questions(6)
    assert f'href="/chats/{long.pk}/?before=6#m-' in page
    assert f'hx-get="/chats/{long.pk}/messages/?before=6"' in page


def meter(html: str) -> markup.HtmlElement:
    return markup.fromstring(html).xpath("//*[@id='context']")[0]


@pytest.mark.spec("001 BR-004")
def test_long_history_is_counted_after_its_page(client: Client, alice: User, long: Conversation) -> None:
    left = meter(get(client, alice, f"/chats/{long.pk}/"))
    (url,) = left.xpath("@hx-get")
    counted = meter(get(client, alice, url))

    assert left.xpath("string(.//*[@data-context-usage])") == "…/32000"
    assert int(counted.xpath("string(.//*[@data-context-usage])").removesuffix("/32000")) > 0
    assert not counted.xpath("@hx-get")


def test_long_history_is_counted_with_its_page_where_no_script_could_ask(
    client: Client, alice: User, long: Conversation
) -> None:
    (link,) = meter(get(client, alice, f"/chats/{long.pk}/")).xpath(".//noscript/a/@href")
    counted = meter(get(client, alice, f"/chats/{long.pk}/{link}"))

    assert not counted.xpath("@hx-get | .//noscript")
    assert counted.text_content().strip().endswith("/32000")


def test_short_history_is_counted_with_its_page(client: Client, alice: User) -> None:
    conversation = make_conversation(owner=alice)
    make_turn(conversation)

    assert not meter(get(client, alice, f"/chats/{conversation.pk}/")).xpath("@hx-get")


def test_context_of_another_persons_conversation_is_not_found(client: Client, bob: User, long: Conversation) -> None:
    client.force_login(bob)

    assert client.get(f"/chats/{long.pk}/context/").status_code == 404


@pytest.mark.parametrize(
    ("query", "since"),
    [("before=6", 1), ("since=3", 3), ("since=20", 6), ("since=x", 6), ("before=-1", 6), ("open=x", 6)],
)
def test_page_goes_back_as_far_as_it_is_asked(
    client: Client, alice: User, long: Conversation, query: str, since: int
) -> None:
    assert asked(get(client, alice, f"/chats/{long.pk}/?{query}")) == questions(since)


def test_thinking_of_an_earlier_card_opens_with_its_card(client: Client, alice: User, long: Conversation) -> None:
    turn = long.turns.get(number=2)

    assert asked(get(client, alice, f"/chats/{long.pk}/?open={turn.public_id}")) == questions(2)


def test_part_holds_only_what_comes_before(client: Client, alice: User, long: Conversation) -> None:
    part = get(client, alice, f"/chats/{long.pk}/messages/?before=6")

    assert asked(part) == questions(1, 5)
    assert "Load earlier" not in part


def test_short_conversation_has_nothing_earlier(client: Client, alice: User) -> None:
    conversation = make_conversation(owner=alice)
    make_turn(conversation)

    assert "Load earlier" not in get(client, alice, f"/chats/{conversation.pk}/")


def test_frame_that_draws_all_again_draws_the_newest_and_the_way_back(long: Conversation) -> None:
    rows = log.turns(long.pk, since=windows.newest(long.pk).since)

    (frame,) = PageFrames(Visibility()).replace_all(rows)

    assert asked(frame) == questions(6)
    assert "?before=6" in frame


@pytest.mark.django_db(transaction=True)
def test_sync_of_a_page_that_knows_nothing_brings_no_more_than_the_newest(
    client: Client, alice: User, long: Conversation
) -> None:
    client.force_login(alice)
    session_key = client.session.session_key

    async def sync() -> list[str]:
        page = await Page.of(Watcher(long.pk), alice, session_key)
        assert page is not None
        return await page.take({"action": "sync", "last": "", "status": ""})

    frames = async_to_sync(sync)()

    assert [one for frame in frames if "<article" in frame for one in asked(frame)] == questions(6)
