"""The preview page of the next request: who may see it, what it lists, and how it is redacted. Product 8-15."""

import json

import pytest
from django.test import Client
from lxml.html import HtmlElement, fromstring

from accounts.models import User
from chat.conversations import model_choice
from chat.models import Conversation
from chat.request_preview.masking import MAX_CHARS, masked_body
from reasoning.events import AssistantMessage, Compaction, Reasoning
from reasoning.visibility import Visibility
from tests.factories import (
    SECRET,
    client_of,
    make_administrator,
    make_conversation,
    make_history,
    make_profile,
    make_thought,
    make_tool_step,
    make_turn,
)

Rows = list[list[str]]
ALL = Visibility(thinking="whole")


def get_page(person: User, conversation: Conversation, *, status: int = 200, **query: str) -> HtmlElement:
    answer = client_of(person).get(f"/chats/{conversation.pk}/preview/", query)
    assert answer.status_code == status
    return fromstring(answer.content.decode())


def table(page: HtmlElement, heading: str) -> Rows:
    rows = page.xpath(f"//section[@aria-labelledby='{heading}']//tbody/tr")
    return [[cell.text_content() for cell in row.xpath("./td")] for row in rows]


def omissions(page: HtmlElement) -> Rows:
    return table(page, "out")


def figures(page: HtmlElement) -> list[int]:
    return [int(figure.text_content().replace(",", "")) for figure in page.xpath("//main//dl//dd")]


def body_text(page: HtmlElement) -> str:
    return str(page.xpath("//figure//code")[0].text_content())


def masks_of(page: HtmlElement) -> list[str]:
    return [mark.text_content() for mark in page.xpath("//figure//mark")]


@pytest.fixture
def own(ada):
    return make_conversation(owner=ada, title="Covenants")


@pytest.fixture
def own_with_thinking(own):
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    return own


def masked(body: dict[str, object], sees: Visibility = ALL) -> tuple[str, list[str]]:
    pieces = masked_body(body, sees)
    return "".join(piece.text for piece in pieces), [piece.text for piece in pieces if piece.is_mask]


def chat_body(*messages: dict[str, object]) -> dict[str, object]:
    return {"model": "m", "messages": list(messages)}


def call_message(arguments: str, name: str = "searchFilings") -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


@pytest.mark.spec("product 14")
def test_preview_is_404_for_everyone_but_administrators_of_their_own_conversations(alice, sam):
    theirs = make_conversation(owner=alice)

    get_page(alice, theirs, status=404)
    get_page(sam, make_conversation(owner=sam), status=404)
    get_page(make_administrator("eve"), theirs, status=404)
    get_page(User.objects.create_superuser("root"), theirs, status=404)
    assert Client().get(f"/chats/{theirs.pk}/preview/").status_code == 302


def test_only_administrators_see_links_to_the_preview(alice, ada, own):
    for person, conversation, is_linked in ((ada, own, True), (alice, make_conversation(owner=alice), False)):
        assert ("/preview/" in client_of(person).get(f"/chats/{conversation.pk}/").text) is is_linked


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
def test_what_is_left_out_is_listed_with_its_reason(ada, own, layer, why):
    own.reasoning = layer
    own.save()
    make_history(
        own, make_thought("A thought of forty characters, no more."), AssistantMessage(text="Because.", step=0)
    )

    page = get_page(ada, own)
    goes, left_out, stored, limit = figures(page)

    assert omissions(page) == ([["2", "reasoning", *why, "10"]] if why else [])
    assert ("2" in [row[0] for row in table(page, "go")]) == (why is None)
    assert (left_out, stored, limit) == (10 if why else 0, goes + left_out, 32_000)


def test_summary_replaces_a_run_of_events(ada, own):
    make_history(own, *make_tool_step(), question="First?")
    make_history(
        own, Compaction(to_seq=5, summary="They asked first."), AssistantMessage(text="Second."), question="Second?"
    )

    page = get_page(ada, own)

    assert [row[:4] for row in omissions(page)] == [["1–4", "4 events", "Replaced by a summary", "compaction"]]
    assert ["7", "compaction", "They asked first."] in [row[:3] for row in table(page, "go")]


def test_parts_of_the_bar_add_up_to_what_is_sent(ada, own):
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    make_history(own, make_thought(), *make_tool_step())

    page = get_page(ada, own)
    parts = [int(part.text_content().replace(",", "")) for part in page.xpath("//ul//span[@class='num']")]
    goes, _left, _stored, limit = figures(page)

    assert sum(parts[:-1]) == goes
    assert sum(parts) == limit
    assert all(parts)


def test_notes_say_what_the_service_will_not_get(ada, own):
    own.profile = make_profile("small", context_limit=2_000)
    own.save()
    own.reasoning = {"reasoning.effort": "high", "reasoning.maxTokens": 9}
    own.save()
    make_turn(own, question="long " * 1_600)

    notes = get_page(ada, own).xpath("//p[@class='notice']/text()")

    assert (
        notes[0].strip().startswith("Too long for this model: before the next question is sent, earlier messages are")
    )
    assert notes[1:] == ["reasoning.maxTokens has no effect: the service of this model has no parameter for it."]


def test_other_model_is_shown_by_its_name(ada, own):
    make_profile("kimi", label="Kimi", dialect="kimi")
    make_turn(own)

    page = get_page(ada, own, model="kimi")

    assert page.xpath("//select/option[@selected]/text()") == ["Kimi"]
    assert '"model": "kimi-model"' in body_text(page)
    own.refresh_from_db()
    assert own.profile is None


def test_unknown_model_is_refused_with_those_there_are(ada, own):
    make_profile("kimi")

    page = get_page(ada, own, status=400, model="nobody")

    assert page.xpath("//*[@role='alert']")[0].text_content() == "model: one of offline-analyst, kimi."
    assert page.xpath("//figure") == []


def test_missing_key_is_named_and_nothing_is_previewed(ada, own):
    own.profile = make_profile("kimi", api_key_env="ABSENT_API_KEY")
    own.save()

    page = get_page(ada, own)

    assert "ABSENT_API_KEY" in page.xpath("//*[@role='alert']")[0].text_content()
    assert page.xpath("//figure") == []


def test_lost_key_of_history_is_reported(ada, own, settings):
    make_history(own, *make_tool_step())
    settings.CONTENT_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    assert "CONTENT_KEYS" in get_page(ada, own).xpath("//*[@role='alert']")[0].text_content()


@pytest.mark.spec("product 10")
def test_secret_in_arguments_results_thinking_and_texts_is_nowhere_on_the_page(ada, own_with_thinking):
    arguments = json.dumps({"query": f"token {SECRET}", "note": SECRET})
    question = f"My key is {SECRET}, mail to pat@example.com"
    make_history(own_with_thinking, make_thought(f"The key is {SECRET}"), *make_tool_step(arguments), question=question)

    page = get_page(ada, own_with_thinking)

    assert SECRET not in page.text_content()
    assert "pat@example.com" not in page.text_content()
    assert masks_of(page).count("[redacted]") >= 5
    assert "p***@example.com" in masks_of(page)


@pytest.mark.spec("product 10")
def test_values_are_masked_by_their_keys_inside_results():
    content = '\n {"password": "correct horse", "page": 3}'

    shown, masks = masked(chat_body({"role": "tool", "tool_call_id": "call_1", "content": content}))

    assert "correct horse" not in shown
    assert r"\"page\": 3" in shown
    assert masks == ["[redacted]"]


@pytest.mark.spec("product 10")
def test_arguments_are_shown_as_in_the_trace():
    shown, masks = masked(chat_body(call_message('{"query": "covenants", "why": "a private reason"}')))

    assert r"\"query\": \"covenants\"" in shown
    assert "private" not in shown
    assert masks == ["[text, 16 characters]"]
    assert masked(chat_body(call_message('{"path": "/home/pat"}', name="readDisk")))[1] == ["[text, 9 characters]"]


@pytest.mark.parametrize("arguments", ["{broken sk-live-secret", "", "[" * 2_000])
def test_arguments_that_are_no_json_are_shown_by_their_length(arguments):
    shown, masks = masked(chat_body(call_message(arguments)))

    assert "broken" not in shown
    assert masks == [f"[no JSON, {len(arguments):,} characters]"]


def test_of_a_long_history_the_newest_is_shown():
    texts = [f"Question {number}: " + "word " * 1_000 for number in range(MAX_CHARS // 4_000 + 20)]

    shown, masks = masked(chat_body(*({"role": "user", "content": text} for text in texts)))

    assert f"Question {len(texts) - 1}: word" in shown
    assert "Question 0:" not in shown
    assert masks[0] == f"[{len(texts[0]):,} characters]"


@pytest.mark.spec("004 flags")
def test_site_without_reasoning_shows_none_in_its_preview(ada, own_with_thinking, settings):
    make_history(
        own_with_thinking,
        make_thought("canary-thought"),
        *make_tool_step('{"query": "canary-arguments"}', '{"canary-result": 1}'),
    )
    settings.REASONING_ENABLED = False

    page = get_page(ada, own_with_thinking)

    assert "canary" not in page.text_content()
    assert "because your answers don’t show it either" in page.text_content()


def test_thinking_that_is_sent_is_shown_to_viewers_who_may_read_it(ada, own_with_thinking):
    make_history(own_with_thinking, make_thought("A thought to read."), *make_tool_step())

    page = get_page(ada, own_with_thinking)

    assert ["2", "reasoning", "A thought to read."] in [row[:3] for row in table(page, "go")]
    assert '"reasoning_content": "A thought to read."' in body_text(page)
    assert "is not shown to you" not in page.text_content()


def test_sealed_item_is_listed_and_never_opened(ada, own_with_thinking):
    own_with_thinking.profile = make_profile("r", model="gpt-5-mini", api="responses", base_url="http://127.0.0.1:9/v1")
    own_with_thinking.save()
    endpoint = model_choice.request_target(model_choice.chosen_model(own_with_thinking)).provider
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" * 30}
    block = Reasoning(kind="item", item=sealed, model="gpt-5-mini", provider=endpoint, step=0)
    make_history(own_with_thinking, block, *make_tool_step())

    page = get_page(ada, own_with_thinking)

    assert ["2", "reasoning", "Sealed, as it came"] in [row[:3] for row in table(page, "go")]
    assert "gAAA" not in page.text_content()
    assert "[sealed, 120 characters]" in masks_of(page)


def test_markup_in_what_was_said_is_text(ada, own_with_thinking):
    make_history(own_with_thinking, question="<script>alert(1)</script><mark>no mask</mark>")

    page = get_page(ada, own_with_thinking)

    assert "<script>alert(1)</script>" in body_text(page)
    assert page.xpath("//figure//script") == []
    assert masks_of(page) == []
