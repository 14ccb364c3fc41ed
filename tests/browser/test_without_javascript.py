"""The page as plain forms and links: sign in, read, ask, stop, ask again, edit, share, manage. Contracts, The page."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.histories import long_conversation
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, thinks, waits

FIRST = "What would breach Northwind Tidal’s debt covenants?"
SECOND = "How does Northwind Tidal describe its interest rate risk?"


def without_script(visit: Visit, site: Site, **options: bool) -> Person:
    return visit(site, java_script_enabled=False, **options)


@pytest.mark.spec("000 dom")
def test_reader_signs_in_reads_a_conversation_and_opens_its_thinking(visit, offline):
    demo = without_script(visit, offline, signed_in=False)
    demo.open(offline.prepared.finished)
    demo.signs_in()

    card = demo.answer()
    expect(card.answer).to_contain_text("The filings say this, word for word")
    expect(card.bullets.first).to_be_visible()
    card.opens_trace()
    expect(card.steps.first).to_contain_text("searchFilings")
    expect(card.thought).to_be_hidden()
    card.toggle.click()
    expect(card.thought).to_contain_text("passages came back")
    expect(card.toggle).to_have_attribute("aria-expanded", "true")
    card.toggle.click()
    expect(card.thought).to_be_hidden()
    demo.reasoning_switch.click()
    expect(demo.reasoning_switch).not_to_be_checked()
    expect(demo.answer().summary).to_have_count(0)
    for name in ("Keyboard shortcuts", "Copy", "Copy trace"):  # they need a script
        expect(demo.page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_message_is_posted_stopped_and_asked_again(visit, connected, model):
    model.script([reply(thinks("Hm."), says(opening(), "It begins. "), waits("rest")), plain("Plain forms work.")])
    demo = without_script(visit, connected)
    demo.starts_chat()

    demo.writes("Do plain forms work?")
    with demo.page.expect_response(lambda response: response.request.method == "POST") as posted:
        demo.send_button.click()
    assert posted.value.status == 303
    demo.answer().streams()
    model.wait_for(held="rest")
    demo.submits(demo.stop_button)
    model.wait_for(closed=1)
    demo.page.reload()
    demo.answer().ends("stopped")
    demo.submits(demo.answer().retry)
    model.wait_for(ended=2)
    demo.page.reload()

    expect(demo.page.locator("[data-answer]")).to_have_text(["Plain forms work."])
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Do plain forms work?")


@pytest.mark.slow
def test_page_that_loads_itself_again_has_no_text_to_lose(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest")), plain("And on.")])
    demo = without_script(visit, connected)
    demo.starts_chat()
    demo.writes("What is there to lose?")
    demo.submits(demo.send_button)
    model.wait_for(held="rest")

    expect(demo.stop_button).to_be_visible()
    expect(demo.composer).to_be_hidden()
    expect(demo.send_button).to_be_hidden()
    demo.submits(demo.page.get_by_role("link", name="Write the next message"))
    expect(demo.page.locator("meta[http-equiv=refresh]")).to_have_count(0)
    demo.writes("What comes next?")
    demo.submits(demo.send_button)

    expect(demo.page.get_by_text("Queued – will be sent after this answer")).to_be_visible()
    model.release("rest")
    expect(demo.page.locator("[data-answer]")).to_have_text(["It begins.", "And on."])


@pytest.mark.slow
def test_command_and_setting_are_posted(visit, offline):
    demo = without_script(visit, offline)
    demo.reads_finished()

    demo.writes("/set")
    demo.submits(demo.send_button)
    expect(demo.page.locator("#command").get_by_role("table")).to_be_visible()
    demo.page.get_by_role("link", name="Settings", exact=True).click()
    expect(demo.page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    demo.page.get_by_role("link", name="Reasoning", exact=True).click()
    demo.submits(demo.page.get_by_role("button", name="Save", exact=True))

    expect(demo.page.get_by_text("Saved.")).to_be_visible()


@pytest.mark.slow
def test_question_is_edited_saved_and_sent_and_open_pages_follow(visit, offline):
    scripted, demo = visit(offline), without_script(visit, offline)
    scripted.starts_chat()
    scripted.asks(FIRST).ends()
    demo.open(scripted.page.url)

    demo.page.get_by_role("link", name="Edit question 1").click()
    demo.page.get_by_role("textbox", name="Edit question 1").fill(SECOND)
    demo.submits(demo.page.get_by_role("button", name="Save", exact=True))
    expect(demo.page.get_by_text("Saved, not asked yet.")).to_be_visible()
    expect(scripted.page.locator(".question")).to_have_text([SECOND])
    demo.submits(demo.answer().root.get_by_role("button", name="Send", exact=True))
    scripted.answer().ends()
    demo.page.reload()
    demo.submits(demo.page.get_by_role("button", name="Previous version"))

    expect(demo.page.locator(".question")).to_have_text([FIRST])


@pytest.mark.slow
def test_conversations_are_listed_found_renamed_deleted_and_restored(visit, offline):
    demo = without_script(visit, offline)
    demo.open(long_conversation(offline, 30))
    demo.page.get_by_role("link", name="Load earlier messages").click()
    expect(demo.page.locator("#messages > [data-role=assistant]")).to_have_count(30)

    demo.page.get_by_role("searchbox").fill("Question number 7")
    with demo.page.expect_navigation():
        demo.page.get_by_role("searchbox").press("Enter")
    demo.page.get_by_role("link", name=re.compile("Question number")).first.click()
    demo.submits(demo.page.get_by_role("link", name="Conversation menu", exact=True))
    demo.page.get_by_label("Title").fill("By hand")
    demo.submits(demo.page.get_by_role("button", name="Save"))
    expect(demo.page.get_by_role("heading", level=1)).to_have_text("By hand")
    demo.submits(demo.page.get_by_role("link", name="Conversation menu", exact=True))
    demo.submits(demo.page.get_by_role("button", name="Delete"))
    demo.submits(demo.page.get_by_role("button", name="Undo"))

    expect(demo.page.get_by_role("heading", level=1)).to_have_text("By hand")
