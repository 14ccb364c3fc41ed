"""The page on a phone: actions in a sheet, the sidebar as a drawer, nothing wider than the window."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cards import AnswerCard
from tests.browser.looks import small_targets
from tests.browser.people import NARROW
from tests.browser.states import CHAT
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.browser.watching import wait_until

IN_SHEET = ["Retry", "Good answer", "Bad answer"]
IS_TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def named(card: AnswerCard, name: str) -> Locator:
    return card.root.get_by_role("button", name=name, exact=True)


def test_actions_are_in_a_sheet_that_keys_and_taps_open_and_close(visit, offline):
    demo = visit(offline, viewport=NARROW)
    card = demo.reads_finished()
    more, keys = named(card, "More actions"), demo.page.keyboard
    expect(named(card, "Copy")).to_be_visible()
    for name in IN_SHEET:
        expect(named(card, name)).to_be_hidden()

    more.focus()
    keys.press("Enter")
    for name in IN_SHEET:
        keys.press("Tab")
        expect(named(card, name)).to_be_focused()
        box = named(card, name).bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 24
    keys.press("Escape")
    expect(named(card, "Retry")).to_be_hidden()
    expect(more).to_be_focused()
    more.click()
    expect(named(card, "Retry")).to_be_visible()
    demo.page.mouse.click(200, 200)

    expect(named(card, "Retry")).to_be_hidden()
    assert not demo.page.evaluate(IS_TOO_WIDE)


@pytest.mark.slow
def test_every_control_is_large_enough_for_a_finger(visit, offline):
    demo = visit(offline, viewport=NARROW, has_touch=True)
    found = []

    def looks(name):
        found.extend(f"{name}: {fault}" for fault in small_targets(demo.page))
        assert not demo.page.evaluate(IS_TOO_WIDE)

    for name in ("empty", "everything open", "edit", "command", "shortcuts", "manage", "settings", "filings"):
        CHAT[name](demo)
        looks(name)
    demo.reads_finished()
    demo.page.get_by_role("link", name="Conversation menu", exact=True).click()
    expect(demo.reasoning_switch).to_be_in_viewport(ratio=1)
    looks("menu")
    demo.page.get_by_role("menuitem", name="Share").click()
    expect(demo.page.get_by_role("dialog", name="Share this conversation")).to_be_visible()
    looks("share")
    demo.page.get_by_role("button", name="Create link").click()
    expect(demo.page.locator("[data-copy-link]:focus")).to_be_visible()
    address = demo.page.locator("[data-copy-link]:focus").get_attribute("data-copy-link") or ""
    demo.page.keyboard.press("Escape")
    demo.chooses("Rename")
    demo.title_field.press("Control+a")
    looks("rename")
    demo.page.get_by_role("button", name="Cancel").click()
    demo.page.get_by_role("button", name="Conversations").click()
    expect(demo.page.get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)
    looks("drawer")
    demo.open(address)
    looks("shared")

    assert found == []


@pytest.mark.slow
def test_failed_card_offers_retry_at_once_and_a_stopped_one_an_opinion_of_its_text(visit, connected, model):
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = visit(connected, viewport=NARROW)
    demo.starts_chat()

    failed = demo.asks("Anyone?").ends("error")
    expect(named(failed, "Retry")).to_be_visible()
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    stopped = demo.asks("How long does it take?").streams()
    expect(stopped.answer).to_contain_text("It begins")
    demo.stop_button.click()
    stopped.ends("stopped")

    named(stopped, "More actions").click()
    expect(named(stopped, "Good answer")).to_be_visible()


@pytest.mark.slow
def test_failure_ends_above_the_composer_with_its_actions(visit, connected, model):
    model.script(
        [
            plain("One. " * 80),
            plain("Two. " * 80),
            plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}]),
        ]
    )
    demo = visit(connected, viewport=NARROW)
    demo.starts_chat()
    for question in ("First?", "Second?"):
        demo.asks(question).ends()

    card = demo.asks("Third?")

    retry = named(card, "Retry").first
    expect(retry).to_be_visible()
    composer = demo.page.locator(".composer:not(.edit)").bounding_box()
    wait_until(demo.page, lambda: (box := retry.bounding_box()) and box["y"] + box["height"] <= composer["y"])


@pytest.mark.slow
def test_drawer_finds_renames_and_closes_when_a_conversation_is_chosen(visit, connected, model):
    model.script([plain("Snails crawl. Slowly.")])
    demo = visit(connected, viewport=NARROW)
    demo.starts_chat()
    demo.asks("What of snails?").ends()
    drawer = demo.page.locator("#side")

    demo.page.get_by_role("button", name="Conversations").click()
    demo.chooses("Rename", "What of snails?")
    demo.title_field.fill("Slugs")
    drawer.get_by_role("button", name="Save").click()
    expect(demo.listed("Slugs")).to_be_visible()
    assert not demo.page.evaluate(IS_TOO_WIDE)
    drawer.get_by_role("navigation").locator("li > a:first-child").last.click()

    expect(drawer).to_be_hidden()
    expect(demo.answer().answer).to_be_visible()


@pytest.mark.slow
def test_temporary_chat_begins_at_its_top(visit, offline):
    demo = visit(offline, viewport=NARROW)
    demo.open()
    demo.page.get_by_role("button", name="Conversations").click()
    demo.page.get_by_role("button", name="Temporary chat").click()

    expect(demo.page.get_by_text("Temporary chat. Not saved to your history")).to_be_in_viewport(ratio=1)
    expect(demo.page.get_by_role("banner").get_by_text("Temporary", exact=True)).to_be_visible()
    expect(demo.page.locator("#jump")).to_be_hidden()


@pytest.mark.slow
def test_enter_makes_a_new_line_and_opening_a_chat_opens_no_keyboard(visit, offline):
    demo = visit(offline, viewport=NARROW, has_touch=True, is_mobile=True)
    demo.reads_finished()

    expect(demo.composer).not_to_be_focused()
    demo.composer.tap()
    demo.page.keyboard.type("One")
    demo.page.keyboard.press("Enter")
    demo.page.keyboard.type("Two")

    expect(demo.composer).to_have_value("One\nTwo")


def test_short_page_of_the_settings_begins_below_its_links(visit, offline):
    demo = visit(offline, viewport=NARROW)
    demo.open("/shares/")

    links = demo.page.get_by_role("navigation", name="Settings").bounding_box()
    text = demo.page.get_by_role("main").bounding_box()
    assert links
    assert text
    assert 0 <= text["y"] - links["y"] - links["height"] <= 48


@pytest.mark.slow
def test_long_words_in_names_widen_no_page(visit, offline):
    demo = visit(offline, viewport=NARROW)
    name = "W" * 60
    for path, button in (("/projects/", "Create project"), ("/accounts/tokens/", "Create token")):
        demo.open(path)
        demo.page.get_by_role("main").get_by_label("Name").fill(name)
        demo.submits(demo.page.get_by_role("button", name=button))
    expect(demo.page.get_by_text(name)).to_be_visible()
    assert not demo.page.evaluate(IS_TOO_WIDE)

    demo.open("/projects/")
    demo.submits(demo.page.get_by_role("main").get_by_role("link", name=name))
    demo.submits(demo.page.get_by_role("main").get_by_role("button", name="New chat in this project"))
    demo.asks(name).ends()
    demo.open(f"{demo.page.url}share/")
    demo.submits(demo.page.get_by_role("button", name="Create link"))
    link = demo.page.locator("a[href*='/s/']").get_attribute("href")
    for path in ("/chats/", link):
        demo.open(path)
        expect(demo.page.get_by_text(name).locator("visible=true").first).to_be_visible()
        assert not demo.page.evaluate(IS_TOO_WIDE), path
