"""Other versions of a question and its answer: edit, save, retry, continue, step between them; and an opinion."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.people import NARROW, Person
from tests.browser.upstream import opening, plain, reply, says, waits

FIRST = "What would breach Northwind Tidal’s debt covenants?"
SECOND = "How does Northwind Tidal describe its interest rate risk?"


def edits(person: Person, number: int, text: str) -> None:
    """Ask something else in a question's place, and wait until it is there: the old answer is complete, too."""
    person.rewords(number, text).press("Control+Enter")
    expect(person.page.locator(".question").nth(number - 1)).to_have_text(text)


@pytest.mark.slow
def test_earlier_question_is_edited_and_every_page_follows_the_branch(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    demo.asks("And in short?").ends()
    tab = demo.in_another_tab()

    edits(demo, 1, SECOND)
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    demo.answer().ends()
    expect(demo.page.get_by_text("2/2")).to_be_visible()
    expect(tab.locator(".question")).to_have_text([SECOND])

    demo.page.get_by_role("button", name="Previous version").click()
    for page in (demo.page, tab):
        expect(page.locator(".question")).to_have_text([FIRST, "And in short?"])
    demo.page.get_by_role("button", name="Next version").click()
    expect(demo.page.locator(".question")).to_have_text([SECOND])


@pytest.mark.slow
def test_form_of_a_question_with_a_long_address_is_as_wide_as_the_page(visit, offline):
    demo = visit(offline, viewport=NARROW)
    demo.starts_chat()
    demo.asks(f"What does https://example.com/{'a' * 120} say?").ends()

    demo.page.get_by_role("link", name="Edit question 1").click()

    expect(demo.page.get_by_role("button", name="Save and submit")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_new_answer_to_an_edited_question_is_followed(visit, connected, model):
    text = "".join(f"Paragraph {number} of a long answer.\n\n" for number in range(30))
    model.script([reply(says(opening(), *each)) for each in ([text], ["Short."], [text, "The end."])])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    demo.asks("And in short?").ends()

    edits(demo, 2, SECOND)
    card = demo.answer(1)
    card.ends()

    expect(card.answer.get_by_text("The end.")).to_be_in_viewport()


@pytest.mark.slow
def test_question_is_saved_and_sent_later(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    demo.rewords(1, SECOND)

    demo.page.get_by_role("button", name="Save", exact=True).click()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    expect(demo.answer().root.get_by_text("Saved, not asked yet.")).to_be_visible()
    expect(demo.composer).to_be_focused()
    demo.page.get_by_role("button", name="Previous version").click()
    expect(demo.page.locator(".question")).to_have_text([FIRST])
    demo.page.get_by_role("button", name="Next version").click()
    demo.answer().root.get_by_role("button", name="Send", exact=True).click()

    expect(demo.answer().answer).not_to_be_empty()
    demo.answer().ends()
    expect(demo.page.locator(".question")).to_have_text([SECOND])


@pytest.mark.slow
def test_message_is_deleted_and_comes_back(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    demo.asks("And in short?").ends()

    demo.answer(0).root.get_by_role("button", name="Delete").click()
    expect(demo.page.locator(".question")).to_have_text(["And in short?"])
    demo.page.get_by_role("button", name="Undo").click()

    expect(demo.page.locator(".question")).to_have_text([FIRST, "And in short?"])


@pytest.mark.slow
def test_escape_and_cancel_leave_a_question_unchanged(visit, offline):
    demo = visit(offline)
    demo.reads_finished()
    question = demo.page.locator(".question").first.text_content() or ""
    edit = demo.page.get_by_role("link", name="Edit question 1")

    demo.rewords(1, "changed")
    demo.page.keyboard.press("Escape")
    expect(edit).to_be_focused()
    edit.click()
    demo.page.get_by_role("link", name="Cancel").click()

    expect(edit).to_be_focused()
    expect(demo.page.locator(".question")).to_have_text([question])


@pytest.mark.slow
@pytest.mark.spec("product 44")
def test_edit_that_is_not_sent_yet_outlives_a_reload(visit, offline):
    demo = visit(offline)
    demo.open()
    demo.has_conversation(FIRST)
    field = demo.page.get_by_role("textbox", name="Edit question 1")
    demo.rewords(1, SECOND)

    demo.page.reload()

    expect(field).to_have_value(SECOND)
    expect(field).to_be_focused()
    demo.page.get_by_role("button", name="Save and submit").click()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    demo.answer().ends()
    demo.page.reload()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    demo.page.get_by_role("link", name="Edit question 1").click()
    expect(field).to_have_value(SECOND)
    field.fill("changed")
    demo.page.get_by_role("link", name="Cancel").click()
    demo.page.reload()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    expect(field).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("product 44")
def test_edit_that_could_not_be_sent_goes_to_the_composer_when_its_question_is_asked_again(visit, offline):
    demo = visit(offline)
    demo.watch.expected += ["ERR_FAILED", "[object HTMLFormElement]"]  # as htmx reports the edit that is cut off
    demo.open()
    demo.has_conversation(FIRST)
    field = demo.rewords(1, SECOND)
    demo.page.route("**/edit/", lambda route: route.abort())
    demo.page.get_by_role("button", name="Save and submit").click()
    expect(demo.page.locator("#connection")).to_contain_text("nothing was changed")
    field.fill("typed since")

    demo.answer(0).retry.click()

    expect(field).to_have_count(0)
    expect(demo.composer).to_have_value("typed since")


@pytest.mark.slow
def test_stopped_answer_is_continued_in_its_card(visit, connected, model):
    model.script([reply(says(opening(), "The first half is here, and "), waits("never")), plain("the second follows.")])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("The first half")
    demo.stop_button.click()
    card.ends("stopped")
    demo.answer(0).root.get_by_role("button", name="Continue").click()

    expect(demo.answer(0).ends().answer).to_have_text("The first half is here, and the second follows.")
    expect(demo.page.locator("[data-role=user]")).to_have_count(1)

    # An answer with other versions still has them when it was continued.
    model.script([reply(says(opening(), "Another half, "), waits("never")), plain("and another rest.")])
    demo.answer(0).retry.click()
    expect(demo.answer(0).answer).to_contain_text("Another half")
    demo.stop_button.click()
    demo.answer(0).ends("stopped")
    demo.answer(0).root.get_by_role("button", name="Continue").click()
    expect(demo.answer(0).ends().answer).to_have_text("Another half, and another rest.")
    expect(demo.answer(0).root.locator(".branch")).to_have_text(re.compile("2\\s*/\\s*2"))


@pytest.mark.slow
def test_answer_is_called_poor_and_why(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    card = demo.asks(FIRST).ends()
    poor = card.root.get_by_role("button", name="Bad answer")

    poor.click()
    expect(poor).to_have_attribute("aria-pressed", "true")
    card.root.get_by_label("Reason").select_option("Something is missing")
    card.root.get_by_label("Note").fill("The ratio itself.")
    card.root.get_by_role("button", name="Save").click()
    expect(card.root.get_by_text("Thank you")).to_be_visible()
    demo.page.reload()
    expect(poor).to_have_attribute("aria-pressed", "true")
    poor.click()

    expect(poor).to_have_attribute("aria-pressed", "false")
