"""Conversations in the browser: find, rename, pin, delete and restore, temporary ones, and a long history."""

import json
import re

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.histories import long_conversation
from tests.browser.upstream import plain
from tests.browser.watching import wait_until

TOP_OF_FIRST_CARD = "document.querySelector('#messages > [data-message-id]').getBoundingClientRect().top"


def test_title_is_in_header_window_and_list_and_a_search_finds_the_text(visit, connected, model):
    model.script([plain("Marsupials dig. The wombats dig most."), plain("Nothing else. Really.")])
    demo = visit(connected)
    demo.has_conversation("What of the wombats?")
    expect(demo.listed("What of the wombats?")).to_have_attribute("aria-current", "page")
    expect(demo.page).to_have_title("What of the wombats? · Legible")
    demo.has_conversation("What else?")

    demo.page.keyboard.press("Control+k")
    expect(demo.page.get_by_role("searchbox", name="Search conversations")).to_be_focused()
    demo.page.keyboard.insert_text("wombat")
    found = demo.page.locator("#conversations").get_by_role("link", name=re.compile("What of the wombats"))
    expect(found.locator("mark").first).to_have_text("wombats")
    expect(demo.listed("What else?")).to_have_count(0)
    demo.page.keyboard.press("Escape")
    expect(demo.listed("What else?")).to_be_visible()
    expect(demo.page.get_by_role("searchbox")).to_have_value("")
    demo.page.keyboard.insert_text("zeppelin")

    expect(demo.page.get_by_text("No conversation found.")).to_be_visible()


def test_conversation_is_renamed_by_keyboard_deleted_and_restored(visit, connected, model):
    model.script([plain("Otters swim. Well.")])
    demo = visit(connected)
    demo.watch.expected += ["status of 400"]  # the refused title
    demo.has_conversation("What of otters?")
    address = demo.page.url

    demo.chooses("Rename", "What of otters?")
    demo.title_field.press("Escape")
    opener = demo.page.get_by_role("link", name="Conversation menu: What of otters?")
    expect(opener).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    for key, name in (("ArrowUp", "Delete"), ("Home", "Rename"), ("End", "Delete"), ("ArrowDown", "Rename")):
        demo.page.keyboard.press(key)
        expect(demo.page.get_by_role("menuitem", name=name)).to_be_focused()
    demo.page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(demo.page.locator("#menu")).to_be_hidden()
    demo.chooses("Rename", "What of otters?")
    demo.title_field.fill("  ")
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("alert").filter(has_text="between 1 and 120")).to_be_visible()
    demo.title_field.fill("Sea otters")
    demo.page.keyboard.press("Enter")
    expect(demo.listed("Sea otters")).to_be_focused()
    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Sea otters")
    expect(demo.page).to_have_title("Sea otters · Legible")

    demo.chooses("Delete", "Sea otters")
    expect(demo.page.get_by_text("Deleted: Sea otters")).to_be_visible()
    expect(demo.page).not_to_have_url(address)
    expect(demo.page).not_to_have_url(re.compile("deleted="))
    expect(demo.page.get_by_role("button", name="Undo")).to_be_focused()
    demo.page.keyboard.press("Enter")

    expect(demo.page).to_have_url(address)
    expect(demo.answer().answer).to_have_text("Otters swim. Well.")


def test_menu_of_the_top_bar_is_there_from_the_first_message_on(visit, connected, model):
    model.script([plain("Herons wade. Slowly.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("What of herons?").ends()

    demo.chooses("Rename")
    demo.title_field.fill("Grey herons")
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Grey herons")
    expect(demo.page.get_by_role("link", name="Conversation menu", exact=True)).to_be_focused()
    with demo.page.expect_download() as download:
        demo.chooses("Export as Markdown")

    assert download.value.suggested_filename.startswith("grey-herons")


def test_temporary_chat_is_marked_and_in_no_list(visit, connected, model):
    model.script([plain("Secret gardens bloom. Unseen.")])
    demo = visit(connected)
    demo.open()

    demo.page.get_by_role("button", name="Temporary chat").click()
    expect(demo.page.get_by_text("Temporary chat. Not saved to your history")).to_be_visible()
    demo.asks("What of gardens?").ends()

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("What of gardens?")
    expect(demo.listed("What of gardens?")).to_have_count(0)
    address = demo.page.url
    demo.page.reload()
    expect(demo.answer().answer).to_contain_text("Unseen.")
    demo.submits(demo.page.get_by_role("button", name="Sign out"))
    assert demo.page.request.get(address, max_redirects=0).status in {302, 404}


@pytest.mark.slow
def test_empty_list_says_what_will_be_there_until_something_is(visit, offline):
    sam = visit(offline, "sam")
    sam.starts_chat()
    hint = sam.page.get_by_text("No conversations yet.")
    expect(hint).to_be_visible()
    expect(sam.page.get_by_role("heading", name="Today")).to_be_hidden()

    sam.asks("What would breach Northwind Tidal’s debt covenants?").ends()

    expect(sam.page.get_by_role("heading", name="Today")).to_be_visible()
    expect(hint).to_be_hidden()


@pytest.mark.slow
def test_imported_conversations_are_selected_archived_deleted_and_restored(visit, offline, tmp_path):
    ada = visit(offline, "admin")
    page, titles = ada.page, ["Ferry times", "Tide tables", "Harbour fees"]
    question = {"message": {"author": {"role": "user"}, "content": {"parts": ["When?"]}}, "parent": None}
    export = [{"title": title, "id": title, "mapping": {"1": question}, "current_node": "1"} for title in titles]

    ada.open("/data/import/")
    with (tmp_path / "huge.zip").open("wb") as huge:
        huge.truncate(51 * 1024**2)
    page.get_by_label("File").set_input_files(tmp_path / "huge.zip")
    assert (
        page.get_by_label("File")
        .evaluate("field => field.validationMessage")
        .startswith("The files are too large together.")
    )
    page.get_by_label("File").set_input_files(
        FilePayload(name="conversations.json", mimeType="application/json", buffer=json.dumps(export).encode())
    )
    ada.submits(page.get_by_role("button", name="Import"))  # then the page asks until it has ended
    expect(page.get_by_role("heading", name="3 conversations were imported.")).to_be_visible()

    ada.open("/chats/")
    for title in titles[:2]:
        page.get_by_role("checkbox", name=f"Select: {title}").press("Space")
    ada.submits(page.get_by_role("button", name="Archive", exact=True))
    expect(page.get_by_text("2 conversations archived.")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="Ferry times", exact=True)).to_have_count(0)
    ada.submits(page.get_by_role("link", name="Archived"))
    for title in titles[:2]:
        page.get_by_role("checkbox", name=f"Select: {title}").press("Space")
    ada.submits(page.get_by_role("button", name="Delete"))
    expect(page.get_by_text("and 1 more")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    ada.open("/chats/archived/")

    for title in titles[:2]:
        expect(page.get_by_role("checkbox", name=f"Select: {title}")).to_be_visible()


@pytest.mark.slow
def test_deleting_another_conversation_stays_on_the_page_and_its_own_pages_leave(visit, connected, model):
    model.script([plain("Seals bark. Loudly."), plain("Terns dive. Steeply.")])
    demo = visit(connected)
    demo.has_conversation("What of seals?")
    tab = demo.in_another_tab()
    demo.has_conversation("What of terns?")
    address = demo.page.url

    demo.chooses("Delete", "What of seals?")

    expect(demo.page.get_by_role("button", name="Undo")).to_be_focused()
    expect(demo.listed("What of seals?")).to_have_count(0)
    assert demo.page.url == address
    expect(tab.get_by_text("Deleted: What of seals?")).to_be_visible()
    tab.wait_for_load_state()  # Chromium may not close what it is just loading


@pytest.mark.slow
def test_earlier_messages_come_and_the_reader_stays(visit, offline):
    demo = visit(offline)
    demo.open(long_conversation(offline, 60))
    cards = demo.page.locator("#messages > [data-role=assistant]")
    earlier = demo.page.get_by_role("link", name="Load earlier messages")
    expect(cards).to_have_count(25)
    first = cards.first.get_attribute("data-message-id")

    demo.page.mouse.move(640, 400)
    demo.page.mouse.wheel(0, -1_000_000)
    wait_until(demo.page, lambda: demo.page.evaluate("scrollY") == 0)
    top = demo.page.evaluate(TOP_OF_FIRST_CARD)
    earlier.press("Enter")
    expect(cards).to_have_count(50)
    place = f"document.getElementById('m-{first}-q').getBoundingClientRect().top"
    wait_until(demo.page, lambda: abs(demo.page.evaluate(place) - top) <= 2)
    expect(earlier).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(cards).to_have_count(60)
    expect(earlier).to_have_count(0)
    expect(demo.page.locator("#messages > [data-role=user]:focus")).to_have_count(1)
    demo.reasoning_switch.click()  # it draws all the messages again
    expect(cards.first.locator("[data-reasoning-summary]")).to_have_count(0)

    expect(cards).to_have_count(60)


@pytest.mark.slow
def test_selected_conversations_are_counted_before_anything_is_done_with_them(visit, offline):
    demo = visit(offline)
    demo.open("/chats/")
    archive = demo.page.get_by_role("button", name="Archive")

    expect(archive).to_be_disabled()
    demo.page.get_by_role("checkbox").first.check()
    expect(archive).to_be_enabled()
    expect(demo.page.locator("[data-count]")).to_have_text("1")
    demo.page.get_by_role("checkbox").first.uncheck()
    expect(archive).to_be_disabled()
