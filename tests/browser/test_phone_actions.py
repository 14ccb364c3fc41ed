"""On a phone an answer's row of actions is short: the main one, and the rest in a sheet behind one button. Ui 6."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cards import AnswerCard
from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site
from tests.browser.test_steadiness import starts_chat
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

NAMES = ["Retry", "Good answer", "Poor answer"]


def on_a_phone(visit: Visit, site: Site, **options: bool) -> tuple[Person, AnswerCard]:
    demo = visit(site, viewport=NARROW, **options)
    return demo, demo.reads_finished()


def named(card: AnswerCard, name: str) -> Locator:
    return card.root.get_by_role("button", name=name, exact=True)


def test_the_rest_is_in_a_sheet_that_keys_walk(visit: Visit, offline: Site) -> None:
    demo, card = on_a_phone(visit, offline)
    more, keys = named(card, "More actions"), demo.page.keyboard
    expect(named(card, "Copy")).to_be_visible()
    for name in NAMES:
        expect(named(card, name)).to_be_hidden()
    tall = card.root.evaluate("e => e.offsetHeight")

    more.focus()
    keys.press("Enter")

    for name in NAMES:
        keys.press("Tab")
        expect(named(card, name)).to_be_focused()
    assert card.root.evaluate("e => e.offsetHeight") == tall
    keys.press("Escape")
    expect(named(card, "Retry")).to_be_hidden()
    expect(more).to_be_focused()


def test_a_tap_beside_the_sheet_closes_it(visit: Visit, offline: Site) -> None:
    demo, card = on_a_phone(visit, offline)
    named(card, "More actions").click()
    expect(named(card, "Retry")).to_be_visible()

    demo.page.mouse.click(200, 200)

    expect(named(card, "Retry")).to_be_hidden()


def test_what_is_in_the_sheet_is_large_enough_and_says_what_it_is(visit: Visit, offline: Site) -> None:
    _demo, card = on_a_phone(visit, offline)
    more = named(card, "More actions")
    more.click()

    for button in (more, *(named(card, name) for name in NAMES)):
        box = button.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 24
    label = "e => getComputedStyle(e, '::after').content"
    assert "Poor answer" in named(card, "Poor answer").evaluate(label)


def test_an_opinion_is_given_in_the_sheet(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport=NARROW)
    starts_chat(demo)
    card = demo.asks("What would breach Northwind Tidal’s debt covenants?").ends()
    named(card, "More actions").click()

    named(card, "Poor answer").click()
    card.root.get_by_label("Note").fill("The ratio itself.")
    named(card, "Save").click()

    expect(card.root.get_by_text("Thank you")).to_be_visible()
    expect(named(card, "Poor answer")).to_have_attribute("aria-pressed", "true")


def test_the_sheet_opens_without_script(visit: Visit, offline: Site) -> None:
    demo, card = on_a_phone(visit, offline, java_script_enabled=False)

    named(card, "More actions").click()
    demo.submits(named(card, "Good answer"))
    named(card, "More actions").click()

    expect(named(card, "Good answer")).to_have_attribute("aria-pressed", "true")
    demo.submits(named(card, "Good answer"))


def test_there_is_room_for_all_of_them_elsewhere(visit: Visit, offline: Site) -> None:
    card = visit(offline).reads_finished()

    expect(named(card, "More actions")).to_be_hidden()
    tops = {named(card, name).bounding_box()["y"] for name in ["Copy", *NAMES]}  # type: ignore[index]
    assert len(tops) == 1


def test_a_card_that_failed_has_its_way_on_at_hand_and_asks_for_no_opinion(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = visit(connected, viewport=NARROW)
    starts_chat(demo)

    card = demo.asks("Anyone?").ends("error")

    expect(named(card, "Retry")).to_be_visible()
    for name in ("More actions", "Good answer", "Poor answer"):
        expect(named(card, name)).to_have_count(0)


@pytest.mark.parametrize("has_text", [True, False])
def test_a_stopped_answer_is_judged_only_where_there_is_one(
    visit: Visit, connected: Site, model: ContractHandle, has_text: bool
) -> None:
    model.script([reply(says(opening(), "It begins. ") if has_text else [], waits("rest"), says("It ends."))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("How long does it take?").streams()
    if has_text:
        expect(card.answer).to_contain_text("It begins")

    demo.stop_button.click()
    card.ends("stopped")

    expect(named(card, "Good answer")).to_have_count(int(has_text))
    demo.page.reload()
    expect(card.root).to_have_attribute("data-status", "stopped")
    expect(named(card, "Good answer")).to_have_count(int(has_text))
