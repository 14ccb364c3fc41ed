"""Take the pictures of README and docs: ``python -m tests.browser.screenshots`` writes them to docs/images."""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.sites import Prepared, Site, prepare
from tests.server import ROOT

FOLDER = ROOT / "docs/images"
WIDE, PHONE = (1280, 960), (390, 844)
SETTLE_MS = 500  # panels open with a transition


def main() -> int:
    """Serve a prepared site and photograph it."""
    if (browser := find_chromium()) is None:
        print("There is no browser, and none could be installed.")
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folders = [Path(name) / part for part in ("prepared", "site")]
        for one in folders:
            one.mkdir()
        prepared = prepare(folders[0])
        site = Site(folders[1], prepared, {})
        launched = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        try:
            site.start()
            take(launched, site, prepared)
        finally:
            launched.close()
            site.stop()
    return 0


def take(browser: Browser, site: Site, prepared: Prepared) -> None:
    """Write a picture of each kind of page."""
    for name, path, theme, size in [
        ("answer-light", prepared.finished, "light", WIDE),
        ("answer-dark", prepared.finished, "dark", WIDE),
        ("answer-phone", prepared.finished, "light", PHONE),
    ]:
        save(open_page(browser, site, "demo", path, theme, size), name)
    reader = open_page(browser, site, "demo", prepared.finished, "light", WIDE)
    reader.locator("[data-answer] a[data-citation]").first.click()
    reader.locator("aside mark").first.wait_for()
    save(reader, "reader")
    save(open_page(browser, site, "admin", "/admin/", "light", WIDE), "admin")


def open_page(browser: Browser, site: Site, user: str, path: str, theme: str, size: tuple[int, int]) -> Page:
    """Open a page in the session of a user."""
    width, height = size
    context = browser.new_context(
        base_url=site.base_url,
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": width, "height": height},
    )
    context.add_cookies([{"name": "sessionid", "value": site.session(user), "url": site.base_url}])
    page = context.new_page()
    page.goto(path)
    page.wait_for_load_state("networkidle")
    return page


def save(page: Page, name: str) -> None:
    """Write the visible part of a page once it has settled."""
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=FOLDER / f"{name}.png")
    page.context.close()


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
