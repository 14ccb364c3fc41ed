"""The page of a conversation over plain HTTP: its owner, its cards, earlier messages, and no JavaScript."""

import gzip
import re
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from lxml import html as markup

from accounts.models import User
from chat import eventlog
from chat.cards import pagination
from chat.models import Event, Turn
from reasoning.events import AssistantMessage, ToolCall, ToolResult
from tests.chat.asking import opened_page
from tests.factories import THINKING_CANARY, client_of, end_turn, make_answer, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db
TURNS = pagination.TURNS + 5


def test_home_opens_the_newest_conversation_or_an_empty_one(alice):
    client = client_of(alice)

    first = client.get("/")
    again = client.get("/")

    assert first["Location"] == again["Location"] == alice.conversations.get().get_absolute_url()


def test_card_shows_answer_summary_trace_and_closed_thinking(alice):
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)

    html = client_of(alice).get(conversation.get_absolute_url()).content.decode()

    assert f'id="m-{turn.public_id}"' in html
    assert f'data-message-id="{turn.public_id}-q"' in html
    assert "<strong>so</strong>" in html
    assert "Looked." in html
    assert "data-tool-trace" in html
    assert "Thought for 12 s" in html
    assert re.search(r'data-ai-reasoning\s+data-collapsed="true"\s+data-token-est="5"', html)
    assert THINKING_CANARY not in html
    assert "raw-result-canary" not in html


def test_error_names_settings_to_staff_and_the_administrator_to_others(alice):
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="Why?")
    params = {"host": "host-canary:8080", "profile": "kimi"}
    eventlog.close_turn(turn, [], status="errored", error_code="authentication", error_params=params)
    shown = []

    for is_staff in (True, False):
        User.objects.filter(pk=alice.pk).update(is_staff=is_staff)
        shown.append(client_of(alice).get(conversation.get_absolute_url()).content.decode())

    assert "Check the key variable of the model profile “kimi”." in shown[0]
    assert "The model can’t be used at the moment. Contact your administrator." in shown[1]
    assert "the model profile" not in shown[1]


def test_thinking_opens_without_javascript(alice):
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)

    html = client_of(alice).get(conversation.get_absolute_url(), {"open": turn.public_id}).content.decode()

    assert THINKING_CANARY in html
    assert 'data-collapsed="false"' in html


@pytest.mark.spec("004 flags")
def test_show_reasoning_off_removes_it_from_the_response_itself(alice):
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    client = client_of(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "false"})

    html = client.get(conversation.get_absolute_url()).content.decode()

    for hidden in ("Looked.", "data-tool-trace", "Thought for", "data-ai-reasoning"):
        assert hidden not in html
    assert "<strong>so</strong>" in html
    assert client.get(f"{conversation.get_absolute_url()}turns/{turn.pk}/trace/").status_code == 404


def test_copy_gives_the_answer_and_trace_gives_redacted_json(alice):
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    client = client_of(alice)
    base = f"{conversation.get_absolute_url()}turns/{turn.pk}/"

    assert client.get(f"{base}copy/").content.decode() == "Because **so**."
    assert client.get(f"{base}trace/").json()[0]["args"] == {"query": "turbines"}


def test_refused_message_is_shown_with_its_text(alice, settings):
    settings.MESSAGE_MAX_CHARS = 5  # type: ignore[attr-defined]
    conversation = make_conversation(owner=alice)

    answer = client_of(alice).post(f"{conversation.get_absolute_url()}messages/", {"text": "far too long"})

    html = answer.content.decode()
    assert answer.status_code == 400
    assert "at most 5 are allowed" in html
    assert "far too long" in html


@pytest.mark.django_db(transaction=True)
def test_page_of_a_running_answer_loads_again_unless_it_has_a_text_to_lose(client, alice, settings):
    settings.MESSAGE_MAX_CHARS = 10
    turn = open_turn(make_conversation(owner=alice).pk, text="Why?")
    address = turn.conversation.get_absolute_url()

    plain, still = get(client, alice, address), get(client, alice, f"{address}?still=1")
    refused = client.post(f"{address}messages/", {"text": "far too long"}).text

    assert [page.count('http-equiv="refresh"') for page in (plain, still, refused)] == [1, 0, 0]
    assert ">far too long</textarea>" in refused


def test_policy_allows_nothing_inline_and_nothing_foreign(alice):
    conversation = make_conversation(owner=alice)
    make_answer(conversation)

    answer = client_of(alice).get(conversation.get_absolute_url())

    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", answer.content.decode())
    assert not re.search(r"(src|href)=\"(https?:)?//", answer.content.decode())


@pytest.fixture
def long(alice):
    conversation = make_conversation(owner=alice)
    for number in range(1, TURNS + 1):
        make_turn(conversation, question=f"Question {number}?")
    return conversation


def asked(html: str) -> list[str]:
    return [
        one.text_content().strip()
        for one in markup.fromstring(html).xpath("//p[@class='question'][not(ancestor::template)]")
    ]


def get(client: Client, alice: User, path: str) -> Any:
    client.force_login(alice)
    return client.get(path).content.decode()


def questions(since: int, until: int = TURNS) -> list[str]:
    return [f"Question {number}?" for number in range(since, until + 1)]


def test_page_is_compressed_for_a_browser(alice, long):
    path = long.get_absolute_url()

    plain, packed = (client_of(alice).get(path, headers=headers) for headers in ({}, {"Accept-Encoding": "gzip, br"}))

    assert (plain.headers.get("Content-Encoding"), packed["Content-Encoding"]) == (None, "gzip")
    assert "Accept-Encoding" in packed["Vary"]
    assert asked(gzip.decompress(packed.content).decode()) == asked(plain.text)
    assert len(packed.content) * 5 < len(plain.content)


def test_page_shows_the_newest_and_the_way_to_earlier_ones(client, alice, long):
    page = get(client, alice, f"/chats/{long.pk}/")

    assert asked(page) == questions(6)
    assert f'href="/chats/{long.pk}/?before=6#m-' in page
    assert f'hx-get="/chats/{long.pk}/messages/?before=6"' in page


def test_page_shows_as_many_turns_as_the_query_asks_for(client, alice, long):
    queries = {"before=6": 1, "since=3": 3, "since=20": 6, "since=x": 6, "before=-1": 6, "open=x": 6}

    shown = {query: asked(get(client, alice, f"/chats/{long.pk}/?{query}")) for query in queries}

    assert shown == {query: questions(since) for query, since in queries.items()}


def test_thinking_of_an_earlier_card_opens_with_its_card(client, alice, long):
    turn = long.turns.get(number=2)

    assert asked(get(client, alice, f"/chats/{long.pk}/?open={turn.public_id}")) == questions(2)


def test_page_of_far_back_messages_ends_before_the_newest(client, alice, long, monkeypatch):
    monkeypatch.setattr(pagination, "MAX_TURNS", 27)

    page, part = (get(client, alice, f"/chats/{long.pk}/{path}?since=2") for path in ("", "messages/"))

    assert asked(page) == questions(2, 28)
    assert f'href="/chats/{long.pk}/">To the newest messages' in page
    assert asked(part) == questions(4)
    assert "To the newest messages" not in get(client, alice, f"/chats/{long.pk}/?since=4")


@pytest.mark.slow
def test_page_of_five_thousand_large_turns_is_bounded(client, alice, django_assert_max_num_queries):
    conversation = make_conversation(owner=alice)
    turns = [
        Turn(conversation=conversation, number=number, client_id=str(number), status=Turn.Status.COMPLETED)
        for number in range(1, 5_000)
    ]
    for earlier, later in pairwise(turns):
        later.parent = earlier
    Turn.objects.bulk_create(turns)
    answered = {"text": "Because.", "summary": [], "citations": [], "partial": False}
    rows = [
        (turn, kind, public)
        for turn in turns
        for kind, public in (("user_message", {"text": f"Question {turn.number}?"}), ("assistant_message", answered))
    ]
    Event.objects.bulk_create(
        Event(conversation=conversation, turn=turn, seq=seq, type=kind, public=public)
        for seq, (turn, kind, public) in enumerate(rows, start=1)
    )
    turn = open_turn(conversation.pk, text="Question 5000?")
    step = {"tool": "searchFilings", "args": {"query": "x" * 250}, "durationMs": 1, "results": 1, "status": "ok"}
    calls = [ToolCall(call_id=f"c{n}", name="searchFilings", arguments="{}", step=0) for n in range(250)]
    results = [ToolResult(call_id=f"c{n}", output="x", ok=True, step=0) for n in range(250)]
    eventlog.append(turn, [*calls, *results], {call.call_id: step for call in calls})
    end_turn(turn, [AssistantMessage(text="A *word* and [1] more.\n\n" * 40_000, step=1)])
    path = f"/chats/{conversation.pk}/"
    get(client, alice, path)

    with django_assert_max_num_queries(31):
        page = get(client, alice, path)
    with django_assert_max_num_queries(31):
        oldest = get(client, alice, f"{path}?since=1")

    assert asked(page) == questions(4_976, 5_000)
    assert f"{path}?before=4976#m-" in page
    assert len(page) < 2_500_000
    assert asked(oldest) == questions(1, pagination.MAX_TURNS)


def test_part_holds_only_what_comes_before(client, alice, long):
    part = get(client, alice, f"/chats/{long.pk}/messages/?before=6")

    assert asked(part) == questions(1, 5)
    assert "Load earlier" not in part


@pytest.mark.django_db(transaction=True)
def test_sync_of_a_page_that_knows_nothing_brings_no_more_than_the_newest(client, alice, long):
    client.force_login(alice)
    session_key = client.session.session_key

    async def sync():
        page = await opened_page(long, alice, session_key=session_key)
        return await page.receive({"action": "sync", "last": "", "status": ""})

    frames = async_to_sync(sync)()

    assert [one for frame in frames if "<article" in frame for one in asked(frame)] == questions(6)
