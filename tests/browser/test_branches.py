"""Editing a question, asking again, walking between branches, and saying what one thinks of an answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import Person, Visit
from tests.browser.sites import Site

FIRST = "What would breach Northwind Tidal’s debt covenants?"
SECOND = "How does Northwind Tidal describe its interest rate risk?"


def rewords(person: Person, number: int, text: str) -> Locator:
    """Put other words into a question's box, once the page has put the caret behind its own: they would mix."""
    person.page.get_by_role("link", name=f"Edit question {number}").click()
    area = person.page.get_by_role("textbox", name=f"Edit question {number}")
    expect(area).to_have_js_property("selectionStart", len(area.input_value()))
    area.fill(text)
    return area


def edits(person: Person, number: int, text: str) -> None:
    """Ask something else in a question's place, and wait until it stands there: the old answer is complete, too."""
    rewords(person, number, text).press("Control+Enter")
    expect(person.page.locator(".question").nth(number - 1)).to_have_text(text)


def test_an_earlier_question_is_edited_and_both_branches_are_walked_by_keyboard(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    demo.asks("And in short?").ends()

    edits(demo, 1, SECOND)
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    demo.answer().ends()
    expect(demo.page.get_by_text("2/2")).to_be_visible()

    demo.page.get_by_role("button", name="Previous version").focus()
    demo.page.keyboard.press("Enter")
    expect(demo.page.locator(".question")).to_have_text([FIRST, "And in short?"])
    expect(demo.page.get_by_role("button", name="Next version")).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(demo.page.locator(".question")).to_have_text([SECOND])


def test_a_question_is_saved_and_sent_later(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    rewords(demo, 1, SECOND)

    demo.page.get_by_role("button", name="Save", exact=True).click()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    expect(demo.answer().root.get_by_text("Saved, not asked yet.")).to_be_visible()
    expect(demo.page.get_by_text("2/2")).to_be_visible()
    expect(demo.composer).to_be_focused()
    demo.page.get_by_role("button", name="Previous version").click()
    expect(demo.page.locator(".question")).to_have_text([FIRST])
    demo.page.get_by_role("button", name="Next version").click()
    demo.answer().root.get_by_role("button", name="Send", exact=True).click()

    expect(demo.answer().answer).not_to_be_empty()
    demo.answer().ends()
    expect(demo.page.locator(".question")).to_have_text([SECOND])
    expect(demo.page.get_by_text("2/2")).to_be_visible()


def edits_without_script(visit: Visit, offline: Site) -> tuple[Person, Person]:
    """Return a person's page with a question, and one without JavaScript where other words for it stand ready."""
    scripted = visit(offline)
    scripted.starts_chat()
    scripted.asks(FIRST).ends()
    demo = visit(offline, java_script_enabled=False)
    demo.open(scripted.page.url)
    demo.page.get_by_role("link", name="Edit question 1").click()
    demo.page.get_by_role("textbox", name="Edit question 1").fill(SECOND)
    return scripted, demo


@pytest.mark.slow
def test_a_question_is_saved_and_sent_without_script(visit: Visit, offline: Site) -> None:
    scripted, demo = edits_without_script(visit, offline)

    demo.submits(demo.page.get_by_role("button", name="Save", exact=True))
    expect(demo.page.get_by_text("Saved, not asked yet.")).to_be_visible()
    expect(scripted.page.locator(".question")).to_have_text([SECOND])
    demo.submits(demo.answer().root.get_by_role("button", name="Send", exact=True))

    scripted.answer().ends()
    expect(scripted.page.get_by_text("2/2")).to_be_visible()


@pytest.mark.slow
def test_escape_and_cancel_leave_a_question_as_it_was(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    edit = demo.page.get_by_role("link", name="Edit question 1")

    rewords(demo, 1, "changed")
    demo.page.keyboard.press("Escape")
    expect(edit).to_be_focused()
    edit.click()
    demo.page.get_by_role("link", name="Cancel").click()

    expect(edit).to_be_focused()
    expect(demo.page.locator(".question")).to_have_text([FIRST])


@pytest.mark.slow
def test_another_tab_follows_the_branch(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.asks(FIRST).ends()
    edits(demo, 1, SECOND)
    demo.answer().ends()
    tab = demo.in_another_tab()
    expect(tab.locator(".question")).to_have_text([SECOND])

    demo.page.get_by_role("button", name="Previous version").click()

    expect(tab.locator(".question")).to_have_text([FIRST])


@pytest.mark.slow
def test_a_question_is_edited_without_script(visit: Visit, offline: Site) -> None:
    scripted, demo = edits_without_script(visit, offline)

    demo.submits(demo.page.get_by_role("button", name="Save and run again"))
    for page in (demo.page, scripted.page):
        expect(page.locator(".question")).to_have_text([SECOND])
    scripted.answer().ends()
    demo.page.reload()
    demo.submits(demo.page.get_by_role("button", name="Previous version"))

    expect(demo.page.locator(".question")).to_have_text([FIRST])


@pytest.mark.slow
def test_an_answer_is_called_poor_and_why(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    card = demo.asks(FIRST).ends()
    poor = card.root.get_by_role("button", name="Poor answer")

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
