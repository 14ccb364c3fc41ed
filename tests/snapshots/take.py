"""Take the pictures of one state of the source, with the browser ``CHROMIUM``: ``python -P take.py FOLDER``, there.

What is run, and the helpers used here, are those of the tree; what is photographed is what stands here, so that two
trees show the same. Whatever differs from one run to the next (times, durations) reads 0.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS
from tests.browser.sites import Site, prepare
from tests.browser.upstream import calls, contract_server, opening, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

THEMES = ("light", "dark")
HEIGHT = 1600  # room for every state, so that none is scrolled
WIDTHS = {"narrow": {"width": 390, "height": HEIGHT}, "wide": {"width": 1280, "height": HEIGHT}}
FAILURE = {"kind": "disconnect", "at": "event:4"}
ANSWER = (
    "## What the filing says\n\nThe ratio was **1.31** at year end [1], above its floor of 1.20.\n\n"
    "> No passage of any filing says this.\n\n[2]\n\n"
    "| Test | Limit | Reported |\n|---|---|---|\n| Debt service | ≥ 1.20 | 1.31 |\n| Net leverage | ≤ 5.50 | 5.12 |\n\n"
    "```python\nheadroom = 1.31 - 1.20  # in turns\n```\n\n- one point\n- another one, with `code` in it\n\n"
)
SEEN = {"complete": "another one, with", "error": "A paragraph came.", "streaming": "Reported |"}
SETTLES_MS = 300  # after a panel was opened its page looks once more where it is
PANELS = ("[data-reasoning-summary]:not([open]) > summary", "[data-tool-trace]:not([open]) > summary")
STILL = """() => {
  document.querySelectorAll("[data-elapsed]").forEach((one) => one.removeAttribute("data-elapsed"));
  document.querySelectorAll("time, small, .num, .label, .status, .hint").forEach((one) => {
    const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/[0-9][0-9.,:]*( m?s\\b)?/g, "0");
  });
  return document.fonts.ready.then(() => scrollTo(0, 0));
}"""


def take(folder: Path) -> None:
    """Write ``<state>-<theme>-<width>.png`` into a folder."""
    with _running() as (browser, site, model):
        key = site.session("demo")
        places = dict(_prepared(browser, site, model, key))
        for theme in THEMES:
            for width, viewport in WIDTHS.items():
                context = {"color_scheme": theme, "viewport": viewport, "reduced_motion": "reduce"}
                for state, path in places.items():
                    with _window(browser, site, key="" if state == "sign in" else key, **context) as page:
                        _shoot(page, path, folder / f"{state}-{theme}-{width}.png".replace(" ", "-"))
        model.reset()


@contextmanager
def _running() -> Iterator[tuple[Browser, Site, ContractHandle]]:
    with tempfile.TemporaryDirectory() as name:
        folders = {part: Path(name) / part for part in ("prepared", "service", "site")}
        for folder in folders.values():
            folder.mkdir()
        prepared = prepare(folders["prepared"])
        with contract_server(folders["service"]) as model, sync_playwright() as playwright:
            site = Site(
                folders["site"], prepared, {"OPENAI_BASE_URL": model.base_url, "UPSTREAM_IDLE_TIMEOUT_S": "600"}
            )
            browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=ARGUMENTS)
            try:
                site.start()
                yield browser, site, model
            finally:
                browser.close()
                site.stop()


@contextmanager
def _window(browser: Browser, site: Site, *, key: str = "", **options: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=site.base_url, **options)
    if key:
        context.add_cookies([{"name": "sessionid", "value": key, "url": site.base_url}])
    try:
        yield context.new_page()
    finally:
        context.close()


def _prepared(browser: Browser, site: Site, model: ContractHandle, key: str) -> Iterator[tuple[str, str]]:
    """Bring about what is to be photographed; yields each state's name and address."""
    half = len(ANSWER) // 2
    looked = reply(thinks("I look for the covenant. " * 9), calls("searchFilings", '{"query":"debt service coverage"}'))
    failing = reply(says(opening(), "A paragraph came.\n\n", "And half", " of the next"), faults=[FAILURE])
    states = {
        "finished": ("complete", [looked, reply(says(opening(), ANSWER))]),
        "failed": ("error", [failing]),
        "growing": ("streaming", [looked, reply(says(opening(), ANSWER[:half]), waits("never"))]),
    }
    yield "sign in", "/accounts/login/"
    with _window(browser, site, key=key, viewport=WIDTHS["wide"]) as page:
        yield "empty", _started(page)
        for state, (status, replies) in states.items():
            model.script(replies)
            path = _started(page)
            page.get_by_role("textbox", name="Your question").fill(f"What does a {state} answer look like?")
            page.get_by_role("button", name="Send", exact=True).click()
            page.locator(f"[data-role=assistant][data-status={status}]").wait_for()
            page.get_by_text(SEEN[status]).first.wait_for()
            yield state, path
    yield "settings", "/accounts/settings/"


def _started(page: Page) -> str:
    page.goto("/")
    page.get_by_role("button", name="New chat").click()
    page.get_by_role("heading", name="What would you like to check?").wait_for()
    return urlsplit(page.url).path


def _shoot(page: Page, path: str, target: Path) -> None:
    page.goto(path)
    page.wait_for_load_state("networkidle")
    for panel in PANELS:
        for bar in page.locator(panel).all():
            bar.click()
    page.wait_for_timeout(SETTLES_MS)
    page.evaluate(STILL)
    page.screenshot(path=target, animations="disabled", caret="hide")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
