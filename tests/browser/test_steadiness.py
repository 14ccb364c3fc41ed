"""What stands still while an answer is written, and what doesn't move at all. Ui bars P7, A8 and section 2."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.people import NARROW, WIDE, Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

MOST_SHIFT = 0.02
LONG = "".join(
    f"The ratio fell to 1.{number:02} in that quarter, and then it rose. " * 3 + "\n\n" for number in range(20)
)
QUESTIONS = ["What does the leverage covenant say?", "What would breach Northwind Tidal’s debt covenants?"]
# What moved without a person having just pressed something, as the browser itself reckons it: how far, and what it was.
COUNT_SHIFTS = """
window.shifts = [];
const named = ({ node, previousRect, currentRect }) =>
  `${node?.id || node?.className || node?.nodeName} ${previousRect.y} -> ${currentRect.y}`;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries())
    if (!hadRecentInput) window.shifts.push([value, sources.map(named).join(", ")]);
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_page_hardly_shifts_while_it_follows_a_long_answer(
    visit: Visit, connected: Site, model: ContractHandle, viewport: ViewportSize
) -> None:
    pieces = [LONG[at : at + 40] for at in range(0, len(LONG), 40)]
    model.script([reply(thinks("Long. " * 20), says(opening(), *pieces), delay_ms=15)])
    demo = visit(connected, viewport=viewport)
    demo.context.add_init_script(COUNT_SHIFTS)
    starts_chat(demo)
    card = demo.asks("How long is it?")
    demo.page.evaluate("window.shifts = []")
    card.ends()

    expect(card.answer.get_by_text("fell to 1.19")).to_be_in_viewport()
    hardly_shifted(demo)


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_reader_keeps_their_line_when_the_answer_ends(
    visit: Visit, connected: Site, model: ContractHandle, viewport: ViewportSize
) -> None:
    text = "".join(f"Paragraph {number} of a long answer.\n\n" for number in range(30))
    points = [f"Point {number} of a summary that takes more than one line on a phone." for number in range(5)]
    model.script([reply(says(opening(*points), text, "Nearly done, "), waits("rest"), says("and done."))])
    demo = visit(connected, viewport=viewport)
    starts_chat(demo)
    card = demo.asks("What do I read?").streams()
    expect(card.answer).to_contain_text("Nearly done")
    line = card.answer.get_by_text("Paragraph 26")
    expect(line).to_be_in_viewport()
    before = _top(line)

    model.release("rest")
    card.ends()
    expect(card.bullets).to_have_count(5)

    assert abs(_top(line) - before) < 1
    expect(demo.page.get_by_role("button", name="Jump to latest")).to_be_visible()


def hardly_shifted(person: Person) -> None:
    shifts: list[tuple[float, str]] = person.page.evaluate("window.shifts")
    assert sum(value for value, _what in shifts) <= MOST_SHIFT, shifts


def _top(thing: Locator) -> float:
    return float(thing.evaluate("e => e.getBoundingClientRect().top"))


def starts_chat(person: Person) -> None:
    """Open an empty conversation, where the column of conversations may be a drawer."""
    person.open()
    drawer = person.page.get_by_role("button", name="Conversations")
    if drawer.is_visible():
        drawer.click()
    person.starts_chat()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_page_hardly_shifts_while_it_loads_and_an_answer_is_written(
    visit: Visit, offline: Site, viewport: ViewportSize, question: str
) -> None:
    demo = visit(offline, viewport=viewport)
    demo.context.add_init_script(COUNT_SHIFTS)
    starts_chat(demo)
    hardly_shifted(demo)

    card = demo.asks(question)
    demo.page.evaluate("window.shifts = []")  # the question took the place of the starters, as was asked for
    card.ends()
    expect(card.bullets.first).to_be_visible()

    hardly_shifted(demo)


def test_toggles_stay_where_they_are_while_the_answer_grows(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    found = reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}'))
    told = reply(
        says(opening(), "One.\n\nTwo begins "),
        waits("more"),
        says("and ends.\n\nThree begins "),
        waits("rest"),
        says("and ends."),
    )
    model.script([found, told])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Where are you?").streams()
    expect(card.answer).to_contain_text("Two begins")
    before = _top(card.toggle)

    model.release("more")
    expect(card.answer).to_contain_text("Three begins")
    while_growing = _top(card.toggle)
    model.release("rest")
    card.ends()

    assert abs(while_growing - before) < 1


def test_panel_opened_in_a_card_that_grew_opens_downwards(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(thinks("One thought. " * 40), says(opening(), "Short."))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Are you short?").ends()
    card.toggle.hover()  # brought away from the composer, as the click would
    before = _top(card.toggle)

    card.opens_thinking()

    assert abs(_top(card.toggle) - before) < 2


def _running(person: Person) -> int:
    return int(person.page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length"))


def test_nothing_is_animated_for_who_wants_it_still(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(thinks("Looking. "), says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected, reduced_motion="reduce")
    demo.starts_chat()
    card = demo.asks("Will you keep still?").streams()
    expect(card.answer).to_contain_text("It begins")

    card.toggle.click()
    expect(card.thought).to_be_visible()

    assert _running(demo) == 0
    demo.page.emulate_media(reduced_motion="no-preference")
    demo.page.wait_for_function("document.getAnimations().some((one) => one.playState === 'running')")
