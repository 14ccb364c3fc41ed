"""A conversation on paper: title, questions, answers and sources, what is open of the rest, and nothing to press."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.people import Person, Visit
from tests.browser.sites import Site

pytestmark = pytest.mark.slow


@pytest.fixture
def reader(visit: Visit, offline: Site) -> Person:
    demo = visit(offline, color_scheme="dark")
    demo.reads_finished()
    return demo


def _prints(person: Person) -> None:
    person.page.emulate_media(media="print", color_scheme="dark")


def test_answer_summary_and_sources_are_printed_dark_on_light(reader: Person) -> None:
    _prints(reader)

    card = reader.answer()
    expect(reader.page.get_by_role("heading", level=1)).to_be_visible()
    expect(reader.page.locator("[data-role=user] .question")).to_be_visible()
    expect(card.answer).to_be_visible()
    expect(card.bullets.first).to_be_visible()
    expect(card.citations.first).to_be_visible()
    expect(card.answer).to_have_css("color", "rgb(27, 30, 25)")


def test_nothing_to_press_is_printed(reader: Person) -> None:
    _prints(reader)

    for pressed in reader.page.locator("button, textarea, select, nav").all():
        expect(pressed).to_be_hidden()
    expect(reader.page.locator("#side")).to_be_hidden()


def test_closed_panels_are_not_printed(reader: Person) -> None:
    card = reader.answer()
    card.summary.locator("> summary").click()
    expect(card.bullets.first).to_be_hidden()
    _prints(reader)

    expect(card.answer).to_be_visible()
    for part in (card.summary, card.trace, card.thinking, card.root.locator(".work")):
        expect(part).to_be_hidden()


def test_open_panels_are_printed_whole(reader: Person) -> None:
    card = reader.answer()
    card.opens_trace()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    _prints(reader)

    expect(card.steps.first).to_be_visible()
    expect(card.thought).to_be_visible()
    expect(card.thought).to_have_css("max-height", "none")


def test_paper_is_not_wider_than_its_page(reader: Person) -> None:
    reader.page.set_viewport_size({"width": 640, "height": 900})
    _prints(reader)

    width = reader.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1]
