"""A link to an allowed host that repeats what somebody asked leads over our page in the card, live and after."""

import re

import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from django.db import OperationalError

from accounts.models import User
from chat import eventlog
from chat.html import render_markdown
from chat.html.link_check import EMPTY, MAX_CHARS, UNKNOWN, may_contain_link
from chat.live import blocks as liveblocks
from chat.live.blocks import BlockRenderer
from chat.models import Conversation
from reasoning.events import AssistantMessage
from tests.chat.asking import ask
from tests.chat.sockets import frames_until, socket_of
from tests.factories import client_of, make_turn, open_turn
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
SAID = "My confidential number is 88213312."
ECHO = "https://www.sec.gov/?q=88213312"
OVER = "/leaving/?to=https%3A%2F%2Fwww.sec.gov%2F%3Fq%3D88213312"
OTHER = "https://www.sec.gov/page"
ANSWER = f"See [one]({ECHO}).\n\nAnd [two]({OTHER}).\n\nSo much.\n\nNearly.\n\nThe end."


def stored(conversation: Conversation, person: User) -> str:
    return client_of(person).get(f"/chats/{conversation.pk}/").text


def links(html: str) -> list[str]:
    return re.findall(r'<a href="(/leaving/[^"]*|https?:[^"]*)"', html)


async def test_link_that_repeats_a_question_leads_over_our_page_live_and_stored(upstream, alice, conversation):
    upstream.script([{"content": "I see."}, {"content": ANSWER, "chunk": 20}])
    await ask(conversation, SAID)
    async with socket_of(conversation, alice) as socket:
        await ask(conversation, "And now?")
        live = heard(await frames_until(socket, "Answer ready"))

    page = await database_sync_to_async(stored)(conversation, alice)
    for html in (live, page):
        assert links(html) == [OVER, OTHER]


def test_later_question_changes_no_link(alice, conversation):
    make_turn(conversation, question="Where?", answer=f"[here]({ECHO})")
    make_turn(conversation, question=SAID, answer="I see.")

    assert links(stored(conversation, alice)) == [ECHO]


def test_question_of_another_conversation_counts_for_nothing(alice, conversation):
    make_turn(Conversation.objects.create(owner=alice), question=SAID)
    make_turn(conversation, question="Where?", answer=f"[here]({ECHO})")

    assert links(stored(conversation, alice)) == [ECHO]


def test_question_on_a_branch_that_was_left_still_counts(alice, conversation):
    left = make_turn(conversation, question=SAID)
    turn = open_turn(conversation.pk, text="Where?", replaces=left)
    eventlog.close_turn(turn, [AssistantMessage(text=f"[here]({ECHO})")], status="completed")

    assert links(stored(conversation, alice)) == [OVER]


def test_questions_that_cannot_be_read_let_every_link_lead_over_our_page(conversation, monkeypatch):
    def broken(conversation_id):
        raise OperationalError

    monkeypatch.setattr(liveblocks, "user_text_so_far", broken)
    blocks = BlockRenderer(conversation.pk, conversation.owner_id)

    html = async_to_sync(blocks.render)([f"[a]({ECHO})\n\n"], ())

    assert links(html) == [OVER]


@pytest.mark.parametrize(
    "link",
    [
        r"[x](https\:\/\/www.sec.gov/88213312)",
        "[x](https&colon;//www.sec.gov/88213312)",
        "[x](https&#58;//www.sec.gov/88213312)",
        "[x](<https://www.sec.gov/88213312>)",
        "<https://www.sec.gov/88213312>",
    ],
)
def test_address_is_compared_however_it_is_written(link):
    assert may_contain_link(link)
    assert links(render_markdown(link)) == ["https://www.sec.gov/88213312"]
    for asked in (EMPTY.then(SAID), UNKNOWN):
        assert links(render_markdown(link, user_text=asked)) == ["/leaving/?to=https%3A%2F%2Fwww.sec.gov%2F88213312"]


def test_what_was_remembered_for_one_conversation_is_not_shown_in_another():
    text = f"[x]({ECHO})"

    assert links(render_markdown(text, user_text=EMPTY.then("Hello."))) == [ECHO]
    assert links(render_markdown(text, user_text=EMPTY.then("Hello.").then(SAID))) == [OVER]
    assert links(render_markdown(text, user_text=EMPTY.then("Hello."))) == [ECHO]


def test_more_questions_than_are_compared_let_every_link_lead_over_our_page():
    asked = EMPTY
    for number in range(MAX_CHARS // 100_000 + 1):
        asked = asked.then(f"{number} ".ljust(100_000, "x"))

    assert asked.then("And now?") == UNKNOWN
    assert links(render_markdown(f"[one]({ECHO})", user_text=EMPTY.then("So?"))) == [ECHO]
    assert links(render_markdown(f"[one]({ECHO})", user_text=asked)) == [OVER]
