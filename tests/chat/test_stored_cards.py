"""What pages show of ended turns is stored: a page renders no Markdown, decrypts nothing and plans nothing."""

from __future__ import annotations

import json
import threading
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import User
from chat import eventlog
from chat.conversations import settings as conversation_settings
from chat.eventlog import branches, encryption
from chat.models import Conversation, Event, StoredCard, Turn
from chat.turns import request
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.chat.asking import ask
from tests.contract_server.fixture import ContractHandle
from tests.factories import end_turn, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.engine

ANSWER = "*One* paragraph.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."


@pytest.fixture
def page(client: Client, alice: User, conversation: Conversation) -> Any:
    client.force_login(alice)

    def get(path: str = "", **more: Any) -> str:
        return str(client.get(f"/chats/{conversation.pk}/{path}", **more).content.decode())

    return get


def thought(text: str) -> Reasoning:
    return Reasoning(kind="text", text=text, source_field="think_tags", model="m", provider="p", step=0)


def usage_in(html: str) -> str:
    return html.partition("data-context-usage>")[2].partition("<")[0]


def test_answer_is_rendered_once_and_stored(
    page: Any, conversation: Conversation, rendered_in: list[threading.Thread]
) -> None:
    turn = make_turn(conversation, answer=ANSWER)

    first = page()
    rendered_in.clear()
    second = page()

    assert "<em>One</em>" in first
    assert "<em>One</em>" in second
    assert rendered_in == []
    assert "<em>One</em>" in StoredCard.objects.get(turn=turn).answer_html["en"]


def test_each_language_has_its_own_html(page: Any, conversation: Conversation) -> None:
    turn = make_turn(conversation, answer=ANSWER)

    english, german, again = page(), page(headers={"accept-language": "de"}), page()

    assert 'aria-label="Table: a, b"' in english
    assert 'aria-label="Tabelle: a, b"' in german
    assert 'aria-label="Table: a, b"' in again
    assert StoredCard.objects.get(turn=turn).answer_html.keys() == {"en", "de"}


def test_old_html_is_rendered_again_when_the_rules_for_links_change(
    page: Any, conversation: Conversation, settings: LazySettings
) -> None:
    settings.SAFE_LINK_HOSTS = ("docs.example",)
    make_turn(conversation, answer="Read [this](https://docs.example/a).")
    assert 'href="https://docs.example/a"' in page()

    settings.SAFE_LINK_HOSTS = ()

    assert 'href="https://docs.example/a"' not in page()


def test_link_that_repeats_the_question_stays_text_in_the_stored_html(page: Any, conversation: Conversation) -> None:
    make_turn(
        conversation,
        question="My project is Thunderbird7781.",
        answer="[x](https://evil.example/Thunderbird7781) [y](https://good.example/page)",
    )

    html = page()

    assert "evil.example%2FThunderbird7781" not in html
    assert "good.example%2Fpage" in html


@pytest.mark.django_db(transaction=True)
async def test_end_of_a_turn_stores_its_card_and_the_size_of_the_next_request(
    upstream: ContractHandle, conversation: Conversation, rendered_in: list[threading.Thread]
) -> None:
    upstream.script([{"content": ANSWER}])

    turn = await ask(conversation)

    card = await StoredCard.objects.aget(turn=turn)
    assert "<em>One</em>" in card.answer_html["en"]
    assert card.context_tokens > 0
    assert threading.current_thread() not in rendered_in


def test_stored_html_holds_neither_thinking_nor_steps(page: Any, conversation: Conversation) -> None:
    turn = open_turn(conversation.pk, text="Why?")
    step = {"tool": "searchFilings", "args": {"query": "canary-in-the-trace"}, "durationMs": 1, "status": "ok"}
    eventlog.append(
        turn,
        [
            thought("canary-in-the-thinking"),
            ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0),
            ToolResult(call_id="c1", output="canary-in-the-result", ok=True, step=0),
        ],
        {"c1": step},
    )
    eventlog.close_turn(
        turn, [AssistantMessage(text="Because.", summary=("canary-in-the-summary",))], status="completed"
    )
    assert "canary-in-the-trace" in page()

    assert "canary" not in json.dumps(StoredCard.objects.get(turn=turn).answer_html)


def test_page_of_ended_turns_decrypts_and_plans_nothing(
    page: Any, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = open_turn(conversation.pk, text="Why?")
    eventlog.append(turn, [thought("Let me think.")])
    eventlog.close_turn(turn, [AssistantMessage(text="Because.")], status="completed")
    counted = usage_in(page())

    for module, name in ((encryption, "decrypt"), (request, "plan_request")):
        monkeypatch.setattr(module, name, lambda *_args, **_named: pytest.fail("used for a page"))

    assert usage_in(page()) == counted


def test_reload_makes_few_queries(page: Any, conversation: Conversation, django_assert_max_num_queries: Any) -> None:
    make_turn(conversation)
    page()

    with django_assert_max_num_queries(10):
        page()


def test_context_is_counted_again_after_a_setting_changed(page: Any, alice: User, conversation: Conversation) -> None:
    turn = open_turn(conversation.pk, text="Why?")
    eventlog.append(turn, [thought("Let me think. " * 50)])
    eventlog.close_turn(turn, [AssistantMessage(text="Because.")], status="completed")
    before = usage_in(page())
    stored = StoredCard.objects.get(turn=turn)

    conversation_settings.change(conversation.pk, {"reasoning.includeInContext": True})

    assert usage_in(page()) != before
    assert StoredCard.objects.get(turn=turn).context_key != stored.context_key
    conversation_settings.change(conversation.pk, {"reasoning.includeInContext": None})
    assert usage_in(page()) == before


def test_earlier_branch_shows_its_own_size_again(page: Any, conversation: Conversation) -> None:
    first = make_turn(conversation, answer="Because. " * 100)
    before = usage_in(page())
    second = open_turn(conversation.pk, text="Why?", replaces=first)
    eventlog.close_turn(second, [AssistantMessage(text="No.")], status="completed")
    assert usage_in(page()) != before

    branches.select(first)

    assert usage_in(page()) == before


def test_turn_ends_although_its_card_cannot_be_stored(
    alice: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_args: object, **_named: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(request, "plan_request", fails)
    turn = open_turn(conversation.pk, text="Why?")

    ended = end_turn(turn, [AssistantMessage(text="Because.")])

    assert ended.record.turn.status == Turn.Status.COMPLETED


class TestRerender:
    """``manage.py rerender``."""

    def test_it_renders_stored_answers_again_in_their_languages(self, page: Any, conversation: Conversation) -> None:
        turn = make_turn(conversation, answer=ANSWER)
        page()
        page(headers={"accept-language": "de"})
        before = StoredCard.objects.values_list("answer_html", "context_tokens").get(turn=turn)
        StoredCard.objects.update(answer_html={"en": "old", "de": "alt"}, context_tokens=7)
        out = StringIO()

        call_command("rerender", stdout=out)

        assert StoredCard.objects.values_list("answer_html", "context_tokens").get(turn=turn) == before
        assert out.getvalue() == "1 answers rendered, 0 trace steps redacted.\n"

    def test_it_redacts_stored_steps(self, page: Any, conversation: Conversation) -> None:
        turn = open_turn(conversation.pk, text="Why?")
        call_event = ToolCall(call_id="c1", name="t", arguments="{}", step=0)
        result = ToolResult(call_id="c1", output="x", ok=True, step=0)
        old = {"tool": "t", "args": {"password": "hunter2"}, "error": "for bob@example.com"}
        eventlog.append(turn, [call_event, result], {"c1": old})
        eventlog.close_turn(turn, [], status="completed")

        call_command("rerender", str(conversation.pk), stdout=StringIO())

        assert "hunter2" not in page()
        stored = Event.objects.get(turn=turn, type="tool_result").public["trace"]
        assert stored["args"] == {"password": "[redacted]"}
        assert stored["error"] == "for b***@example.com"

    def test_it_leaves_other_conversations_alone(self, alice: User, conversation: Conversation) -> None:
        make_turn(conversation)
        other = make_turn(make_conversation(owner=alice))
        StoredCard.objects.update(answer_html={"en": "old"})

        call_command("rerender", str(conversation.pk), stdout=StringIO())

        assert StoredCard.objects.get(turn=other).answer_html == {"en": "old"}

    def test_it_refuses_an_unknown_conversation(self, conversation: Conversation) -> None:
        with pytest.raises(CommandError, match="No such conversation"):
            call_command("rerender", "00000000-0000-4000-8000-000000000000")
