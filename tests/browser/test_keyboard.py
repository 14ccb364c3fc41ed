"""The same without a mouse: stops of Tab that show the focus, and the shortcuts of the page."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.keys import tabs_to
from tests.browser.people import NARROW, Person
from tests.browser.upstream import opening, plain, reply, says, waits

PHONE = {"width": 360, "height": 740}


@pytest.fixture
def reader(visit, offline):
    demo = visit(offline)
    demo.reads_finished()
    return demo


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def returns_to_the_top(person: Person) -> None:
    """Let Tab begin where the page does."""
    person.page.evaluate("document.activeElement.blur(); getSelection().collapse(document.body, 0)")


def keys_dialog(person: Person) -> Locator:
    return person.page.get_by_role("dialog", name="Keyboard shortcuts")


def toggles_choice(person: Person, name: str) -> None:
    """Click a switch in the dialog of shortcuts, and close it."""
    person.page.get_by_role("button", name="Keyboard shortcuts").click()
    keys_dialog(person).get_by_role("switch", name=name).click()
    person.page.keyboard.press("Escape")
    expect(keys_dialog(person)).to_be_hidden()


def test_message_is_sent_stopped_by_its_button_and_the_focus_is_not_lost(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected)
    demo.starts_chat()

    tabs_to(demo, demo.composer)
    demo.page.keyboard.type("Do you take keys?")
    demo.page.keyboard.press("Enter")
    card = demo.answer().streams()
    expect(card.answer).to_contain_text("It begins")
    tabs_to(demo, demo.stop_button)
    demo.page.keyboard.press("Enter")

    card.ends("stopped")
    expect(demo.composer).to_be_focused()


def test_work_behind_an_answer_opens_and_closes(reader):
    card = reader.answer()

    tabs_to(reader, card.summary.locator("> summary"))
    reader.page.keyboard.press("Enter")
    expect(card.bullets.first).to_be_hidden()
    tabs_to(reader, card.trace_bar)
    reader.page.keyboard.press("Space")
    expect(card.steps.first).to_be_visible()
    reader.page.keyboard.press("Space")
    expect(card.steps.first).to_be_hidden()
    tabs_to(reader, card.root.get_by_role("button", name="Copy trace"))
    reader.page.keyboard.press("Enter")
    expect(reader.page.get_by_role("status").filter(has_text="Copied")).to_be_attached()
    tabs_to(reader, card.toggle)
    reader.page.keyboard.press("Enter")
    expect(card.thought).to_be_visible()
    expect(card.toggle).to_be_focused()
    reader.page.keyboard.press("Space")

    expect(card.thought).to_be_hidden()


def test_shortcuts_switch_reasoning_open_thinking_and_steps_and_list_themselves(reader):
    tabs_to(reader, reader.reasoning_switch)
    reader.page.keyboard.press("Space")
    expect(reader.answer().summary).to_have_count(0)
    expect(reader.reasoning_switch).to_be_focused()
    reader.page.keyboard.press("Alt+Shift+r")
    expect(reader.answer().summary).to_be_visible()

    card, keys = reader.answer(), reader.page.keyboard
    keys.press("Alt+r")
    expect(card.thought).to_be_visible()
    keys.press("Alt+t")
    expect(card.steps.first).to_be_visible()
    keys.press("Alt+r")
    expect(card.thought).to_be_hidden()
    keys.press("Alt+t")
    expect(card.steps.first).to_be_hidden()
    reader.composer.focus()
    keys.press("Control+/")
    expect(keys_dialog(reader).get_by_text("Previous or next message")).to_be_visible()
    keys.press("Control+/")

    expect(keys_dialog(reader)).to_be_hidden()
    expect(reader.composer).to_be_focused()


@pytest.mark.slow
def test_first_stop_skips_to_the_messages(reader):
    expect(reader.composer).to_be_focused()  # writing can begin at once
    reader.page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    reader.page.keyboard.press("Tab")
    expect(reader.page.get_by_role("link", name="Skip to messages")).to_be_focused()
    reader.page.keyboard.press("Enter")

    expect(reader.page.get_by_role("main")).to_be_focused()


@pytest.mark.slow
def test_question_is_edited_and_its_versions_are_stepped_through(visit, connected, model):
    model.script([plain("Herons wait. For hours."), plain("Storks clatter. Loudly.")])
    demo = visit(connected)
    demo.has_conversation("What do you know?")

    returns_to_the_top(demo)
    tabs_to(demo, demo.page.get_by_role("link", name="Edit question 1"))
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()
    demo.page.keyboard.press("Control+a")
    demo.page.keyboard.type("What of storks?")
    tabs_to(demo, button(demo.page, "Save and submit"))
    demo.page.keyboard.press("Enter")
    expect(demo.page.locator(".question")).to_have_text(["What of storks?"])
    demo.answer().ends()
    expect(demo.composer).to_be_focused()  # the form that had the focus is gone

    returns_to_the_top(demo)
    tabs_to(demo, button(demo.page, "Previous version"))
    demo.page.keyboard.press("Enter")
    expect(demo.answer().answer).to_have_text("Herons wait. For hours.")
    expect(button(demo.page, "Next version")).to_be_focused()
    demo.page.keyboard.press("Space")

    expect(demo.answer().answer).to_have_text("Storks clatter. Loudly.")


@pytest.mark.slow
@pytest.mark.spec("004 scratchpad")
def test_scratchpad_is_switched_on_and_off(visit, serve):
    admin = visit(serve(REASONING_SCRATCHPAD_ENABLED="true"), "admin")
    admin.starts_chat()

    returns_to_the_top(admin)
    tabs_to(admin, admin.scratchpad_switch)
    for is_on in (True, False):
        with admin.page.expect_response(lambda response: response.request.method == "POST" and response.ok):
            admin.page.keyboard.press("Space")
        expect(admin.scratchpad_switch).to_be_checked(checked=is_on)
        expect(admin.scratchpad_switch).to_be_focused()


@pytest.mark.slow
def test_button_that_goes_with_its_card_leaves_the_focus_in_the_composer(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest")), reply(says("It goes on.")), plain("Anew.")])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Where is the focus?")
    expect(card.answer).to_contain_text("It begins")
    demo.writes("Never asked")
    demo.composer.press("Enter")
    queued = demo.page.locator("#queue > article")

    tabs_to(demo, queued.get_by_role("button", name="Remove"))
    demo.page.keyboard.press("Enter")
    expect(queued).to_have_count(0)
    expect(demo.composer).to_be_focused()
    demo.page.keyboard.press("Escape")
    tabs_to(demo, card.ends("stopped").root.get_by_role("button", name="Continue"))
    demo.page.keyboard.press("Enter")
    expect(card.ends().answer).to_contain_text("It goes on.")
    expect(demo.composer).to_be_focused()
    tabs_to(demo, card.retry)
    demo.page.keyboard.press("Enter")

    expect(demo.answer().answer).to_have_text("Anew.")
    expect(demo.composer).to_be_focused()


@pytest.mark.slow
def test_share_dialog_of_a_phone_opens_and_closes_and_returns_the_focus(visit, offline):
    demo = visit(offline, viewport=PHONE)
    demo.reads_finished()
    dialog = demo.page.get_by_role("dialog", name="Share this conversation")
    opener = demo.page.get_by_role("link", name="Conversation menu", exact=True)

    tabs_to(demo, opener)
    demo.page.keyboard.press("Enter")
    expect(demo.reasoning_switch).to_be_focused()
    for _item in ("Rename", "Pin", "Archive", "Move to project", "Share"):
        demo.page.keyboard.press("ArrowDown")
    demo.page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    tabs_to(demo, button(demo.page, "Create link"))
    tabs_to(demo, dialog.get_by_role("button", name="Close"))
    demo.page.keyboard.press("Escape")

    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


@pytest.mark.slow
def test_drawer_of_a_phone_opens_and_closes_and_returns_the_focus(visit, offline):
    demo = visit(offline, viewport=NARROW)
    demo.reads_finished()
    opener = button(demo.page, "Conversations")

    tabs_to(demo, opener)
    demo.page.keyboard.press("Enter")
    expect(button(demo.page, "Temporary chat")).to_be_visible()
    demo.page.keyboard.press("Escape")
    expect(button(demo.page, "Temporary chat")).to_be_hidden()
    expect(opener).to_be_focused()
    demo.page.keyboard.press("Enter")
    tabs_to(demo, button(demo.page, "Close"))
    demo.page.keyboard.press("Enter")
    expect(button(demo.page, "Temporary chat")).to_be_hidden()
    expect(opener).to_be_focused()
    demo.page.keyboard.press("Control+Shift+s")
    expect(demo.page.locator("#side")).to_be_visible()
    demo.page.keyboard.press("Control+Shift+s")

    expect(demo.page.locator("#side")).to_be_hidden()


@pytest.mark.slow
def test_focus_moves_over_the_messages(visit, connected, model):
    model.script([plain("One."), plain("Two.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").ends()
    demo.asks("Second?").ends()
    messages = demo.page.locator("#messages > article")

    messages.nth(3).evaluate("card => { card.tabIndex = -1; card.focus() }")
    for index in (2, 1, 0, 0):
        demo.page.keyboard.press("Alt+PageUp")
        expect(messages.nth(index)).to_be_focused()
    demo.page.keyboard.press("Alt+PageDown")

    expect(messages.nth(1)).to_be_focused()
    assert messages.nth(1).evaluate("card => card.getBoundingClientRect().top") >= 0


@pytest.mark.slow
def test_shortcuts_begin_a_chat_and_hide_and_show_the_sidebar(reader):
    sidebar = reader.page.locator("#side")

    reader.page.keyboard.press("Control+Shift+o")
    expect(reader.page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    reader.page.keyboard.press("Control+Shift+s")
    expect(sidebar).to_be_hidden()
    button(reader.page, "Conversations").click()
    expect(sidebar).to_be_visible()
    reader.page.keyboard.press("Control+Shift+s")
    expect(sidebar).to_be_hidden()
    reader.page.keyboard.press("Control+Shift+s")
    expect(sidebar).to_be_visible()
    reader.page.keyboard.press("Shift+Escape")

    expect(reader.composer).to_be_focused()


@pytest.mark.slow
def test_choices_of_keys_hold_also_after_a_reload(visit, connected, model):
    model.script([plain("Accepted.")])
    demo = visit(connected)
    demo.starts_chat()
    toggles_choice(demo, "Enter sends")
    demo.composer.press_sequentially("One")
    demo.composer.press("Enter")
    demo.composer.press_sequentially("Two")
    expect(demo.composer).to_have_value("One\nTwo")
    demo.composer.press("Shift+Enter")
    demo.answer().ends()
    assert demo.page.locator("[data-role=user] .question").inner_text() == "One\nTwo"

    copied = demo.page.get_by_role("status").filter(has_text="Copied")
    demo.page.keyboard.press("Control+Shift+c")  # off by default: browsers use these keys
    toggles_choice(demo, "Copy the last answer")
    expect(copied).to_have_count(0)
    demo.page.keyboard.press("Control+Shift+c")
    expect(copied).to_be_attached()
    assert demo.clipboard().startswith("Accepted.")

    toggles_choice(demo, "Use keyboard shortcuts")
    demo.page.reload()
    demo.page.keyboard.press("Alt+Shift+r")
    demo.page.get_by_role("button", name="Keyboard shortcuts").click()
    for name, is_on in (("Use keyboard shortcuts", False), ("Enter sends", False), ("Copy the last answer", True)):
        expect(keys_dialog(demo).get_by_role("switch", name=name)).to_be_checked(checked=is_on)
    expect(demo.reasoning_switch).to_have_attribute("aria-checked", "true")


@pytest.mark.slow
def test_arrows_walk_the_list_and_reach_the_menu_of_each_conversation(reader):
    page = reader.page
    page.keyboard.press("Control+k")
    page.keyboard.type("turbines")
    expect(page.locator("#conversations mark").first).to_be_visible()

    page.keyboard.press("ArrowDown")
    expect(page.locator("#conversations li > a").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#conversations li > .conversation").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#conversations li > .more").first).to_be_focused()
    assert page.locator("#conversations li > .more").first.get_attribute("tabindex") == "-1"
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
