"""What lands on the clipboard when somebody selects by hand and copies. Ui 2."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says
from tests.contract_server.fixture import ContractHandle

SELECT = "(first, last) => getSelection().setBaseAndExtent(first, 0, last, last.childNodes.length)"
COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  const text = async (kind) => (await item.getType(kind)).text();
  return [await text("text/plain"), item.types.includes("text/html") ? await text("text/html") : ""];
}"""
NOT_THE_ANSWER = ["Answer 1", "How this answer was produced", "Searched", "step", "Thought", "Good answer", "Sources"]
CODE = "Run it:\n\n```python\nprint(1)\nprint(2)\n```\n\nAnd that is all."


def copies(person: Person) -> tuple[str, str]:
    """Press the keys for it; return the plain text and the HTML."""
    person.page.evaluate("navigator.clipboard.writeText('nothing came')")
    person.page.keyboard.press("Control+c")
    plain, html = person.page.evaluate(COPIED)
    return plain, html


def selects(person: Person, first: Locator, last: Locator) -> None:
    person.page.evaluate(f"([first, last]) => ({SELECT})(first, last)", [first.element_handle(), last.element_handle()])


def letters(text: str) -> str:
    """Return a text without its spaces, which differ where boxes stand in a row."""
    return "".join(text.split())


def test_of_a_whole_card_the_answer_is_copied(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_trace()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()

    selects(demo, card.root, card.root)
    plain, html = copies(demo)

    assert letters(plain) == letters(card.answer.inner_text())
    assert all(part not in copied for part in NOT_THE_ANSWER for copied in (plain, html))
    assert "<q" in html
    assert demo.page.evaluate("`${getSelection()}`").startswith("Answer 1")  # it is still what was selected


@pytest.mark.slow
def test_of_an_answers_end_and_what_follows_that_end_is_copied(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()

    selects(demo, card.answer.locator("> *").last, card.bullets.last)
    plain, _html = copies(demo)

    assert letters(plain) == letters(card.answer.locator("> *").last.inner_text())


@pytest.mark.slow
def test_of_a_whole_page_questions_and_answers_are_copied(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    questions = ["What would breach Northwind Tidal’s debt covenants?", "And in short?"]
    answers = [demo.asks(question).ends().answer.inner_text() for question in questions]

    demo.page.get_by_role("main").click(position={"x": 2, "y": 2})
    demo.page.keyboard.press("Control+a")
    plain, _html = copies(demo)

    both = zip(questions, answers, strict=True)
    assert letters(plain) == letters("".join(question + answer for question, answer in both))


@pytest.mark.slow
def test_inside_another_part_copying_is_as_usual(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_trace()

    bullet, step = card.bullets.first, card.steps.first.locator("code").first
    selects(demo, bullet, bullet)
    assert copies(demo)[0].strip() == bullet.inner_text()
    selects(demo, step, step)
    assert copies(demo)[0].strip() == step.inner_text()
    selects(demo, bullet, step)  # of several other parts all
    assert re.search(r"3 steps|1 step", copies(demo)[0])


@pytest.mark.slow
def test_a_heading_taken_by_three_clicks_is_copied(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()

    card.root.get_by_role("heading", name=re.compile("^Answer 1")).locator("b").click(click_count=3)

    assert "Answer 1" in copies(demo)[0]


@pytest.mark.slow
def test_code_of_an_answer_is_copied_without_its_button(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), CODE))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("How?").ends()
    expect(card.answer.get_by_role("button", name="Copy")).to_be_visible()

    selects(demo, card.answer, card.answer)
    plain, _html = copies(demo)
    assert letters(plain) == "Runit:Pythonprint(1)print(2)Andthatisall."
    code = card.answer.locator("pre code")
    selects(demo, code, code)

    assert copies(demo)[0].strip() == "print(1)\nprint(2)"


@pytest.mark.slow
def test_what_is_being_written_is_copied(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.reads_finished()
    demo.writes("half a question")

    demo.composer.press("Control+a")

    assert copies(demo)[0] == "half a question"


@pytest.mark.slow
def test_copy_buttons_work_where_there_is_no_clipboard_interface(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    demo.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")

    card.root.get_by_role("button", name="Copy", exact=True).click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()
    demo.page.evaluate("delete navigator.clipboard")

    assert "The filings say this, word for word" in demo.page.evaluate("navigator.clipboard.readText()")
