"""A page that comes again: what was open is, in its place and without a show. Ui 2, bar P7."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, ViewportSize, expect

from tests.browser.people import NARROW, WIDE, Visit
from tests.browser.sites import Site

pytestmark = pytest.mark.slow

HEIGHT = "e => e.getBoundingClientRect().height"
# Of the steps, in each frame where it was another.
NOTE_HEIGHTS = """
window.heights = [];
const note = () => {
  const height = Math.round(document.querySelector("[data-tool-trace]")?.getBoundingClientRect().height ?? 0);
  if (height && height !== heights.at(-1)) heights.push(height);
  requestAnimationFrame(note);
};
note();
"""


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_a_reload_finds_the_place_below_open_steps(visit: Visit, offline: Site, viewport: ViewportSize) -> None:
    demo = visit(offline, viewport=viewport)
    card = demo.reads_finished()
    card.opens_trace()
    demo.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    place = demo.page.evaluate("scrollY")
    assert place > 100

    for _again in range(3):
        demo.page.reload()
        expect(card.steps.first).to_be_visible()
        demo.page.wait_for_function("place => Math.abs(scrollY - place) < 48", arg=place)


def test_steps_open_again_at_once(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_trace()
    demo.context.add_init_script(NOTE_HEIGHTS)

    demo.page.reload()
    expect(card.steps.first).to_be_visible()
    demo.page.wait_for_load_state("networkidle")

    tall = round(card.trace.evaluate(HEIGHT))
    heights = demo.page.evaluate("heights")
    assert heights[-1] == tall
    assert len(heights) <= 2  # closed, where that was painted at all, then open


def test_thinking_has_its_height_before_its_text(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    tall = card.thought.evaluate(HEIGHT)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    demo.page.route("**/thinking/", hold)
    with demo.page.expect_request("**/thinking/"):
        demo.page.reload()
    expect(card.thought).to_be_visible()
    expect(card.thought).to_be_empty()
    assert abs(card.thought.evaluate(HEIGHT) - tall) < 1
    held[0].continue_()

    expect(card.thought).not_to_be_empty()
    assert abs(card.thought.evaluate(HEIGHT) - tall) < 1
