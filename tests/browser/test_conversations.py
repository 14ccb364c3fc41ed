"""Conversations in the browser: find, rename, pin, delete and take back, temporary ones, and a long history."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.histories import long_conversation
from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says
from tests.contract_server.fixture import ContractHandle

TOP_OF_FIRST_CARD = "document.querySelector('#messages > [data-message-id]').getBoundingClientRect().top"


def begin(demo: Person, model: ContractHandle, question: str, answer: str) -> None:
    """Ask one question in a new conversation, which is then called by the answer's first sentence."""
    model.script([reply(says(opening(), answer))])
    demo.starts_chat()
    demo.asks(question).ends()
    expect(demo.page.get_by_role("heading", level=1)).to_have_text(answer.split(". ")[0].rstrip("."))


def listed(page: Page, title: str) -> Locator:
    return page.locator("#conversations").get_by_role("link", name=title, exact=True)


def opens_form(page: Page, title: str) -> Locator:
    listed(page, title).hover()
    page.get_by_role("link", name=f"Rename, pin or delete: {title}").click()
    return form_is_open(page)


def form_is_open(page: Page) -> Locator:
    """Wait for the form, and until htmx has taken it over: the browser gives it the focus a little earlier."""
    expect(page.get_by_label("Title")).to_be_focused()
    expect(page.locator(".manage.htmx-added")).to_have_count(0)
    return page.locator(".manage")


def test_first_answer_names_header_window_and_list_while_one_looks(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    demo = visit(connected)

    begin(demo, model, "Please, what about the ferries?", "Ferries run hourly. All year.")

    expect(listed(demo.page, "Ferries run hourly")).to_have_attribute("aria-current", "page")
    expect(demo.page).to_have_title("Ferries run hourly · Legible")


@pytest.mark.slow
def test_empty_list_says_what_will_be_there_until_something_is(visit: Visit, offline: Site) -> None:
    sam = visit(offline, "sam")
    sam.starts_chat()
    hint = sam.page.get_by_text("Conversations that you begin are listed here.")
    expect(hint).to_be_visible()
    expect(sam.page.get_by_role("heading", name="Today")).to_be_hidden()

    sam.asks("What would breach Northwind Tidal’s debt covenants?").ends()

    expect(sam.page.get_by_role("heading", name="Today")).to_be_visible()
    expect(hint).to_be_hidden()


def test_search_from_the_keyboard_opens_what_it_found(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of the wombats?", "Marsupials dig. The wombats dig most.")
    begin(demo, model, "What else?", "Nothing else. Really.")

    demo.page.keyboard.press("Control+k")
    expect(demo.page.get_by_role("searchbox", name="Search conversations")).to_be_focused()
    demo.page.keyboard.type("wombat")
    found = demo.page.locator("#conversations").get_by_role("link", name=re.compile("Marsupials dig"))
    expect(found.locator("mark").first).to_have_text("wombats")
    expect(listed(demo.page, "Nothing else")).to_have_count(0)
    demo.page.keyboard.press("Tab")
    expect(found).to_be_focused()
    demo.page.keyboard.press("Enter")

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Marsupials dig")


@pytest.mark.slow
def test_escape_gives_the_list_back(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of lighthouses?", "Lamps are lit. At dusk.")

    demo.page.get_by_role("searchbox").fill("zeppelin")
    expect(demo.page.get_by_text("No conversation found.")).to_be_visible()
    demo.page.get_by_role("searchbox").press("Escape")

    expect(listed(demo.page, "Lamps are lit")).to_be_visible()
    expect(demo.page.get_by_role("searchbox")).to_have_value("")


def test_rename_by_keyboard_and_leave_it_by_escape(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of kelp?", "Kelp grows. Fast.")

    opens_form(demo.page, "Kelp grows")
    demo.page.keyboard.press("Escape")
    expect(listed(demo.page, "Kelp grows")).to_be_focused()

    demo.page.keyboard.press("Tab")
    demo.page.keyboard.press("Enter")
    form_is_open(demo.page)
    demo.page.get_by_label("Title").fill("Seaweed")
    demo.page.keyboard.press("Enter")

    expect(listed(demo.page, "Seaweed")).to_be_focused()
    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Seaweed")
    expect(demo.page).to_have_title("Seaweed · Legible")


@pytest.mark.slow
def test_pin_goes_on_top_and_back(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of puffins?", "Puffins nest. In burrows.")

    opens_form(demo.page, "Puffins nest").get_by_role("button", name="Pin", exact=True).click()
    expect(demo.page.locator("#conversations h2").first).to_have_text("Pinned")
    expect(demo.page.locator("#conversations li a").first).to_have_text("Puffins nest")
    opens_form(demo.page, "Puffins nest").get_by_role("button", name="Unpin").click()

    expect(demo.page.get_by_role("heading", name="Pinned")).to_have_count(0)


def test_delete_of_the_open_one_leads_home_with_undo_at_hand(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    demo = visit(connected)
    begin(demo, model, "What of otters?", "Otters swim. Well.")
    address = demo.page.url

    opens_form(demo.page, "Otters swim").get_by_role("button", name="Delete").click()
    expect(demo.page.get_by_text("Deleted: Otters swim")).to_be_visible()
    assert demo.page.url != address
    expect(demo.page.get_by_role("button", name="Undo")).to_be_focused()
    demo.page.keyboard.press("Enter")

    expect(listed(demo.page, "Otters swim")).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(demo.answer().answer).to_have_text("Otters swim. Well.")


@pytest.mark.slow
def test_delete_of_another_one_stays_where_one_is(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of seals?", "Seals bark. Loudly.")
    begin(demo, model, "What of terns?", "Terns dive. Steeply.")
    address = demo.page.url

    opens_form(demo.page, "Seals bark").get_by_role("button", name="Delete").click()

    expect(demo.page.get_by_role("button", name="Undo")).to_be_focused()
    expect(listed(demo.page, "Seals bark")).to_have_count(0)
    assert demo.page.url == address


@pytest.mark.slow
def test_other_tab_of_a_deleted_conversation_goes_home(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected)
    begin(demo, model, "What of newts?", "Newts hide. Under stones.")
    tab = demo.in_another_tab()
    expect(tab.locator("#connection")).to_be_hidden()
    address = tab.url

    opens_form(demo.page, "Newts hide").get_by_role("button", name="Delete").click()

    expect(tab.get_by_text("Deleted: Newts hide")).to_be_visible()
    assert tab.url != address
    tab.wait_for_load_state()  # Chromium may not close what it is just loading


def test_temporary_chat_is_marked_and_in_no_list(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "Secret gardens bloom. Unseen."))])
    demo = visit(connected)
    demo.open()

    demo.page.get_by_role("button", name="Temporary chat").click()
    expect(demo.page.get_by_text("Temporary chat: it is in no list")).to_be_visible()
    demo.asks("What of gardens?").ends()

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("Secret gardens bloom")
    expect(listed(demo.page, "Secret gardens bloom")).to_have_count(0)
    address = demo.page.url
    demo.page.reload()
    expect(demo.answer().answer).to_contain_text("Unseen.")
    demo.page.get_by_role("button", name="Sign out").click()
    assert demo.page.request.get(address, max_redirects=0).status in {302, 404}


@pytest.mark.slow
def test_temporary_chat_on_a_phone_begins_at_its_top(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport={"width": 390, "height": 780})
    demo.open()
    demo.page.get_by_role("button", name="Conversations").click()
    demo.page.get_by_role("button", name="Temporary chat").click()

    expect(demo.page.get_by_text("Temporary chat: it is in no list")).to_be_in_viewport(ratio=1)
    expect(demo.page.get_by_role("banner").get_by_text("Temporary", exact=True)).to_be_visible()
    demo.writes("Anything")  # the page has settled
    expect(demo.page.locator("#jump")).to_be_hidden()


@pytest.mark.slow
def test_earlier_messages_come_and_the_reader_stays(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.open(long_conversation(offline, 60))
    cards = demo.page.locator("#messages > [data-role=assistant]")
    expect(cards).to_have_count(25)
    first = cards.first.get_attribute("data-message-id")

    demo.page.evaluate("scrollTo(0, 0)")
    top = demo.page.evaluate(TOP_OF_FIRST_CARD)
    demo.page.get_by_role("link", name="Load earlier messages").press("Enter")
    expect(cards).to_have_count(50)

    place = f"document.getElementById('m-{first}-q').getBoundingClientRect().top"
    demo.page.wait_for_function(f"Math.abs({place} - {top}) <= 2")
    expect(demo.page.get_by_role("link", name="Load earlier messages")).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(cards).to_have_count(60)
    expect(demo.page.get_by_role("link", name="Load earlier messages")).to_have_count(0)
    assert demo.page.evaluate("document.activeElement.dataset.role") == "user"


@pytest.mark.slow
def test_switch_draws_no_fewer_messages_than_there_were(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.open(long_conversation(offline, 30))
    cards = demo.page.locator("#messages > [data-role=assistant]")
    demo.page.get_by_role("link", name="Load earlier messages").click()
    expect(cards).to_have_count(30)

    demo.reasoning_switch.click()
    expect(demo.reasoning_switch).to_have_attribute("aria-checked", "false")

    expect(cards).to_have_count(30)


@pytest.mark.slow
def test_list_and_earlier_messages_work_without_scripts(visit: Visit, offline: Site) -> None:
    demo = visit(offline, java_script_enabled=False)
    demo.open(long_conversation(offline, 30))
    demo.page.get_by_role("link", name="Load earlier messages").click()
    expect(demo.page.locator("#messages > [data-role=assistant]")).to_have_count(30)

    demo.page.get_by_role("searchbox").fill("Question number 7")
    with demo.page.expect_navigation():
        demo.page.get_by_role("searchbox").press("Enter")
    demo.page.get_by_role("link", name=re.compile("Answer 1")).first.click()
    demo.submits(demo.page.get_by_role("link", name="Rename, pin or delete", exact=True))
    demo.page.get_by_label("Title").fill("By hand")
    demo.submits(demo.page.get_by_role("button", name="Save"))
    expect(demo.page.get_by_role("heading", level=1)).to_have_text("By hand")
    demo.submits(demo.page.get_by_role("link", name="Rename, pin or delete", exact=True))
    demo.submits(demo.page.get_by_role("button", name="Delete"))
    demo.submits(demo.page.get_by_role("button", name="Undo"))

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("By hand")


@pytest.mark.slow
def test_drawer_of_a_phone_finds_and_renames(visit: Visit, connected: Site, model: ContractHandle) -> None:
    demo = visit(connected, viewport=NARROW)
    demo.open()
    demo.page.get_by_role("button", name="Conversations").click()
    demo.page.get_by_role("button", name="New chat").click()
    model.script([reply(says(opening(), "Snails crawl. Slowly."))])
    demo.asks("What of snails?").ends()

    demo.page.get_by_role("button", name="Conversations").click()
    form = opens_form(demo.page, "Snails crawl")
    form.get_by_label("Title").fill("Slugs")
    form.get_by_role("button", name="Save").click()

    expect(listed(demo.page, "Slugs")).to_be_visible()
    assert demo.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
