"""What stays where it is while an answer is written: the page, the reader's line, the toggles."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cards import AnswerCard
from tests.browser.people import NARROW, WIDE
from tests.browser.shifts import COUNT_SHIFTS, forget_shifts, hardly_shifted
from tests.browser.upstream import calls, opening, reply, says, thinks, waits
from tests.browser.watching import wait_until

LONG = "".join(
    f"The ratio fell to 1.{number:02} in that quarter, and then it rose. " * 3 + "\n\n" for number in range(20)
)
both_widths = pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])


def top_of(thing: Locator) -> float:
    return float(thing.evaluate("e => e.getBoundingClientRect().top"))


def gap_below_text(card: AnswerCard) -> float:
    below = "(text, toggle) => toggle.getBoundingClientRect().top - text.getBoundingClientRect().bottom"
    return float(card.answer.evaluate(below, card.toggle.element_handle()))  # in one step: the text may be growing


def test_page_follows_the_end_until_the_reader_leaves_it(visit, offline):
    demo = visit(offline, viewport={"width": 800, "height": 420})
    demo.reads_finished()
    jump = demo.page.get_by_role("button", name=re.compile("Jump to latest"))
    demo.page.mouse.move(300, 200)
    demo.page.mouse.wheel(0, -4000)
    expect(jump).to_be_visible()
    demo.reasoning_switch.click()
    expect(demo.answer(0).summary).to_have_count(0)  # the messages were drawn again, and nothing is new
    expect(demo.page.get_by_role("button", name="Jump to latest", exact=True)).to_be_visible()
    demo.page.evaluate("() => { jump.click(); scrollTo(0, 0) }")  # away again before the browser tells of the first
    demo.reasoning_switch.click()
    expect(demo.answer(0).summary).to_have_count(1)
    demo.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(jump).to_be_visible()

    jump.click()

    to_end = "document.scrollingElement.scrollHeight - scrollY - innerHeight"
    wait_until(demo.page, lambda: demo.page.evaluate(to_end) < 2)
    expect(jump).to_be_hidden()


@pytest.mark.slow
@both_widths
def test_page_hardly_shifts_while_it_follows_a_long_answer(visit, connected, model, viewport):
    pieces = [LONG[at : at + 40] for at in range(0, len(LONG), 40)]
    model.script([reply(thinks("Long. " * 20), says(opening(), *pieces), delay_ms=15)])
    demo = visit(connected, viewport=viewport)
    demo.context.add_init_script(COUNT_SHIFTS)
    demo.starts_chat()
    hardly_shifted(demo)
    card = demo.asks("How long is it?")
    forget_shifts(demo)  # the question replaced the starters
    card.ends()

    expect(card.answer.get_by_text("fell to 1.19")).to_be_in_viewport()
    hardly_shifted(demo)


@pytest.mark.slow
@both_widths
@pytest.mark.parametrize("paragraphs", [2, 30], ids=["short", "long"])
def test_page_hardly_shifts_when_an_answer_ends_with_a_summary(visit, connected, model, viewport, paragraphs):
    points = [f"Point {number} of a summary that has more than one line on a phone." for number in range(5)]
    looks_up = reply(thinks("Looking. " * 20), calls("searchFilings", '{"query":"covenants"}'))
    text = "".join(f"Paragraph {number} of an answer.\n\n" for number in range(paragraphs))
    model.script(
        [looks_up, reply(thinks("Reading. "), says(opening(*points), text, "It is "), waits("rest"), says("so."))]
    )
    demo = visit(connected, viewport=viewport)
    demo.context.add_init_script(COUNT_SHIFTS)
    demo.starts_chat()
    card = demo.asks("How steady is it?").streams()
    expect(card.answer).to_contain_text("It is")
    forget_shifts(demo)  # the question replaced the starters

    model.release("rest")
    card.ends()

    expect(card.bullets).to_have_count(5)
    demo.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    hardly_shifted(demo, with_input=True)  # of a question that was asked some seconds ago


@pytest.mark.slow
@both_widths
@pytest.mark.parametrize("follows", [True, False], ids=["follows", "left"])
def test_end_of_an_answer_comes_into_view_unless_its_reader_left(visit, connected, model, viewport, follows):
    text = "".join(f"Paragraph {number} of a long answer.\n\n" for number in range(30))
    points = [f"Point {number} of a summary that has more than one line on a phone." for number in range(5)]
    model.script([reply(says(opening(*points), text, "Nearly done, "), waits("rest"), says("and done."))])
    demo = visit(connected, viewport=viewport)
    demo.starts_chat()
    card = demo.asks("What do I read?").streams()
    expect(card.answer).to_contain_text("Nearly done")
    line = card.answer.get_by_text("Paragraph 26")
    expect(line).to_be_in_viewport()
    if not follows:
        demo.page.mouse.move(150, 200)
        demo.page.mouse.wheel(0, -200)
        expect(demo.page.locator("#jump")).to_be_visible()
    before = top_of(line)

    model.release("rest")
    card.ends()
    expect(card.bullets).to_have_count(5)

    if not follows:
        assert abs(top_of(line) - before) < 1
        return
    top_of_composer = top_of(demo.page.locator(".composer:not(.edit)"))
    actions = card.root.get_by_role("button", name="Copy", exact=True)
    wait_until(demo.page, lambda: (box := actions.bounding_box()) and box["y"] + box["height"] <= top_of_composer)
    expect(card.answer.get_by_text("and done.")).to_be_in_viewport()


@pytest.mark.slow
def test_toggles_stay_below_the_text_that_grows_after_a_reload(visit, connected, model):
    written = reply(
        thinks("Hm. "), says(opening(), "One begins "), waits("more"), says("and ends.\n\n" * 9), waits("rest")
    )
    model.script([written])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Where are you?").streams()
    expect(card.answer).to_contain_text("One begins")
    demo.page.reload()
    card.streams()
    expect(card.answer).to_contain_text("One begins")

    model.release("more")

    expect(card.answer.get_by_text("and ends.")).to_have_count(9)
    demo.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert gap_below_text(card) >= 0
    card.streams()
    model.release("rest")
    card.ends()


@pytest.mark.slow
def test_toggles_stay_below_the_text_that_grows_and_panels_open_downwards(visit, connected, model):
    written = reply(
        thinks("One thought. " * 40),
        says(opening(), "One.\n\nTwo begins "),
        waits("more"),
        says("and ends.\n\nThree begins "),
        waits("rest"),
        says("and ends."),
    )
    model.script([reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}')), written])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Where are you?").streams()
    expect(card.answer).to_contain_text("Two begins")
    gap = gap_below_text(card)

    model.release("more")
    expect(card.answer).to_contain_text("Three begins")
    wait_until(demo.page, lambda: abs(gap_below_text(card) - gap) < 1)
    model.release("rest")
    card.ends()
    card.toggle.hover()  # scrolled out from under the composer, as the click would
    before = top_of(card.toggle)
    card.opens_thinking()

    assert abs(top_of(card.toggle) - before) < 2


@pytest.mark.slow
def test_nothing_is_animated_where_less_motion_is_wanted(visit, connected, model):
    model.script([reply(thinks("Looking. "), says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected, reduced_motion="reduce")
    demo.starts_chat()
    card = demo.asks("Will you hold still?").streams()
    expect(card.answer).to_contain_text("It begins")

    is_animated = "(button) => { button.click(); return document.getAnimations().length > 0 }"
    assert not card.toggle.evaluate(is_animated)
    expect(card.thought).to_be_visible()
    demo.page.emulate_media(reduced_motion="no-preference")
    assert card.toggle.evaluate(is_animated)


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_card_that_ended_here_is_laid_out_as_after_a_reload(visit, connected, model, viewport):
    model.script([reply(thinks("Looking. "), says(opening("One point.", "Another point."), "It fits in a line."))])
    demo = visit(connected, viewport=viewport)
    demo.starts_chat()
    demo.asks("How does it look?").ends()
    ended = tops_of_parts(demo.answer())

    demo.page.reload()

    assert tops_of_parts(demo.answer()) == pytest.approx(ended, abs=8)


def tops_of_parts(card: AnswerCard) -> list[float]:
    expect(card.bullets).to_have_count(2)
    tops: list[float] = card.root.evaluate("""card => {
      const parts = card.querySelectorAll("h2, [data-answer] > *, .disclosure, footer > *");
      return [...parts].map((part) => part.getBoundingClientRect().top - card.getBoundingClientRect().top);
    }""")
    return tops
