"""What the window's name and icon say of an answer to somebody who looks elsewhere. Issue 6, the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

LOOKS = """isAway => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isAway });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def _looks_away(person: Person) -> None:
    person.page.evaluate(LOOKS, arg=True)


def _looks_back(person: Person) -> None:
    person.page.evaluate(LOOKS, arg=False)


def _expect_icon(person: Person, name: str) -> None:
    expect(person.page.locator("link[rel=icon]")).to_have_attribute("href", re.compile(rf"/{name}(\.\w+)?\.svg$"))


def test_name_and_icon_say_that_it_works_and_that_it_is_ready(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([reply(says(opening(), "It begins. "), waits("rest"), says("It ends."))])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("How long does it take?").streams()
    expect(demo.page).to_have_title("Working… · How long does it take? · Legible")
    _expect_icon(demo, "glyph-working")
    _looks_away(demo)
    model.release("rest")
    card.ends()
    expect(demo.page).to_have_title(re.compile("^Answer ready · .* · Legible$"))
    _expect_icon(demo, "glyph-done")
    _looks_back(demo)

    expect(demo.page).to_have_title(re.compile("^(?!Answer ready|Working).* · Legible$"))
    _expect_icon(demo, "glyph")


def test_name_and_icon_say_that_it_failed(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = visit(connected)
    demo.starts_chat()
    _looks_away(demo)

    demo.asks("Anyone?").ends("error")

    expect(demo.page).to_have_title(re.compile("^Failed · "))
    _expect_icon(demo, "glyph-failed")


@pytest.mark.parametrize("how", ["seen", "stopped"])
def test_who_saw_the_end_is_told_nothing(visit: Visit, connected: Site, model: ContractHandle, how: str) -> None:
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Are you done?").streams()
    expect(demo.page).to_have_title(re.compile("^Working…"))

    if how == "stopped":
        demo.stop_button.click()
    else:
        model.release("rest")
    card.ends("stopped" if how == "stopped" else "complete")

    expect(demo.page).to_have_title(re.compile("^(?!Answer ready|Working|Failed).* · Legible$"))
