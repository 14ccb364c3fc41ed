"""Going about without a mouse: each stop is reached with Tab, shows that it has the focus, and lies under nothing."""

from playwright.sync_api import Locator

from tests.browser.people import Person

MAX_STOPS = 200  # a long list of conversations has two for each
# It, or the form that frames it, looks different without the focus.
SHOWS_FOCUS = """e => {
  const look = () => JSON.stringify([e, e.closest("form") ?? e].map((one) => getComputedStyle(one)).map(
    ({ outline, boxShadow }) => [outline, boxShadow]));
  const withFocus = look();
  e.blur();
  const without = look();
  e.focus();
  return withFocus !== without;
}"""
# Nothing that stays in sight lies over it.
IS_IN_SIGHT = """e => {
  const { left, top, width, height } = e.getBoundingClientRect();
  const hit = document.elementFromPoint(left + width / 2, top + height / 2);
  return Boolean(hit) && (e.contains(hit) || hit.contains(e));
}"""


def tabs_to(person: Person, target: Locator) -> None:
    """Press Tab until the target has the focus; it must show that it has, and be seen."""
    for _stop in range(MAX_STOPS):
        person.page.keyboard.press("Tab")
        if target.evaluate("e => e === document.activeElement"):
            assert target.evaluate(SHOWS_FOCUS), "the focus can't be seen"
            assert target.evaluate(IS_IN_SIGHT), "something lies over what has the focus"
            return
    raise AssertionError(f"not reached with Tab: {target}")
