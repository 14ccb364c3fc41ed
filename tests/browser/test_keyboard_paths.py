"""Longer ways without a mouse: edit, branches, search, rename and delete, scratchpad, share. Ui bar A3, 6 to 12."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import MakeSite
from tests.browser.keys import tabs_to
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.test_conversations import form_is_open
from tests.browser.upstream import opening, reply, says
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

PHONE = {"width": 360, "height": 740}


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def listed(page: Page, title: str) -> Locator:
    return page.locator("#conversations").get_by_role("link", name=title, exact=True)


def begin(demo: Person, model: ContractHandle, answer: str) -> None:
    """Ask one question in a new conversation, which is then called by the answer's first sentence."""
    model.script([reply(says(opening(), answer))])
    demo.starts_chat()
    demo.asks("What do you know?").ends()
    expect(demo.page.get_by_role("heading", level=1)).to_have_text(answer.split(". ")[0])


def goes_back_to_the_top(person: Person) -> None:
    """Let Tab begin where the page does."""
    person.page.evaluate("document.activeElement.blur(); getSelection().collapse(document.body, 0)")


def test_question_is_edited_and_asked_again_and_branches_are_walked(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    demo = visit(connected)
    begin(demo, model, "Herons stand still. For hours.")
    model.script([reply(says(opening(), "Storks clatter. Loudly."))])

    goes_back_to_the_top(demo)
    tabs_to(demo, demo.page.get_by_role("link", name="Edit question 1"))
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()
    demo.page.keyboard.press("Control+a")
    demo.page.keyboard.type("What of storks?")
    tabs_to(demo, button(demo.page, "Save and run again"))
    demo.page.keyboard.press("Enter")
    expect(demo.page.locator(".question")).to_have_text(["What of storks?"])
    demo.answer().ends()

    goes_back_to_the_top(demo)
    tabs_to(demo, button(demo.page, "Previous version"))
    demo.page.keyboard.press("Enter")
    expect(demo.answer().answer).to_have_text("Herons stand still. For hours.")
    expect(button(demo.page, "Next version")).to_be_focused()
    demo.page.keyboard.press("Space")

    expect(demo.answer().answer).to_have_text("Storks clatter. Loudly.")


def test_focus_is_not_lost_with_the_form_of_an_edited_question(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    demo = visit(connected)
    begin(demo, model, "Geese fly. In lines.")
    model.script([reply(says(opening(), "Swans glide. Slowly."))])

    demo.page.get_by_role("link", name="Edit question 1").focus()
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()
    demo.page.keyboard.type(" Or swans?")
    demo.page.keyboard.press("Control+Enter")
    expect(demo.page.locator(".question")).to_have_text(["What do you know? Or swans?"])
    demo.answer().ends()

    expect(demo.composer).to_be_focused()


def test_conversation_is_searched_and_opened(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "Badgers dig. At night.")
    begin(demo, model, "Nothing of note. Really.")

    goes_back_to_the_top(demo)
    tabs_to(demo, demo.page.get_by_role("searchbox", name="Search conversations"))
    demo.page.keyboard.type("badger")
    found = demo.page.locator("#conversations").get_by_role("link", name=re.compile("Badgers dig"))
    expect(found.locator("mark").first).to_be_visible()
    tabs_to(demo, found)
    demo.page.keyboard.press("Enter")

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Badgers dig")


def test_conversation_is_renamed_then_deleted_then_taken_back(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    demo = visit(connected)
    begin(demo, model, "Moles tunnel. Blindly.")
    begin(demo, model, "Voles scurry. About.")

    goes_back_to_the_top(demo)
    tabs_to(demo, demo.page.get_by_role("link", name="Rename, pin or delete: Moles tunnel"))
    demo.page.keyboard.press("Enter")
    form_is_open(demo.page)
    demo.page.keyboard.press("Control+a")
    demo.page.keyboard.type("Moles")
    demo.page.keyboard.press("Enter")
    expect(listed(demo.page, "Moles")).to_be_focused()

    tabs_to(demo, demo.page.get_by_role("link", name="Rename, pin or delete: Moles"))
    demo.page.keyboard.press("Enter")
    form_is_open(demo.page)
    tabs_to(demo, button(demo.page, "Delete"))
    demo.page.keyboard.press("Enter")
    expect(listed(demo.page, "Moles")).to_have_count(0)
    expect(button(demo.page, "Undo")).to_be_focused()
    demo.page.keyboard.press("Enter")

    expect(listed(demo.page, "Moles")).to_be_focused()


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_is_switched_on_and_off(visit: Visit, serve: MakeSite) -> None:
    admin = visit(serve(REASONING_SCRATCHPAD_ENABLED="true"), "admin")
    admin.starts_chat()

    goes_back_to_the_top(admin)
    tabs_to(admin, admin.scratchpad_switch)
    admin.page.keyboard.press("Space")
    expect(admin.scratchpad_switch).to_be_checked()
    expect(admin.scratchpad_switch).to_be_focused()
    admin.page.keyboard.press("Space")

    expect(admin.scratchpad_switch).not_to_be_checked()
    expect(admin.scratchpad_switch).to_be_focused()


def test_share_dialog_opens_and_closes_on_a_phone_and_gives_the_focus_back(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport=PHONE)
    demo.reads_finished()
    dialog = demo.page.get_by_role("dialog", name="Share this conversation")
    opener = demo.page.get_by_role("link", name="Share")

    tabs_to(demo, opener)
    demo.page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    tabs_to(demo, button(demo.page, "Create link"))
    tabs_to(demo, dialog.get_by_role("button", name="Close"))
    demo.page.keyboard.press("Escape")

    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
