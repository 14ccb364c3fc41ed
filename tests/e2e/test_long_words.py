"""Longer languages and the other direction: nothing is clipped or overlaps, nothing scrolls sideways. Ui bar V3."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MakeSite
from tests.e2e.people import Person, Visit
from tests.e2e.sites import Site
from tests.e2e.test_conversations import form_is_open

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
      && !one.matches(".fold__bar") && getComputedStyle(one).clipPath === "none");
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


def _empty(person: Person) -> None:
    person.open()
    person.starts_chat()


def _everything_open(person: Person) -> None:
    card = person.reads_finished()
    card.opens_trace()
    card.opens_thinking()


def _opinion(person: Person) -> None:
    card = person.reads_finished()
    poor = card.root.get_by_role("button", name="Poor answer")
    if poor.get_attribute("aria-pressed") == "true":  # in another test, of the same person
        poor.click()
        expect(poor).to_have_attribute("aria-pressed", "false")
    poor.click()
    expect(card.root.get_by_label("Reason")).to_be_visible()


def _edit(person: Person) -> None:
    person.reads_finished()
    person.page.get_by_role("link", name="Edit question 1").click()
    expect(person.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()


def _manage(person: Person) -> None:
    person.reads_finished()
    person.page.locator("#conversations li").first.hover()
    person.page.get_by_role("link", name=re.compile("^Rename, pin or delete: ")).first.click()
    form_is_open(person.page)


def _nothing_found(person: Person) -> None:
    person.open("/chats/?q=zeppelin")


def _command(person: Person) -> None:
    person.open()
    person.writes("/set")
    person.send_button.click()
    expect(person.page.locator("#command").get_by_role("table")).to_be_visible()


def _shortcuts(person: Person) -> None:
    person.reads_finished()
    person.page.keyboard.press("Control+/")
    expect(person.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def _share(person: Person) -> None:
    person.reads_finished()
    person.page.get_by_role("link", name="Share").click()
    dialog = person.page.get_by_role("dialog", name="Share this conversation")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("heading", name="Active links")).to_be_visible()


def _preview(person: Person) -> None:
    person.open()
    person.starts_chat()
    person.asks("What would breach Northwind Tidal’s debt covenants?").ends()
    person.open(f"{person.page.url}preview/")


def _at(path: str) -> Callable[[Person], None]:
    return lambda person: person.open(path)


def _reader(person: Person) -> None:
    person.open("/filings/")
    person.submits(person.page.get_by_role("main").get_by_role("link").first)


def _gate(person: Person) -> None:
    person.open()
    expect(person.page.get_by_role("button", name="Sign in")).to_be_visible()


States = dict[str, Callable[[Person], None]]

CHAT: States = {
    **{"empty": _empty, "opinion": _opinion, "everything open": _everything_open, "edit": _edit, "manage": _manage},
    **{"nothing found": _nothing_found, "command": _command, "shortcuts": _shortcuts, "share": _share},
    **{"links": _at("/shares/"), "settings": _at("/accounts/settings/"), "password": _at("/accounts/password/")},
    **{"filings": _at("/filings/"), "reader": _reader, "nowhere": _at("/nowhere/")},
}
STAFF: States = {  # but for Django's own lists, whose style for the other direction comes with a language
    **{"new chat": _empty, "preview": _preview, "index": _at("/admin/"), "upload": _at("/admin/chat/filing/add/")},
    **{"usage": _at("/admin/chat/turn/usage/"), "guards": _at("/admin/chat/turn/guards/")},
}
STRANGER: States = {"sign in": _gate, "sign up": _at("/accounts/signup/"), "no link": _at("/s/nobody-made-this/")}


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
    person.watch.expected += ["status of 404"]
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

    left_to_right, right_to_left = (demo.page.locator(".ask").nth(index).bounding_box() for index in range(2))
    assert left_to_right
    assert right_to_left
    ends = [box["x"] + box["width"] for box in (left_to_right, right_to_left)]
    assert abs(ends[0] - ends[1]) <= 1
