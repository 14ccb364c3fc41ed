"""How far a page has shifted, as the browser measures it."""

from tests.browser.people import Person

MOST_SHIFT = 0.02
# What moved, as the browser measures it: how far, whether a person had just pressed something, and what it was.
COUNT_SHIFTS = """
window.shifts = [];
const named = ({ node, previousRect, currentRect }) =>
  `${node?.id || node?.className || node?.nodeName} ${previousRect.y} -> ${currentRect.y}`;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries())
    window.shifts.push([value, hadRecentInput, sources.map(named).join(", ")]);
}).observe({ type: "layout-shift", buffered: true });
"""


def forget_shifts(person: Person) -> None:
    """Count anew, once what a person has just asked for is painted: a slow browser does that frames later."""
    painted = "requestAnimationFrame(() => requestAnimationFrame(done))"
    person.page.evaluate(f"() => new Promise((done) => {painted}).then(() => {{ window.shifts = [] }})")


def hardly_shifted(person: Person, *, with_input: bool = False) -> None:
    shifts: list[tuple[float, bool, str]] = person.page.evaluate("window.shifts")
    counted = [shift for shift in shifts if with_input or not shift[1]]
    assert sum(value for value, _had_input, _what in counted) <= MOST_SHIFT, counted
