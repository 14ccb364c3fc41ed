"""Commands in the composer, as a person writes them: completed by keyboard, mouse and finger, obeyed at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle


def _options(demo: Person) -> Locator:
    return demo.page.get_by_role("listbox", name="Commands").get_by_role("option")


def _answer(demo: Person) -> Locator:
    return demo.page.locator("#command")


def test_command_is_completed_by_keyboard_and_answered_without_a_turn(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()

    demo.composer.press_sequentially("/s")
    expect(_options(demo)).to_have_text(["/set show or change settings"])
    demo.composer.press("Tab")
    expect(demo.composer).to_have_value("/set ")
    demo.composer.press_sequentially("eff")
    demo.composer.press("Enter")
    expect(demo.composer).to_have_value("/set reasoning.effort ")
    demo.composer.press("ArrowDown")
    demo.composer.press("ArrowDown")
    expect(_options(demo).nth(1)).to_have_attribute("aria-selected", "true")
    expect(demo.composer).to_have_attribute("aria-activedescendant", "offer-1")
    demo.composer.press("Enter")
    expect(demo.composer).to_have_value("/set reasoning.effort minimal")
    expect(_options(demo)).to_have_count(0)
    demo.composer.press("Enter")

    expect(_answer(demo)).to_contain_text("reasoning.effort: minimal (this conversation)")
    expect(demo.composer).to_have_value("")
    expect(demo.page.locator("[data-message-id]")).to_have_count(0)
    _answer(demo).get_by_role("button", name="Dismiss").click()
    expect(_answer(demo)).to_be_empty()
    expect(demo.composer).to_be_focused()


@pytest.mark.slow
def test_escape_closes_the_list_and_the_rest_of_the_keys_are_left_alone(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()

    demo.composer.press_sequentially("/set ")
    expect(_options(demo).first).to_be_visible()
    demo.composer.press("Escape")
    expect(_options(demo)).to_have_count(0)
    expect(demo.composer).to_have_value("/set ")
    demo.composer.press("Enter")

    expect(_answer(demo).get_by_role("row")).to_have_count(9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"viewport": NARROW, "has_touch": True}])
def test_offer_is_taken_by_mouse_and_by_finger(visit: Visit, offline: Site, options: dict[str, object]) -> None:
    demo = visit(offline, **options)
    demo.open()
    demo.composer.press_sequentially("/prof")
    choose = Locator.tap if options else Locator.click

    choose(_options(demo).first)
    choose(_options(demo).filter(has_text="load"))
    choose(_options(demo).filter(has_text="kimi"))

    expect(demo.composer).to_have_value("/profile load kimi")
    expect(demo.composer).to_be_focused()


@pytest.mark.slow
def test_ordinary_text_is_offered_nothing(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()

    demo.composer.press_sequentially("/etc/hosts is what?")

    expect(_options(demo)).to_have_count(0)


@pytest.mark.spec("001 ERR-001")
def test_wrong_value_is_named_and_the_text_stays(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()

    demo.writes("/set reasoning.format xml")
    demo.send_button.click()

    expect(demo.page.get_by_role("alert").filter(has_text="'field' or 'native' only")).to_be_visible()
    expect(demo.composer).to_have_value("/set reasoning.format xml")


@pytest.mark.slow
@pytest.mark.spec("001 EC-005")
def test_thinking_goes_and_comes_in_all_open_pages_without_a_reload(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([reply(thinks("Weighing it. " * 40), says(opening(), "It says so."))])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("Well?").ends()
    other = demo.in_another_tab()
    thinking = [page.locator("[data-ai-reasoning]") for page in (demo.page, other)]
    expect(thinking[1]).to_be_visible()

    demo.writes("/set reasoning.includeInResponse false")
    demo.send_button.click()
    for one in thinking:
        expect(one).to_have_count(0)
    demo.writes("/set reasoning.includeInResponse true")
    demo.send_button.click()

    for one in thinking:
        expect(one).to_be_visible()
    expect(other.locator("[data-answer]")).to_have_text("It says so.")


@pytest.mark.slow
def test_reader_keeps_their_place_when_thinking_goes(visit: Visit, connected: Site, model: ContractHandle) -> None:
    long = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(30))
    model.script([reply(thinks("Weighing it."), says(opening(), long)) for _turn in range(3)])
    demo = visit(connected)
    demo.starts_chat()
    for question in ("One?", "Two?", "Three?"):
        demo.asks(question).ends()
    other = demo.in_another_tab()
    place = other.locator("[data-answer] p").nth(45)
    place.scroll_into_view_if_needed()
    expect(other.get_by_role("button", name="Jump to latest")).to_be_visible()
    before = place.evaluate("one => one.getBoundingClientRect().top")

    demo.writes("/set reasoning.includeInResponse false")
    demo.send_button.click()
    expect(other.locator("[data-ai-reasoning]")).to_have_count(0)

    assert abs(place.evaluate("one => one.getBoundingClientRect().top") - before) < 60


@pytest.mark.slow
@pytest.mark.spec("001 EC-005")
def test_loaded_profile_moves_the_meter_of_all_open_pages(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(thinks("Weighing it. " * 400), says(opening(), "It says so."))])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("Well?").ends()
    other = demo.in_another_tab()
    meters = [page.locator("[data-context-usage]") for page in (demo.page, other)]
    demo.writes("/set reasoning.includeInContext true")
    demo.send_button.click()
    expect(_answer(demo)).to_contain_text("reasoning.includeInContext: true")
    demo.page.reload()
    with_thinking = meters[0].text_content() or ""
    expect(meters[1]).to_have_text(with_thinking)

    demo.writes("/profile load ollama")
    demo.send_button.click()

    for meter in meters:
        expect(meter).not_to_have_text(with_thinking)


@pytest.mark.slow
def test_saved_profile_is_offered_at_once(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.writes("/profile save evening")
    demo.send_button.click()
    expect(_answer(demo)).to_contain_text("Profile evening is saved.")

    demo.composer.press_sequentially("/profile load eve")

    expect(_options(demo)).to_have_text(["evening saved"])
