"""The main journey with the offline analyst: ask, watch, check the work, come back. Contracts, The page; ui 1, 2, 5."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.cards import AnswerCard
from tests.browser.people import Person, Visit
from tests.browser.sites import Site

QUESTION = "What would breach Northwind Tidal’s debt covenants?"
READ_CLIPBOARD = "() => navigator.clipboard.readText()"


def _finished(visit: Visit, offline: Site) -> tuple[Person, AnswerCard]:
    demo = visit(offline)
    return demo, demo.reads_finished().ends()


def _is_in_view(page: Page, selector: str) -> bool:
    script = "e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight }"
    return bool(page.locator(selector).evaluate(script))


def test_starter_question_streams_to_a_complete_card(visit: Visit, offline: Site) -> None:
    demo = visit(offline, signed_in=False)
    demo.open()
    demo.signs_in()
    demo.starts_chat()

    demo.page.get_by_role("button", name=QUESTION).click()
    card = demo.answer().streams()
    expect(card.status).to_contain_text(re.compile(r"(Thinking|Searching filings).* \d+ s"))
    card.ends()

    expect(card.bullets.first).to_be_visible()
    assert demo.watch.seen("state", card=card.id) == ["streaming", "complete"]
    assert {"Thinking…", "Searching filings…"} <= set(demo.watch.seen("status", card=card.id))
    expect(demo.page.locator("[data-role=user] p")).to_have_text(QUESTION)
    expect(card.answer).not_to_be_empty()
    expect(demo.page.get_by_role("status").filter(has_text="Answer ready, 1 step")).to_be_attached()


def test_finished_card_shows_two_to_five_points_and_keeps_the_rest_closed(visit: Visit, offline: Site) -> None:
    _demo, card = _finished(visit, offline)

    expect(card.bullets.first).to_be_visible()
    assert 2 <= card.bullets.count() <= 5
    expect(card.trace).not_to_have_attribute("open", re.compile(""))
    expect(card.steps.first).to_be_hidden()
    expect(card.thinking).to_have_attribute("data-collapsed", "true")
    expect(card.thought).to_be_hidden()


def test_card_is_named_in_one_breath(visit: Visit, offline: Site) -> None:
    demo, _card = _finished(visit, offline)

    expect(
        demo.page.get_by_role("article", name=re.compile(r"^Answer 1 ?, Offline analyst ?, \d\d:\d\d$"))
    ).to_be_visible()


@pytest.mark.spec("004 trace")
def test_trace_opens_to_tool_arguments_duration_results_and_citations(visit: Visit, offline: Site) -> None:
    _demo, card = _finished(visit, offline)

    card.opens_trace()

    step = card.steps.first
    expect(step).to_contain_text("searchFilings")
    expect(step.get_by_role("definition").first).to_contain_text("turbines")
    expect(step).to_contain_text(re.compile(r"\d+ results?"))
    expect(step).to_contain_text(re.compile(r"\d+ ms|\d+\.\d s"))
    expect(step.locator("a[data-citation]").first).to_have_text(re.compile(r"10-K · \d{4}-\d\d-\d\d · Item"))


def test_copy_trace_puts_the_redacted_steps_on_the_clipboard(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)

    card.root.get_by_role("button", name="Copy trace").click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()

    [step] = json.loads(demo.page.evaluate(READ_CLIPBOARD))
    assert step["tool"] == "searchFilings"
    assert step["status"] == "ok"
    assert {"args", "durationMs", "results", "topCitations"} <= step.keys()


def test_copy_puts_the_answer_and_its_numbered_citations_on_the_clipboard(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)

    card.root.get_by_role("button", name="Copy", exact=True).click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()

    copied = demo.page.evaluate(READ_CLIPBOARD)
    assert "The filings say this, word for word" in copied
    assert re.search(r"^\[1\] 10-K · ", copied, re.MULTILINE)
    assert "Thought" not in copied


def test_citation_opens_the_quoted_passage_and_back_returns(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)
    conversation = demo.page.url
    quotation = card.answer.locator("q").first.text_content() or ""

    card.answer.locator("a[data-citation]").first.click()

    passage = demo.page.locator("[data-passage]:target")
    expect(passage).to_be_visible()
    assert _is_in_view(demo.page, "[data-passage]:target")
    expect(passage).to_contain_text(quotation)
    plain = demo.page.locator("[data-passage]:not(:target)").first
    background = "e => getComputedStyle(e).backgroundColor"
    assert passage.evaluate(background) != plain.evaluate(background)
    demo.page.go_back()
    expect(demo.page).to_have_url(conversation)
    expect(demo.answer().answer).to_be_visible()


@pytest.mark.spec("000 dom")
def test_each_toggle_by_a_person_fires_exactly_one_event(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)
    tokens = int(card.thinking.get_attribute("data-token-est") or 0)

    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    card.toggle.click()
    expect(card.thought).to_be_hidden()
    expect(card.thinking).to_have_attribute("data-collapsed", "true")

    payloads = [{"msgId": card.id, "expanded": expanded, "tokens": tokens} for expanded in (True, False)]
    assert tokens > 0
    assert [toggle["detail"] for toggle in demo.watch.toggles] == [
        {"type": "reasoning_toggle", "payload": payload} for payload in payloads
    ]
    assert all(toggle["onToggle"] for toggle in demo.watch.toggles)


@pytest.mark.spec("000 dom")
def test_nothing_but_the_toggle_fires_the_event(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)
    card.opens_thinking()
    card.opens_trace()
    card.summary.locator("summary").click()
    demo.reasoning_switch.click()
    expect(card.thinking).to_have_count(0)
    demo.reasoning_switch.click()
    expect(card.thought).to_be_visible()

    demo.page.reload()
    expect(card.thought).to_be_visible()

    assert len(demo.watch.toggles) == 1


def test_reload_shows_the_same_card_and_what_was_opened(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    before, thought = card.texts(), card.thought.text_content()

    demo.page.reload()

    expect(card.thinking).to_have_attribute("data-collapsed", "false")
    expect(card.thought).to_have_text(thought or "")
    assert card.texts() == before


def test_stranger_finds_neither_page_nor_its_parts(visit: Visit, offline: Site) -> None:
    demo, card = _finished(visit, offline)
    sam = visit(offline, "sam")
    sam.watch.expected.append("404")
    turn = f"{demo.page.url}turns/{card.id}/"

    for address in (demo.page.url, f"{demo.page.url}messages/", f"{turn}thinking/", f"{turn}trace/", f"{turn}copy/"):
        response = sam.page.goto(address)
        assert response is not None
        assert response.status == 404
        assert "turbine" not in response.text()
