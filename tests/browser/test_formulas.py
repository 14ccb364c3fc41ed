"""Formulas in an answer: set by the browser itself, live as after a reload, wide ones in boxes that scroll."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import plain
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

SUM = " + ".join(f"x_{{{at}}}" for at in range(1, 30))
ANSWER = rf"""From $5 to $10, so $r = \frac{{10}}{{5}} - 1$ and ${" + ".join("abcdefghijkl")}$.

$$
{SUM} = 1

+ \sum_{{i=1}}^n \begin{{pmatrix}} a & b \\ c & d \end{{pmatrix}}
$$

\[ \begin{{aligned}} a &= b \\ c &= d \end{{aligned}} \]

And $\foo{{x}}$ with \$3.

The end."""
SIDEWAYS = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def test_formulas_are_set_live_and_after_and_never_push_the_page_wide(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([plain(ANSWER, chunk=7)])
    demo = visit(connected)
    demo.starts_chat()
    demo.page.set_viewport_size({"width": 320, "height": 700})

    answer = demo.asks("What is the rate?").ends().answer
    live = answer.inner_html()
    demo.page.reload()

    assert answer.inner_html() == live
    assert answer.locator("math").count() == 4
    expect(answer).to_contain_text("From $5 to $10")
    expect(answer.locator("code")).to_have_text(r"$\foo{x}$")
    assert not demo.page.evaluate(SIDEWAYS)
    wide = answer.get_by_role("group", name="Formula").nth(1)
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
    wide.focus()
    demo.page.keyboard.press("ArrowRight")
    expect(wide).not_to_have_js_property("scrollLeft", 0)
    rows, fraction = answer.locator("mtd:text('='), mtd:has(mo:text('='))"), answer.locator("mfrac").first
    assert rows.nth(0).bounding_box()["x"] == rows.nth(1).bounding_box()["x"]  # type: ignore[index]
    upper, lower = (fraction.locator("> *").nth(at).bounding_box() for at in (0, 1))
    assert upper["y"] + upper["height"] <= lower["y"] + 1  # type: ignore[index]
