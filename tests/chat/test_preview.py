"""The preview of the next request: who may see it, and what it shows of which history. Product 8, 9, 10, 14."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.conf import LazySettings
from django.test import Client
from lxml.html import HtmlElement, fromstring

from accounts.models import User
from chat import log
from chat.models import Conversation
from reasoning.events import AssistantMessage, Compaction, Event, Reasoning, ToolCall, ToolResult
from tests.factories import make_administrator, make_conversation, make_profile, make_turn, open_turn

SECRET = "sk-live-4f9aQ2mX7bT1cV8nR3kW6yZ0"
FOUND = f'{{"passages": [{{"text": "As told. password={SECRET}"}}], "api_key": "{SECRET}"}}'
Rows = list[list[str]]


def _page(person: User, conversation: Conversation, *, status: int = 200, **query: str) -> HtmlElement:
    client = Client()
    client.force_login(person)
    answer = client.get(f"/chats/{conversation.pk}/preview/", query)
    assert answer.status_code == status
    return fromstring(answer.content.decode())


def _rows(page: HtmlElement, heading: str) -> Rows:
    rows = page.xpath(f"//section[@aria-labelledby='{heading}']//tbody/tr")
    return [[cell.text_content() for cell in row.xpath("./td")] for row in rows]


def _left_out(page: HtmlElement) -> Rows:
    return _rows(page, "out")


def _figures(page: HtmlElement) -> list[int]:
    return [int(figure.text_content().replace(",", "")) for figure in page.xpath("//dl//dd")]


def _body(page: HtmlElement) -> str:
    return str(page.xpath("//figure//code")[0].text_content())


def _masks(page: HtmlElement) -> list[str]:
    return [mark.text_content() for mark in page.xpath("//figure//mark")]


def _told(conversation: Conversation, *events: Event, question: str = "Why?", status: str = "completed") -> None:
    turn = open_turn(conversation.pk, text=question)
    log.close_turn(turn, events, status=status)  # type: ignore[arg-type]


def _thought(text: str = "Let me see.", **fields: str) -> Reasoning:
    values = {"model": "offline-analyst", "provider": "offline", "source_field": "reasoning_content", **fields}
    return Reasoning(kind="text", text=text, step=0, **values)  # type: ignore[arg-type]


def _looked_up(arguments: str = '{"query": "covenants"}', output: str = FOUND) -> Sequence[Event]:
    return (
        ToolCall(call_id="call_1", name="searchFilings", arguments=arguments, step=0),
        ToolResult(call_id="call_1", output=output, ok=True, step=0),
        AssistantMessage(text="Because.", step=1),
    )


@pytest.fixture
def own(ada: User) -> Conversation:
    return make_conversation(owner=ada, title="Covenants")


@pytest.mark.spec("product 14")
def test_administrator_sees_the_preview_of_their_own_conversation(ada: User, own: Conversation) -> None:
    make_turn(own, question="What would breach it?")

    page = _page(ada, own)

    assert page.xpath("//h2")[0].text_content() == "The next request, exactly"
    assert "What would breach it?" in _body(page)


def test_owner_who_is_no_administrator_gets_404(alice: User) -> None:
    _page(alice, make_conversation(owner=alice), status=404)


def test_staff_without_the_permission_get_404(sam: User) -> None:
    _page(sam, make_conversation(owner=sam), status=404)


@pytest.mark.parametrize("who", ["administrator", "superuser"])
def test_another_persons_conversation_is_not_found(alice: User, who: str) -> None:
    other = make_administrator("eve") if who == "administrator" else User.objects.create_superuser("root")

    _page(other, make_conversation(owner=alice), status=404)


def test_anonymous_is_asked_to_sign_in(own: Conversation) -> None:
    assert Client().get(f"/chats/{own.pk}/preview/").status_code == 302


def test_administrators_find_the_preview_from_the_conversation(ada: User, own: Conversation) -> None:
    client = Client()
    client.force_login(ada)

    page = fromstring(client.get(f"/chats/{own.pk}/").content.decode())

    assert {link.getparent().get("class").split()[0] for link in page.xpath("//a[contains(@href, '/preview/')]")} == {
        "topbar",
        "context",
    }


def test_nobody_else_is_led_to_it(alice: User) -> None:
    client = Client()
    client.force_login(alice)

    assert b"/preview/" not in client.get(f"/chats/{make_conversation(owner=alice).pk}/").content


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ({}, ("Thinking, and reasoning.includeInContext is off", "spec 001 BR-001")),
        (
            {"reasoning.includeInContext": True, "reasoning.stripFromContext": "all"},
            ("Thinking of an earlier turn; reasoning.stripFromContext is “all”", "spec 001 BR-005"),
        ),
        ({"reasoning.includeInContext": True}, None),
    ],
    ids=["not included", "stripped", "included"],
)
def test_what_is_left_out_is_listed_with_its_reason(
    ada: User, own: Conversation, layer: dict[str, object], why: tuple[str, str] | None
) -> None:
    own.reasoning = layer
    own.save()
    _told(own, _thought("A thought of forty characters, no more no"), AssistantMessage(text="Because.", step=0))

    page = _page(ada, own)
    goes, left_out, stored, limit = _figures(page)

    assert _left_out(page) == ([["2", "reasoning", *why, "11"]] if why else [])
    assert ("2" in [row[0] for row in _rows(page, "go")]) == (why is None)
    assert (left_out, stored, limit) == (11 if why else 0, goes + left_out, 32_000)


def test_failed_turns_leave_out_what_never_ran(ada: User, own: Conversation) -> None:
    call, _result, _answer = _looked_up()
    _told(own, call, status="aborted")

    assert _left_out(_page(ada, own)) == [
        ["2", "tool_call", "A call that never ran, of a turn that did not end well", "replay 5", "6"]
    ]


def test_summary_stands_for_a_run_of_events(ada: User, own: Conversation) -> None:
    _told(own, *_looked_up(), question="First?")
    _told(own, Compaction(to_seq=5, summary="They asked first."), AssistantMessage(text="Second."), question="Second?")

    page = _page(ada, own)

    assert [row[:4] for row in _left_out(page)] == [["1–4", "4 events", "A summary stands for it", "compaction"]]
    assert ["7", "compaction", "They asked first."] in [row[:3] for row in _rows(page, "go")]


def test_parts_of_the_bar_add_up_to_what_goes(ada: User, own: Conversation) -> None:
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    _told(own, _thought(), *_looked_up())

    page = _page(ada, own)
    parts = [int(part.text_content().replace(",", "")) for part in page.xpath("//ul//span[@class='num']")]
    goes, _left, _stored, limit = _figures(page)

    assert sum(parts[:-1]) == goes
    assert sum(parts) == limit
    assert all(parts)


def test_history_too_long_for_the_model_says_that_it_will_be_summarised(ada: User, own: Conversation) -> None:
    own.profile = make_profile("small", context_limit=2_000)
    own.save()
    make_turn(own, question="long " * 1_600)

    assert "earlier messages are summarised" in _page(ada, own).text_content()


def test_setting_without_a_parameter_is_noted(ada: User, own: Conversation) -> None:
    own.reasoning = {"reasoning.effort": "high"}
    own.save()
    make_turn(own)

    told = "reasoning.effort is set, but this service has no parameter for it."
    assert told in [note.text_content() for note in _page(ada, own).xpath("//p[@class='notice']")]


def test_other_model_is_shown_by_its_name(ada: User, own: Conversation) -> None:
    make_profile("kimi", label="Kimi", dialect="kimi")
    make_turn(own)

    page = _page(ada, own, model="kimi")

    assert page.xpath("//select/option[@selected]/text()") == ["Kimi"]
    assert '"model": "kimi-model"' in _body(page)
    own.refresh_from_db()
    assert own.profile is None


def test_unknown_model_is_refused_with_those_there_are(ada: User, own: Conversation) -> None:
    make_profile("kimi")

    page = _page(ada, own, status=400, model="nobody")

    assert page.xpath("//*[@role='alert']")[0].text_content() == "model: one of offline-analyst, kimi."
    assert page.xpath("//figure") == []


def test_missing_key_is_named_and_nothing_is_previewed(ada: User, own: Conversation) -> None:
    own.profile = make_profile("kimi", api_key_env="ABSENT_API_KEY")
    own.save()

    page = _page(ada, own)

    assert "ABSENT_API_KEY" in page.xpath("//*[@role='alert']")[0].text_content()
    assert page.xpath("//figure") == []


def test_lost_key_of_history_is_told(ada: User, own: Conversation, settings: LazySettings) -> None:
    _told(own, *_looked_up())
    settings.CONTENT_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    assert "CONTENT_KEYS" in _page(ada, own).xpath("//*[@role='alert']")[0].text_content()


def test_empty_conversation_has_a_preview(ada: User, own: Conversation) -> None:
    page = _page(ada, own)

    assert [row[1] for row in _rows(page, "go")] == ["instructions", "tools"]
    assert _figures(page)[0] == 0
