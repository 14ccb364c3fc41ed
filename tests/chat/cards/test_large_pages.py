"""Pages of large cards: their bytes, what of a large answer is shown, and how many are drawn at once."""

import asyncio
import re

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient, Client

from chat.cards import page_slots, pagination, rendering
from chat.cards.page_slots import page_slot
from chat.eventlog.link_tokens import token_of
from chat.models import Conversation, StoredCard
from chat.sharing import links
from chat.sharing.export import Choice
from tests.chat.asking import signed_in
from tests.factories import client_of, make_conversation, make_turn

pytestmark = [pytest.mark.django_db, pytest.mark.spec("product 45")]
LINE = "[a](http://b.c/d 'e') <p><b>x</b> "
ANSWER_BYTES, PAGE_BYTES, FRAME_BYTES = 40_000, 100_000, 60_000
CARDS = 12
DENSE = {
    "markup": LINE * 2_000,
    "one word": "&" * 60_000,
    "quotation marks": "\"'" * 30_000,
    "code": "```python\n" + "x = a < b & c  # 'd'\n" * 3_000,
    "formulas": "$x^2 + \\frac{a}{b}$ " * 2_000,
    "table": "|a|b|\n|-|-|\n" + "|*x*|**y**|\n" * 6_000,
    "list": "- *x*\n" * 8_000,
    "emoji": "\U0001f600 " * 30_000,
    "paragraphs": "\u65e5\u672c *x* <&>\n\n" * 4_000,
}


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    monkeypatch.setattr(rendering, "MAX_ANSWER_BYTES", ANSWER_BYTES)
    monkeypatch.setattr(pagination, "MAX_PAGE_BYTES", PAGE_BYTES)


@pytest.fixture
def large(alice):
    """A conversation whose cards are of 30 kB and were never drawn, as after an import."""
    conversation = make_conversation(owner=alice)
    for number in range(1, CARDS + 1):
        make_turn(conversation, question=f"Question {number}?", answer="*One* and **two** are < 3.\n\n" * 400)
    StoredCard.objects.all().delete()
    return conversation


def make_link(conversation: Conversation) -> str:
    return f"/s/{token_of(links.create_link(conversation.owner, conversation, Choice(), days=7))}/"


def shown(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'class="question" dir="auto">Question (\d+)', html)]


def page_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    assert len(answer.content) < PAGE_BYTES + FRAME_BYTES
    return answer.content.decode()


def test_page_ends_early_and_its_links_lead_through_all_messages(alice, large):
    client, seen = client_of(alice), []
    url = large.get_absolute_url()
    first = page_of(client, url)

    while url:
        page = page_of(client, url)
        seen = shown(page)[: shown(page).index(seen[0]) if seen and seen[0] in shown(page) else None] + seen
        found = re.search(r'id="earlier"[^>]*>\s*<a class="btn" href="([^"#]+)', page)
        url = found[1] if found else ""

    assert 1 < len(shown(first)) < 5
    assert shown(first)[-1] == CARDS
    assert seen == [*range(1, CARDS + 1)]


def test_fragments_of_earlier_messages_are_bounded_too(alice, large):
    client, seen = client_of(alice), shown(page_of(client_of(alice), large.get_absolute_url()))

    while seen[0] > 1:
        part = page_of(client, f"{large.get_absolute_url()}messages/?before={seen[0]}")
        seen = shown(part) + seen

    assert seen == [*range(1, CARDS + 1)]


def test_same_page_comes_before_and_after_its_cards_are_stored(alice, large):
    client = client_of(alice)

    pages = [shown(page_of(client, large.get_absolute_url())) for _view in range(2)]

    assert pages[0] == pages[1]


@pytest.mark.parametrize("query", ["since=2", "open"])
def test_page_of_far_back_messages_begins_there_and_ends_early(alice, large, query):
    turn = large.turns.get(number=2)
    query = f"open={turn.public_id}" if query == "open" else query

    page = page_of(client_of(alice), f"{large.get_absolute_url()}?{query}")
    part = page_of(client_of(alice), f"{large.get_absolute_url()}messages/?{query}")

    assert shown(page)[0] == 2
    assert "To the newest messages" in page
    assert shown(part)[-1] == CARDS


def test_shared_page_ends_early_and_its_links_lead_both_ways(large):
    link = make_link(large)
    backwards, forwards = [], []
    query = ""
    while query is not None:
        page = page_of(Client(), link + query)
        backwards = shown(page) + backwards
        query = earlier[1] if (earlier := re.search(r'href="(\?before=\d+)"', page)) else None
    query = "?since=1"
    while query is not None:
        page = page_of(Client(), link + query)
        forwards += shown(page)
        query = later[1] if (later := re.search(r'href="(\?since=\d+)"', page)) else None

    assert backwards == forwards == [*range(1, CARDS + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSE)
def test_beginning_of_a_large_answer_is_shown_and_all_of_it_can_be_downloaded(alice, name):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, question="Question 1?", answer="The start.\n\n" + DENSE[name])
    link = make_link(conversation)

    for client, url in ((client_of(alice), conversation.get_absolute_url()), (Client(), link)):
        page = page_of(client, url)
        answer = page.partition("data-answer")[2].partition("data-shortened")[0]
        whole = re.search(r'data-shortened>.*?<a href="([^"]+)" download="answer-1.md"', page, re.DOTALL)

        assert "The start." in page
        assert ANSWER_BYTES / 10 < len(answer.encode()) < ANSWER_BYTES + 2_000
        assert client.get(whole[1]).content.decode().strip() == ("The start.\n\n" + DENSE[name]).strip()


def test_short_answer_is_shown_whole(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, answer="Short.")

    assert "data-shortened" not in page_of(client_of(alice), conversation.get_absolute_url())


def test_preview_of_a_link_leads_to_the_whole_answer(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, answer=DENSE["markup"])
    client = client_of(alice)

    page = page_of(client, f"{conversation.get_absolute_url()}share/preview/?thinking=1")
    whole = re.search(r'<a href="([^"]+)" download', page)[1].replace("&amp;", "&")

    assert client.get(whole).content.decode().strip() == DENSE["markup"].strip()


def test_whole_answer_of_another_turn_or_link_is_refused(alice, bob):
    own, other = make_conversation(owner=alice), make_conversation(owner=bob)
    make_turn(own)
    turn = make_turn(other)

    assert Client().get(f"{make_link(own)}{turn.pk}/answer/").status_code == 404
    assert Client().get(f"/s/unknown/{turn.pk}/answer/").status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_views_of_one_user_wait_and_then_get_503_while_others_are_served(alice, bob, monkeypatch):
    conversation, other = [await database_sync_to_async(make_conversation)(owner=user) for user in (alice, bob)]
    await database_sync_to_async(make_turn)(conversation)
    link = await database_sync_to_async(make_link)(conversation)
    mine, theirs = await signed_in(alice), await signed_in(bob)
    url = conversation.get_absolute_url()

    async def views(client: AsyncClient, url: str) -> int:
        return (await client.get(url)).status_code

    async with page_slot(f"user {alice.pk}"), page_slot(f"user {alice.pk}"):
        waiting = asyncio.create_task(views(mine, url))
        assert await views(theirs, other.get_absolute_url()) == 200
        assert await views(AsyncClient(), link) == 200
        assert not waiting.done()
    assert await waiting == 200

    monkeypatch.setattr(page_slots, "WAIT_S", 0.01)
    async with page_slot(f"user {alice.pk}"), page_slot(f"user {alice.pk}"):
        refused = await mine.get(url)
        export = await views(mine, f"{url}export/")
        preview = await views(mine, f"{url}share/preview/?thinking=1")
    assert (refused.status_code, refused["Retry-After"], export, preview) == (503, "5", 503, 503)
    assert "Too many pages at once" in refused.text
    assert await views(mine, url) == 200
