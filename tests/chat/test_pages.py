"""Pages over plain HTTP: owners, fragments, and reading without JavaScript."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client

from accounts.models import User
from chat import log
from chat.cards import WHOLE
from chat.models import Conversation, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.factories import PASSWORD, make_conversation, open_turn

CANARY = "quokka-canary-2284"
TRACE = {
    "c1": {
        "tool": "searchFilings",
        "args": {"query": "turbines"},
        "durationMs": 12,
        "results": 1,
        "topCitations": [],
        "status": "ok",
    }
}


def client_of(user: User) -> Client:
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return client


def make_answer(conversation: Conversation, *, thought: str = CANARY) -> Turn:
    turn = open_turn(conversation.pk, text="Why?")
    log.append(
        turn,
        [
            Reasoning(kind="text", text=thought, source_field="reasoning", model="m", provider="p", step=0),
            ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0),
            ToolResult(call_id="c1", output="raw-result-canary", ok=True, step=0),
        ],
        TRACE,
    )
    answer = AssistantMessage(text="Because **so**.", summary=("Looked.", "Compared."), step=1)
    log.close_turn(turn, [answer], status="completed", summary_source="model", thinking_ms=12_000)
    return turn


def test_anonymous_visitor_is_sent_to_sign_in(client: Client, db: None) -> None:
    for path in ("/", f"/chats/{uuid.uuid4()}/", "/filings/"):
        answer = client.get(path)

        assert answer.status_code == 302
        assert answer["Location"].startswith("/accounts/login/")


def test_home_opens_the_newest_conversation_or_an_empty_one(alice: User) -> None:
    client = client_of(alice)

    first = client.get("/")
    again = client.get("/")

    assert first["Location"] == again["Location"] == alice.conversations.get().get_absolute_url()


def test_new_conversation_is_a_303(alice: User) -> None:
    answer = client_of(alice).post("/chats/")

    assert answer.status_code == 303
    assert answer["Location"] == alice.conversations.get().get_absolute_url()


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("who", ["bob", "sam", "ada"])
def test_nobody_else_finds_a_conversation(request: pytest.FixtureRequest, alice: User, who: str) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    client = client_of(request.getfixturevalue(who))
    base = conversation.get_absolute_url()
    parts = ["", "messages/", *(f"turns/{turn.pk}/{part}/" for part in ("thinking", "trace", "steps", "copy"))]

    answers = [client.get(base + part).status_code for part in parts]
    answers += [client.post(base + part).status_code for part in ("messages/", "stop/", f"turns/{turn.pk}/retry/")]

    assert answers == [404] * 9


def test_card_shows_answer_summary_trace_and_closed_thinking(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)

    html = client_of(alice).get(conversation.get_absolute_url()).content.decode()

    assert f'id="m-{turn.public_id}"' in html
    assert f'data-message-id="{turn.public_id}-q"' in html
    assert "<strong>so</strong>" in html
    assert "Looked." in html
    assert "data-tool-trace" in html
    assert "Thought for 12 s" in html
    assert re.search(r'data-ai-reasoning data-collapsed="true" data-token-est="5"', html)
    assert CANARY not in html
    assert "raw-result-canary" not in html


def test_thinking_opens_without_javascript(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)

    html = client_of(alice).get(conversation.get_absolute_url(), {"open": turn.public_id}).content.decode()

    assert CANARY in html
    assert 'data-collapsed="false"' in html


def test_thinking_is_fetched_and_not_found_where_hidden(alice: User, settings: object) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    url = f"{conversation.get_absolute_url()}turns/{turn.pk}/thinking/"
    client = client_of(alice)

    shown = client.get(url)
    settings.REASONING_THINKING_FOR_USERS = "hidden"  # type: ignore[attr-defined]

    assert shown.content.decode() == CANARY
    assert client.get(url).status_code == 404
    assert "Reasoning is hidden for your account" in client.get(conversation.get_absolute_url()).content.decode()


@pytest.mark.spec("004 flags")
def test_show_reasoning_off_removes_it_from_the_response_itself(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    client = client_of(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "false"})

    html = client.get(conversation.get_absolute_url()).content.decode()

    for hidden in ("Looked.", "data-tool-trace", "Thought for", "data-ai-reasoning"):
        assert hidden not in html
    assert "<strong>so</strong>" in html
    for part in ("trace", "steps"):
        assert client.get(f"{conversation.get_absolute_url()}turns/{turn.pk}/{part}/").status_code == 404


def test_steps_of_earlier_cards_come_when_they_are_asked_for(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    first, *_others = [make_answer(conversation) for _turn in range(WHOLE + 1)]
    client = client_of(alice)
    base = conversation.get_absolute_url()
    steps = f"{base}turns/{first.pk}/steps/"

    html = client.get(base).content.decode()
    opened = client.get(f"{base}?open={first.public_id}").content.decode()

    assert html.count('<ol class="fold__body steps"') == WHOLE
    assert html.count(f'hx-get="{steps}"') == 1
    assert opened.count('<ol class="fold__body steps"') == WHOLE + 1
    assert "data-tool-step" in client.get(steps).content.decode()


def test_copy_gives_the_answer_and_trace_gives_redacted_json(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    client = client_of(alice)
    base = f"{conversation.get_absolute_url()}turns/{turn.pk}/"

    assert client.get(f"{base}copy/").content.decode() == "Because **so**."
    assert client.get(f"{base}trace/").json()[0]["args"] == {"query": "turbines"}


def test_refused_message_is_shown_with_its_text_kept(alice: User, settings: object) -> None:
    settings.MESSAGE_MAX_CHARS = 5  # type: ignore[attr-defined]
    conversation = make_conversation(owner=alice)

    answer = client_of(alice).post(f"{conversation.get_absolute_url()}messages/", {"text": "far too long"})

    html = answer.content.decode()
    assert answer.status_code == 400
    assert "at most 5 are allowed" in html
    assert "far too long" in html


def test_question_is_escaped(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="<script>alert(1)</script> <think>x</think>")
    log.close_turn(turn, [], status="completed")

    html = client_of(alice).get(conversation.get_absolute_url()).content.decode()

    assert "<script>alert" not in html
    assert "&lt;think&gt;x&lt;/think&gt;" in html


def test_policy_allows_nothing_inline_and_nothing_foreign(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    make_answer(conversation)

    answer = client_of(alice).get(conversation.get_absolute_url())

    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", answer.content.decode())
    assert not re.search(r"(src|href)=\"(https?:)?//", answer.content.decode())
