"""What the page weighs, asks for and fits into. Ui bars P1 to P3, A4, A7, L6, S4 and H3 in small."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from urllib.request import urlopen

import pytest
from playwright.sync_api import Request, expect

from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site

KB = 1024


def _kinds(requests: Iterable[Request], kind: str) -> set[str]:
    return {request.url for request in requests if request.resource_type == kind}


def _gzipped(urls: Iterable[str]) -> int:
    """Return what these files weigh, packed as a proxy would."""
    total = 0
    for url in urls:
        with urlopen(url, timeout=10) as answer:  # noqa: S310 - our own loopback address
            total += len(gzip.compress(answer.read(), 6))
    return total


def _first_load(visit: Visit, site: Site) -> Person:
    demo = visit(site)
    demo.reads_finished()
    demo.page.wait_for_load_state("networkidle")
    return demo


@pytest.mark.slow
def test_first_load_ships_little_and_asks_few_times(visit: Visit, offline: Site) -> None:
    demo = _first_load(visit, offline)
    requests = [one for one in demo.watch.requests if not one.url.startswith("data:")]
    scripts, styles = _kinds(requests, "script"), _kinds(requests, "stylesheet")

    own = {url for url in scripts if "/static/js/" in url}
    assert own
    assert _gzipped(own) <= 30 * KB
    assert _gzipped(scripts) <= 45 * KB
    assert _gzipped(styles) <= 20 * KB
    assert not _kinds(requests, "font")
    assert len([one for one in requests if one.redirected_to is None]) <= 20


def test_policy_lets_no_inline_script_or_style_in(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.watch.expected += ["Content Security Policy", "refused:"]
    response = demo.page.goto("/")
    assert response is not None
    policy = response.headers["content-security-policy"]

    demo.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=odd style=\"color: red\">x</p>')")
    demo.page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'odd = 1'}))")

    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert demo.page.evaluate("typeof odd") != "number"
    expect(demo.page.locator("#odd")).not_to_have_css("color", "rgb(255, 0, 0)")
    assert demo.watch.complaints


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/accounts/settings/", "/filings/", "reader", "empty"])
def test_nothing_scrolls_sideways_at_320_pixels(visit: Visit, offline: Site, path: str) -> None:
    demo = visit(offline, viewport={"width": 320, "height": 640})
    demo.open("/filings/" if path == "reader" else "/" if path == "empty" else path)
    if path == "reader":
        demo.page.get_by_role("main").get_by_role("link").first.click()
    elif path == "empty":
        demo.page.get_by_role("button", name="Conversations").click()
        demo.starts_chat()
    elif path == "/":
        card = demo.reads_finished()
        card.opens_trace()
        card.opens_thinking()

    width = demo.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1]


@pytest.mark.slow
def test_collapsed_thinking_is_not_in_the_accessibility_tree(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    words = (card.thought.text_content() or "")[:40]
    assert _tree_holds(demo, words)

    card.toggle.click()
    expect(card.thought).to_be_hidden()

    assert not _tree_holds(demo, words)


def _tree_holds(person: Person, words: str) -> bool:
    tree = person.context.new_cdp_session(person.page).send("Accessibility.getFullAXTree")
    names = [node.get("name", {}).get("value", "") for node in tree["nodes"] if not node["ignored"]]
    return any(words in str(name) for name in names)


def test_page_follows_the_end_until_the_reader_leaves_it(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport={"width": 600, "height": 420})
    demo.reads_finished()
    demo.page.mouse.move(300, 200)
    demo.page.mouse.wheel(0, -4000)
    expect(demo.page.get_by_role("button", name=re.compile("Jump to latest"))).to_be_visible()
    demo.reasoning_switch.click()
    expect(demo.reasoning_switch).to_have_attribute("aria-checked", "false")
    expect(demo.answer(0).summary).to_have_count(0)  # the messages were drawn again, and nothing is new
    expect(demo.page.get_by_role("button", name="Jump to latest", exact=True)).to_be_visible()
    demo.reasoning_switch.click()
    expect(demo.answer(0).summary).to_have_count(1)

    demo.page.get_by_role("button", name=re.compile("Jump to latest")).click()

    gap = "document.scrollingElement.scrollHeight - scrollY - innerHeight"
    demo.page.wait_for_function(f"{gap} < 2")
    expect(demo.page.get_by_role("button", name=re.compile("Jump to latest"))).to_be_hidden()


@pytest.mark.slow
def test_drawer_closes_when_a_conversation_is_chosen(visit: Visit, offline: Site) -> None:
    demo = visit(offline, viewport=NARROW)
    demo.open()
    expect(demo.page.get_by_role("button", name="New chat")).to_be_hidden()

    demo.page.get_by_role("button", name="Conversations").click()
    drawer = demo.page.locator("#side")
    expect(drawer).to_be_visible()
    drawer.get_by_role("navigation").locator("li > a:first-child").last.click()

    expect(drawer).to_be_hidden()
    expect(demo.answer().answer).to_be_visible()
