"""The same without a mouse: every stop is reached with Tab, shows where it is, and answers to Enter, Space or Escape.

Ui bar A3, tasks 1 to 4, 10 and 12.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.keys import tabs_to
from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says, waits
from tests.contract_server.fixture import ContractHandle


@pytest.fixture
def reader(visit: Visit, offline: Site) -> Person:
    demo = visit(offline)
    demo.reads_finished()
    return demo


@pytest.mark.slow
def test_first_stop_skips_to_the_messages(reader: Person) -> None:
    reader.page.keyboard.press("Tab")
    expect(reader.page.get_by_role("link", name="Skip to messages")).to_be_focused()
    reader.page.keyboard.press("Enter")

    expect(reader.page.get_by_role("main")).to_be_focused()


def test_message_is_sent_and_stopped(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected)
    demo.starts_chat()

    tabs_to(demo, demo.composer)
    demo.page.keyboard.type("Do you take keys?")
    demo.page.keyboard.press("Enter")
    card = demo.answer().streams()
    expect(card.answer).to_contain_text("It begins")
    demo.page.keyboard.press("Escape")

    card.ends("stopped")
    expect(demo.composer).to_be_focused()


@pytest.mark.slow
def test_stop_is_a_stop_of_its_own_and_focus_is_not_lost(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Do you take keys?").streams()

    demo.composer.focus()
    tabs_to(demo, demo.stop_button)
    demo.page.keyboard.press("Enter")

    card.ends("stopped")
    expect(demo.composer).to_be_focused()


def test_summary_steps_and_thinking_open_and_close(reader: Person) -> None:
    card = reader.answer()

    tabs_to(reader, card.summary.locator("> summary"))
    reader.page.keyboard.press("Enter")
    expect(card.bullets.first).to_be_hidden()
    tabs_to(reader, card.trace_bar)
    reader.page.keyboard.press("Space")
    expect(card.steps.first).to_be_visible()
    reader.page.keyboard.press("Space")
    expect(card.steps.first).to_be_hidden()
    tabs_to(reader, card.toggle)
    reader.page.keyboard.press("Enter")
    expect(card.thought).to_be_visible()
    expect(card.toggle).to_be_focused()
    reader.page.keyboard.press("Space")
    expect(card.thought).to_be_hidden()

    assert [toggle["detail"]["payload"]["expanded"] for toggle in reader.watch.toggles] == [True, False]


@pytest.mark.slow
def test_copy_buttons_answer_to_enter(reader: Person) -> None:
    for name in ("Copy trace", "Copy"):
        tabs_to(reader, reader.answer().root.get_by_role("button", name=name, exact=True))
        reader.page.keyboard.press("Enter")
        expect(reader.answer().root.get_by_role("button", name="Copied")).to_be_visible()
        expect(reader.page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
        expect(reader.answer().root.get_by_role("button", name="Copied")).to_be_hidden()


def test_reasoning_is_switched_off_and_on(reader: Person) -> None:
    tabs_to(reader, reader.reasoning_switch)
    reader.page.keyboard.press("Space")
    expect(reader.answer().summary).to_have_count(0)
    expect(reader.reasoning_switch).to_be_focused()
    reader.page.keyboard.press("Space")

    expect(reader.answer().summary).to_be_visible()


@pytest.mark.slow
def test_drawer_opens_and_closes_and_gives_the_focus_back(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport=NARROW)
    demo.reads_finished()
    opener = demo.page.get_by_role("button", name="Conversations")

    tabs_to(demo, opener)
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("button", name="New chat")).to_be_visible()
    demo.page.keyboard.press("Escape")

    expect(demo.page.get_by_role("button", name="New chat")).to_be_hidden()
    expect(opener).to_be_focused()
    expect(demo.page).to_have_url(re.compile("/chats/"))
