"""Keys for what has a button elsewhere, the sheet that lists them, and its switches. Ui section 3."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import plain
from tests.contract_server.fixture import ContractHandle

SHEET = "Control+/"


@pytest.fixture
def reader(visit: Visit, offline: Site) -> Person:
    demo = visit(offline)
    demo.reads_finished()
    return demo


def _sheet(person: Person) -> Locator:
    return person.page.get_by_role("dialog", name="Keyboard shortcuts")


def _switches(person: Person, name: str) -> None:
    """Throw a switch of the sheet and close the sheet."""
    person.page.get_by_role("button", name="Keyboard shortcuts").click()
    _sheet(person).get_by_role("switch", name=name).click()
    person.page.keyboard.press("Escape")
    expect(_sheet(person)).to_be_hidden()


def _presses(person: Person, keys: str) -> None:
    person.page.keyboard.press(keys)


def test_sheet_opens_and_closes_by_keys_and_gives_the_focus_back(reader: Person) -> None:
    reader.composer.focus()
    _presses(reader, SHEET)
    expect(_sheet(reader)).to_be_visible()
    expect(_sheet(reader).get_by_text("Previous or next message")).to_be_visible()
    _presses(reader, SHEET)
    expect(_sheet(reader)).to_be_hidden()
    expect(reader.composer).to_be_focused()

    _presses(reader, SHEET)
    _presses(reader, "Escape")

    expect(_sheet(reader)).to_be_hidden()


def test_thinking_and_steps_of_the_card_open_and_close(reader: Person) -> None:
    card = reader.answer()

    _presses(reader, "Alt+r")
    expect(card.thought).to_be_visible()
    _presses(reader, "Alt+t")
    expect(card.steps.first).to_be_visible()
    _presses(reader, "Alt+r")
    expect(card.thought).to_be_hidden()
    _presses(reader, "Alt+t")
    expect(card.steps.first).to_be_hidden()

    assert [toggle["detail"]["payload"]["expanded"] for toggle in reader.watch.toggles] == [True, False]


@pytest.mark.slow
def test_focus_walks_over_the_messages_and_keys_mean_the_focused_one(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([plain("One."), plain("Two.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").ends()
    demo.asks("Second?").ends()
    messages = demo.page.locator("#messages > article")

    messages.nth(3).evaluate("card => { card.tabIndex = -1; card.focus() }")
    for index in (2, 1, 0, 0):
        _presses(demo, "Alt+PageUp")
        expect(messages.nth(index)).to_be_focused()
    _presses(demo, "Alt+PageDown")

    expect(messages.nth(1)).to_be_focused()
    assert demo.page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0


@pytest.mark.slow
def test_all_reasoning_is_hidden_and_shown(reader: Person) -> None:
    _presses(reader, "Alt+Shift+r")
    expect(reader.answer().summary).to_have_count(0)
    _presses(reader, "Alt+Shift+r")

    expect(reader.answer().summary).to_be_visible()


@pytest.mark.slow
def test_new_chat_and_composer(reader: Person) -> None:
    before = reader.page.url
    with reader.page.expect_navigation():
        _presses(reader, "Control+Shift+o")
    expect(reader.page.get_by_role("heading", name="What would you like to check?")).to_be_visible()
    assert reader.page.url != before

    _presses(reader, "Shift+Escape")

    expect(reader.composer).to_be_focused()


@pytest.mark.slow
def test_column_is_put_away_and_brought_back(reader: Person) -> None:
    column = reader.page.locator("#side")
    _presses(reader, "Control+Shift+s")
    expect(column).to_be_hidden()
    reader.page.get_by_role("button", name="Conversations", exact=True).click()
    expect(column).to_be_visible()
    _presses(reader, "Control+Shift+s")
    expect(column).to_be_hidden()
    _presses(reader, "Control+Shift+s")

    expect(column).to_be_visible()


@pytest.mark.slow
def test_drawer_opens_and_closes_on_a_phone(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport=NARROW)
    demo.reads_finished()

    _presses(demo, "Control+Shift+s")
    expect(demo.page.locator("#side")).to_be_visible()
    _presses(demo, "Control+Shift+s")

    expect(demo.page.locator("#side")).to_be_hidden()


@pytest.mark.slow
def test_keys_do_nothing_once_switched_off_and_it_lasts(reader: Person) -> None:
    _switches(reader, "Use these shortcuts")
    reader.page.reload()

    _presses(reader, SHEET)
    _presses(reader, "Alt+t")
    reader.page.get_by_role("button", name="Keyboard shortcuts").click()

    expect(_sheet(reader)).to_be_visible()
    expect(_sheet(reader).get_by_role("switch", name="Use these shortcuts")).not_to_be_checked()
    expect(reader.answer().trace).not_to_have_attribute("open", re.compile(""))


@pytest.mark.slow
def test_enter_begins_a_line_once_swapped(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("Taken.")])
    demo = visit(connected)
    demo.starts_chat()
    _switches(demo, "Enter sends")

    demo.composer.press_sequentially("One")
    _presses(demo, "Enter")
    demo.composer.press_sequentially("Two")
    expect(demo.composer).to_have_value("One\nTwo")
    _presses(demo, "Shift+Enter")

    demo.answer().ends()
    assert demo.page.locator("[data-role=user] .question").inner_text() == "One\nTwo"


@pytest.mark.slow
def test_last_answer_is_copied_only_when_asked_for(reader: Person) -> None:
    copied = reader.page.get_by_role("status").filter(has_text="Copied")
    _presses(reader, "Control+Shift+c")
    _switches(reader, "Copy the last answer")
    expect(copied).to_have_count(0)

    _presses(reader, "Control+Shift+c")

    expect(copied).to_be_attached()
    assert "word for word" in reader.page.evaluate("navigator.clipboard.readText()")


@pytest.mark.slow
def test_no_letter_alone_is_a_shortcut(reader: Person) -> None:
    before = reader.page.url
    for key in "abcdefghijklmnopqrstuvwxyz/?":
        _presses(reader, key)

    expect(reader.page.get_by_role("dialog")).to_have_count(0)
    expect(reader.answer().thought).to_be_hidden()
    assert reader.page.url == before
