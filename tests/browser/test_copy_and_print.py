"""What a selection copies, and what a conversation prints: questions and answers, and what is open."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import Person
from tests.browser.upstream import plain

SELECT = "([first, last]) => getSelection().setBaseAndExtent(first, 0, last, last.childNodes.length)"
COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  const text = async (kind) => (await item.getType(kind)).text();
  return [await text("text/plain"), item.types.includes("text/html") ? await text("text/html") : ""];
}"""
NOT_THE_ANSWER = ["Answer 1", "Reasoning summary", "Searched", "step", "Thought", "Good answer", "Sources"]


def copies(person: Person) -> tuple[str, str]:
    """Press the keys for it; return the plain text and the HTML."""
    person.page.evaluate("navigator.clipboard.writeText('nothing came')")
    person.page.keyboard.press("Control+c")
    plain_text, html = person.page.evaluate(COPIED)
    return plain_text, html


def selects(person: Person, first: Locator, last: Locator) -> None:
    person.page.evaluate(SELECT, [first.element_handle(), last.element_handle()])


def letters(text: str) -> str:
    """Return a text without its spaces, which differ where boxes are in a row."""
    return "".join(text.split())


def test_selection_over_a_card_copies_its_answer(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_trace()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()

    selects(demo, card.root, card.root)
    text, html = copies(demo)
    assert letters(text) == letters(card.answer.inner_text())
    assert all(part not in copied for part in NOT_THE_ANSWER for copied in (text, html))
    assert "<q" in html
    assert demo.page.evaluate("`${getSelection()}`").startswith("Answer 1")  # the selection itself is unchanged
    end = card.answer.locator("> *").last
    selects(demo, end, card.bullets.last)
    assert letters(copies(demo)[0]) == letters(end.inner_text())
    bullet, step = card.bullets.first, card.steps.first.locator("code").first
    selects(demo, bullet, bullet)  # inside another part all of it is copied
    assert copies(demo)[0].strip() == bullet.inner_text()
    selects(demo, bullet, step)
    assert re.search(r"3 steps|1 step", copies(demo)[0])
    demo.writes("half a question")
    demo.composer.press("Control+a")
    assert copies(demo)[0] == "half a question"


@pytest.mark.slow
def test_selection_of_all_copies_questions_and_answers(visit, connected, model):
    model.script([plain("Run it:\n\n```python\nprint(1)\nprint(2)\n```\n\nAnd that is all."), plain("Just run it.")])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("How?").ends()
    demo.asks("And in short?").ends()

    demo.page.get_by_role("main").click(position={"x": 2, "y": 2})
    demo.page.keyboard.press("Control+a")
    text, _html = copies(demo)
    assert letters(text) == letters("How? Run it: Python print(1) print(2) And that is all. And in short? Just run it.")
    code = card.answer.locator("pre code")
    selects(demo, code, code)

    assert copies(demo)[0].strip() == "print(1)\nprint(2)"


@pytest.mark.slow
def test_copy_button_works_without_the_clipboard_interface(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    demo.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")

    card.root.get_by_role("button", name="Copy", exact=True).click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()
    demo.page.evaluate("delete navigator.clipboard")

    assert "The filings say this, word for word" in demo.clipboard()


@pytest.mark.slow
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_answer_is_printed_with_what_is_open_and_nothing_to_press(visit, offline, is_open):
    demo = visit(offline, color_scheme="dark", viewport={"width": 640, "height": 900})
    card = demo.reads_finished()
    if is_open:
        card.opens_trace()
        card.opens_thinking()
        expect(card.thought).not_to_be_empty()
    else:
        card.summary.locator("> summary").click()
        expect(card.bullets).to_have_count(0)
    demo.page.emulate_media(media="print", color_scheme="dark")

    for part in (demo.page.get_by_role("heading", level=1), demo.page.locator(".question"), card.citations.first):
        expect(part).to_be_visible()
    expect(card.answer).to_have_css("color", "rgb(27, 30, 25)")  # dark on paper
    for part in (card.summary, card.steps.first, card.thought):
        expect(part).to_be_visible(visible=is_open)
    expect(card.root.locator(".work")).to_be_visible(visible=is_open)
    expect(card.thought).to_have_css("max-height", "none")
    pressed = demo.page.locator("button:not([aria-expanded]), textarea, select, nav, #side")
    expect(pressed.filter(visible=True)).to_have_count(0)
    assert not demo.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.slow
def test_wide_table_and_formula_of_an_answer_fit_on_paper(visit, connected, model):
    columns = [f"Column number {number}" for number in range(14)]
    rows = [columns, ["---"] * 14, ["some value"] * 14]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    formula = "$$" + " + ".join(["aaaaaaaaaaaa"] * 12) + "$$"
    model.script([plain(f"عنوان\n\n{table}\n\n{formula}\n\nThat is all.")])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("How wide?").ends()
    demo.page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    demo.page.emulate_media(media="print")

    right = "element => element.getBoundingClientRect().right"
    assert card.answer.get_by_role("columnheader").last.evaluate(right) <= 718
    assert not demo.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
