"""What every person sees of their next request: its parts in tokens, and what is not sent, in plain words."""

from typing import get_args

import pytest
from django.test import Client
from lxml.html import HtmlElement, fromstring

from chat.eventlog import attachments
from chat.models import Conversation
from chat.request_preview.view_model import REASONS
from reasoning.events import AssistantMessage, AttachedFile, Compaction
from reasoning.replay.selection import ReasonWords
from reasoning.replay.tokens import text_tokens
from tests.factories import (
    SECRET,
    client_of,
    make_conversation,
    make_history,
    make_profile,
    make_thought,
    make_tool_step,
    make_turn,
)

HTMX = {"HX-Request": "true"}


@pytest.fixture
def own(alice):
    return make_conversation(owner=alice, title="Covenants")


def shown(conversation: Conversation, draft: str = "") -> HtmlElement:
    """Return what the context meter loads when it is opened."""
    address = f"/chats/{conversation.pk}/next-request/"
    answer = client_of(conversation.owner).post(address, {"text": draft}, headers=HTMX)
    assert answer.status_code == 200
    return fromstring(f"<div>{answer.text}</div>")


def parts(root: HtmlElement) -> dict[str, int]:
    rows = root.xpath(".//*[@class='parts']/div")
    return {row[0].text_content().strip(): int(row[1].text_content().replace(",", "")) for row in rows}


def not_sent(root: HtmlElement) -> list[str]:
    return [" ".join(line.text_content().split()) for line in root.xpath(".//*[@class='parts__left-out']/li")]


@pytest.mark.spec("product 14")
def test_next_request_is_404_for_everybody_but_its_owner(own, sam, ada):
    address = f"/chats/{own.pk}/next-request/"

    assert client_of(own.owner).get(address).status_code == 200
    assert {client_of(person).get(address).status_code for person in (sam, ada)} == {404}
    assert Client().get(address).status_code == 302


def test_page_has_the_parts_in_the_frame_of_every_page(own):
    make_turn(own)

    page = fromstring(client_of(own.owner).get(f"/chats/{own.pk}/next-request/").text)

    assert set(parts(page)) == {"System prompt", "Tools and their results", "Earlier messages", "Remaining"}
    assert page.xpath("//*[@id='conversations']")


def test_parts_add_up_to_the_limit(own):
    make_history(own, make_thought(), *make_tool_step(), AssistantMessage(text="Because of it. " * 50, step=1))

    assert sum(parts(shown(own, "And why?")).values()) == 32_000


@pytest.mark.parametrize("draft", ["Why?", "Why is that? " * 100])
def test_text_of_the_composer_counts_as_the_question(own, draft):
    assert parts(shown(own, draft))["Your question"] == text_tokens(draft.strip())
    assert "Your question" not in parts(shown(own))


def test_files_of_questions_and_of_the_composer_count(own):
    file = AttachedFile(id="f1", name="lease.txt", media_type="text/plain", chars=4_000)
    make_turn(own)
    assert "Attached files" not in parts(shown(own))

    text = "word " * 400
    attachments.store(own, name=file.name, media_type=file.media_type, content=text.encode(), text=text, is_cut=False)
    assert parts(shown(own))["Attached files"] == text_tokens(text)


@pytest.mark.parametrize(
    "own_settings", [{}, {"reasoning.includeInContext": True, "reasoning.stripFromContext": "all"}]
)
def test_old_thinking_that_is_not_sent_is_one_line_with_its_tokens(own, own_settings):
    own.reasoning = own_settings
    own.save()
    for _turn in range(3):
        make_history(own, make_thought("x" * 40), AssistantMessage(text="Because.", step=0))

    assert not_sent(shown(own)) == ["Thinking of earlier answers isn’t sent. 30"]


def test_thinking_that_is_sent_is_a_part(own):
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    make_history(own, make_thought("x" * 4_000), *make_tool_step())

    assert parts(shown(own))["Thinking"] > 900
    assert "Nothing is left out." in shown(own).text_content()


def test_summarised_messages_are_said_to_be(own):
    make_history(own, *make_tool_step(), question="First?")
    make_history(own, Compaction(to_seq=5, summary="They asked."), AssistantMessage(text="So."), question="Second?")

    [line] = not_sent(shown(own))
    assert line.startswith("Earlier messages were summarised.")


def test_every_reason_has_words_for_people():
    assert set(REASONS) == set(get_args(ReasonWords))


@pytest.mark.spec("004 flags")
def test_site_without_reasoning_does_not_say_that_there_is_thinking(own, settings):
    make_history(own, make_thought("x" * 400), AssistantMessage(text="Because.", step=0))
    settings.REASONING_ENABLED = False

    assert "hinking" not in shown(own).text_content()


@pytest.mark.spec("product 10")
def test_no_text_of_the_request_is_shown(own):
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    make_history(
        own, make_thought(f"canary {SECRET}"), *make_tool_step('{"query": "canary"}', "canary"), question="canary?"
    )

    assert "canary" not in shown(own, "canary").text_content()


@pytest.mark.spec("product 40")
def test_failure_names_no_setting_for_a_user(own, settings):
    own.profile = make_profile("p", api_key_env="ABSENT_API_KEY", base_url="http://127.0.0.1:9/v1")
    own.save()
    assert "ABSENT_API_KEY" not in shown(own).text_content()
    assert shown(own).xpath(".//*[@data-tone='danger']")


@pytest.mark.spec("product 40")
def test_history_that_cannot_be_decrypted_is_reported_without_the_setting(own, settings):
    make_history(own, *make_tool_step())
    settings.CONTENT_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    said = shown(own).text_content()
    assert "Tell your administrator" in said
    assert "CONTENT_KEYS" not in said


def test_meter_leads_to_the_parts_and_not_to_the_body(own):
    page = fromstring(client_of(own.owner).get(f"/chats/{own.pk}/").text)

    [meter] = page.xpath("//*[@id='context']")
    assert meter.xpath(".//a/@href") == [f"/chats/{own.pk}/next-request/"]
    assert meter.xpath(".//*[@hx-post]/@hx-post") == [f"/chats/{own.pk}/next-request/"]
