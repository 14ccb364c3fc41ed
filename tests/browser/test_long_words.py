"""Longer languages and the other direction: nothing is clipped or overlaps, nothing scrolls sideways. Ui bar V3."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import MakeSite
from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.states import CHAT, NOWHERE, STAFF, STRANGER, States

pytestmark = pytest.mark.slow

LOOKS = [(direction, width) for direction in ("ltr", "rtl") for width in (360, 1280)]
# Every word of the product, not of its people and models, gets almost a third longer.
LENGTHEN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  const foreign = "[data-answer], .ask, pre, script, style, noscript";
  const longer = (word) => word + word.slice(0, Math.ceil(word.length * 0.3));
  const before = document.body.textContent.length;
  for (const text of texts) {
    const isOurs = text.data.trim() && !text.parentElement.closest(foreign);
    if (isOurs) text.data = text.data.replace(/\\p{L}{3,}/gu, longer);
  }
  return document.body.textContent.length / before;
}"""
# Boxes with words that are wider than what shows of them; but for those that say so, or that scroll.
CLIPPED = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const { overflowX, textOverflow, display, clip, clipPath } = getComputedStyle(one);
  const isUnseen = clip !== "auto" || clipPath !== "none";
  const hasWords = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isMeant = textOverflow === "ellipsis" || ["auto", "scroll"].includes(overflowX) || isUnseen;
  if (!hasWords || isMeant || display === "inline" || !one.checkVisibility()) return false;
  return one.scrollWidth > one.clientWidth + 1;
}).map((one) => `clipped: ${one.outerHTML.slice(0, 120)}`)"""
# Controls that lie on one another; but for bars that stay in sight, below which others pass, and larger targets.
OVERLAPPING = """() => {
  const floats = (one) => ["fixed", "sticky"].includes(getComputedStyle(one).position);
  const isHeld = (one) => {
    for (let box = one; box; box = box.parentElement) if (floats(box)) return true;
    return false;
  };
  const shown = (one) => {
    let { left, right, top, bottom } = one.getBoundingClientRect();
    for (let box = one.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === "visible") continue;
      left = Math.max(left, box.getBoundingClientRect().left);
      right = Math.min(right, box.getBoundingClientRect().right);
    }
    return { left, right, top, bottom };
  };
  const root = document.querySelector("dialog[open]") ?? document.body;
  const controls = [...root.querySelectorAll("a, button, input, select, textarea, summary")].filter(
    (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !isHeld(one)
      && !one.matches(".disclosure__bar") && getComputedStyle(one).clipPath === "none");
  const boxes = controls.map((one) => [one, shown(one)]);
  const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1;
  const meet = (a, b) => shared(a, b, "left", "right") && shared(a, b, "top", "bottom");
  return boxes.flatMap(([one, box], index) => boxes.slice(index + 1)
    .filter(([other, its]) => !one.contains(other) && !other.contains(one) && meet(box, its))
    .map(([other]) => `overlapping: ${one.outerHTML.slice(0, 100)} and ${other.outerHTML.slice(0, 100)}`));
}"""
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['scrolls sideways'] : []"


def faults(page: Page) -> Iterator[str]:
    """Make the words of a page longer, and look at it in both directions and widths."""
    assert page.evaluate(LENGTHEN) > 1.02
    for direction, width in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        for look in (CLIPPED, OVERLAPPING, SIDEWAYS):
            yield from (f"{direction} {width}: {fault}" for fault in page.evaluate(look))


@pytest.mark.parametrize(
    ("username", "states"),
    [
        pytest.param("demo", CHAT, id="chat"),
        pytest.param("admin", STAFF, id="staff"),
        pytest.param("", STRANGER, id="stranger"),
    ],
)
def test_longer_words_fit_in_both_directions(
    visit: Visit, offline: Site, serve: MakeSite, username: str, states: States
) -> None:
    person = visit(offline if username else serve(SIGNUP_ENABLED="true"), username, signed_in=bool(username))
    person.watch.expected += NOWHERE
    found = []
    for name, go in states.items():
        person.page.set_viewport_size({"width": 1280, "height": 800})
        go(person)
        found += [f"{name}: {fault}" for fault in faults(person.page)]

    assert found == []


def test_question_in_the_other_direction_stays_on_its_side(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()
    demo.asks("What was it?").ends()
    demo.asks("ماذا حدث؟").ends()

    left_to_right, right_to_left = (demo.page.locator(".question").nth(index).bounding_box() for index in range(2))
    assert left_to_right
    assert right_to_left
    ends = [box["x"] + box["width"] for box in (left_to_right, right_to_left)]
    assert abs(ends[0] - ends[1]) <= 1
