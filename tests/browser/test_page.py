"""What the page weighs, what its policy refuses, and what closed panels hide."""

import gzip
from collections.abc import Iterable
from datetime import datetime
from urllib.request import urlopen
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Request, expect

from tests.browser.people import Person

KB = 1024


def urls_of(requests: Iterable[Request], kind: str) -> set[str]:
    return {request.url for request in requests if request.resource_type == kind}


def gzipped_bytes(urls: Iterable[str]) -> int:
    total = 0
    for url in urls:
        with urlopen(url, timeout=30) as response:  # noqa: S310 - our own loopback address
            total += len(gzip.compress(response.read(), 6))
    return total


@pytest.mark.slow
def test_first_load_is_small_and_needs_few_requests(visit, offline):
    demo = visit(offline)
    demo.reads_finished()
    demo.page.wait_for_load_state("networkidle")
    requests = [one for one in demo.watch.requests if not one.url.startswith("data:")]
    scripts, styles = urls_of(requests, "script"), urls_of(requests, "stylesheet")

    own = {url for url in scripts if "/static/js/" in url}
    assert own
    assert gzipped_bytes(own) <= 30 * KB
    assert gzipped_bytes(scripts) <= 45 * KB
    assert gzipped_bytes(styles) <= 20 * KB
    assert not urls_of(requests, "font")
    assert len([one for one in requests if one.redirected_to is None]) <= 12


def test_page_can_be_installed(visit, offline):
    demo = visit(offline)
    demo.open()
    errors = demo.context.new_cdp_session(demo.page).send("Page.getInstallabilityErrors")["installabilityErrors"]

    assert {error["errorId"] for error in errors} <= {"in-incognito"}  # as every page of a test is


@pytest.mark.slow
def test_times_are_those_of_the_browser(visit, offline):
    demo = visit(offline, timezone_id="Asia/Tokyo")
    demo.reads_finished()
    shown = demo.answer(0).root.locator("time")

    stored = datetime.fromisoformat(shown.get_attribute("datetime") or "")

    expect(shown).to_have_text(stored.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:%M"))


def test_policy_refuses_inline_scripts_and_styles(visit, offline):
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
def test_closed_thinking_is_not_in_the_accessibility_tree(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    words = (card.thought.text_content() or "")[:40]
    assert is_in_tree(demo, words)

    card.toggle.click()
    expect(card.thought).to_be_hidden()

    assert not is_in_tree(demo, words)


def is_in_tree(person: Person, words: str) -> bool:
    tree = person.context.new_cdp_session(person.page).send("Accessibility.getFullAXTree")
    names = [node.get("name", {}).get("value", "") for node in tree["nodes"] if not node["ignored"]]
    return any(words in str(name) for name in names)
