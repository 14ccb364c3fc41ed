"""Longer languages and the other direction: nothing is clipped, nothing scrolls sideways. Ui bar V3."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.e2e.people import NARROW, WIDE, Person, Visit
from tests.e2e.sites import Site

# Every word of the product, not of its people and models, gets almost a third longer.
LENGTHEN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  const longer = (word) => word + word.slice(0, Math.ceil(word.length * 0.3));
  const before = document.body.textContent.length;
  for (const text of texts) {
    const isOurs = text.data.trim() && !text.parentElement.closest("[data-answer], .ask, script, style, noscript");
    if (isOurs) text.data = text.data.replace(/\\p{L}{3,}/gu, longer);
  }
  return document.body.textContent.length / before;
}"""
# Boxes with words that are wider than what shows of them; but for those that say so, or that scroll.
CLIPPED = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const { overflowX, textOverflow, display, position, clipPath } = getComputedStyle(one);
  const hasWords = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isMeant = textOverflow === "ellipsis" || ["auto", "scroll"].includes(overflowX) || clipPath !== "none";
  if (!hasWords || isMeant || display === "inline" || !one.checkVisibility()) return false;
  return one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def _finished(demo: Person) -> None:
    card = demo.reads_finished()
    card.opens_trace()
    card.opens_thinking()


def _share(demo: Person) -> None:
    demo.reads_finished()
    demo.page.get_by_role("link", name="Share").click()
    expect(demo.page.get_by_role("dialog")).to_be_visible()


def _settings(demo: Person) -> None:
    demo.open("/accounts/settings/")


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("state", [_finished, _share, _settings])
def test_longer_words_fit(visit: Visit, offline: Site, state: object, viewport: ViewportSize, direction: str) -> None:
    demo = visit(offline, viewport=viewport)
    state(demo)  # type: ignore[operator]

    demo.page.evaluate("direction => { document.documentElement.dir = direction }", direction)
    assert demo.page.evaluate(LENGTHEN) > 1.05

    assert demo.page.evaluate(CLIPPED) == []
    assert demo.page.evaluate(SIDEWAYS) <= 0
