# ruff: noqa: PLC0415 - a browser may not be here: it is asked for when the benchmark runs
"""What the page costs a browser: ``python -m benchmarks.page``. Ui bars P4 to P8, S in small, H1 to H3.

Starts the server as the browser tests do, over a database of its own, and a model service that streams. Paints and
inputs are what Chromium itself says, the best of several visits; ``CHROMIUM`` names another browser than the one found.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figure, load, show, skip

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from benchmarks.window import Window
    from tests.contract_server.fixture import ContractHandle
    from tests.e2e.sites import Site

TITLE = "Page"
_ROUNDS = 3
_WORDS = 2_000
_PIECE_MS = 10
_SAID = "The ratio fell in the third quarter against a floor of 1.20 and rose again before the year had ended, it says."
# Time between frames, and how many of them were late, while an answer is written.
FRAMES = """
window.gaps = [];
const tick = (before) => requestAnimationFrame((now) => { gaps.push(now - before); tick(now); });
tick(performance.now());
"""


def measure(
    browser: Browser, site: Site, connected: Site, model: ContractHandle, *, words: int = _WORDS, rounds: int = _ROUNDS
) -> list[Figure]:
    """Return the figures of loading the page, of using it, and of an answer of so many ``words``."""
    return [*_loading(browser, site, rounds), *_streaming(browser, connected, model, words)]


def _loading(browser: Browser, site: Site, rounds: int) -> list[Figure]:
    """P4 to P6."""
    from benchmarks.window import opened_ms, usable_ms, window

    path = site.prepared.finished
    fast, slow, usable, blocked = (float("inf"),) * 4
    for _round in range(rounds):
        with window(browser, site) as shown:
            fast = min(fast, opened_ms(shown, path))
        with window(browser, site, slowed=4, network=True) as shown:
            slow = min(slow, opened_ms(shown, path))
        with window(browser, site, slowed=4) as shown:
            opened_ms(shown, path)
            blocked = min(blocked, sum(max(0, each - 50) for each in shown.noted("long")))
        with window(browser, site, slowed=4) as shown:
            usable = min(usable, usable_ms(shown, path))
    return [
        Figure("largest paint", fast, "ms", aim=600),
        Figure("  at a quarter of the speed, slow 4G", slow, "ms", aim=2000),
        Figure("blocked while loading, a quarter of the speed", blocked, "ms", aim=100),
        Figure("composer takes a letter, a quarter of the speed", usable, "ms", aim=1200),
    ]


def _streaming(browser: Browser, connected: Site, model: ContractHandle, words: int) -> list[Figure]:
    """P7, P8, S1, S2, S6 and S7, with thinking before the answer; the page is used while a second one is written."""
    from benchmarks.window import window

    model.script([_reply(words), _reply(words)])
    with window(browser, connected) as shown:
        shown.page.goto("/")
        shown.page.get_by_role("button", name="New chat").click()
        shown.page.get_by_role("heading", name="What would you like to check?").wait_for()
        began = _asks(shown)
        shown.forget()
        shown.page.evaluate(FRAMES)
        _waits(shown, answers=1)
        gaps = sorted(shown.page.evaluate("gaps"))
        elements = shown.elements("[data-role=assistant] *")
        shift, long = shown.noted("shift"), sum(each > 50 for each in shown.noted("long"))
        _asks(shown)
        inputs = _uses(shown)
        _waits(shown, answers=2)
    late = 100 * sum(gap > 25 for gap in gaps) / len(gaps)
    return [
        Figure("sent until its status is seen", began, "ms", aim=150),
        Figure(f"answer of {words:,} words: frames, 95 of 100", gaps[int(len(gaps) * 0.95)], "ms", aim=17.5),
        Figure("  frames that were late", late, "%", aim=0.5),
        Figure("  long tasks", long, "tasks", aim=0),
        Figure("  shift over it", shift, "", aim=0.02),
        Figure("  elements of its card", elements, "elements", aim=1500),
        Figure("  toggles and letters meanwhile, the slowest", inputs, "ms", aim=200),
    ]


def _waits(shown: Window, *, answers: int) -> None:
    """Wait until so many answers are complete."""
    done = shown.page.locator("[data-role=assistant][data-status=complete]")
    done.nth(answers - 1).wait_for(timeout=300_000)


def _reply(words: int) -> dict[str, Any]:
    from tests.e2e.upstream import opening, reply, says, thinks

    said = _SAID.split()
    text = "".join(said[at % len(said)] + ("\n\n" if at % 60 == 59 else " ") for at in range(words))
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    return reply(thinks(*(["A thought of some length. "] * 40)), says(opening(), *pieces), delay_ms=_PIECE_MS)


def _asks(shown: Window) -> float:
    """Send a question; return the milliseconds until the status line of its answer was there."""
    shown.page.get_by_role("textbox", name="Your question").fill("How long is it?")
    began = time.perf_counter()
    shown.page.get_by_role("button", name="Send", exact=True).click()
    shown.page.locator(".status[data-live]").last.wait_for()
    return 1000 * (time.perf_counter() - began)


def _uses(shown: Window) -> float:
    """Open and close the thinking and write a draft while the answer grows."""
    toggle = shown.page.locator("[data-ai-reasoning-toggle]").last
    shown.page.locator("[data-answer]").last.locator("p").first.wait_for()
    for _time in range(2):
        toggle.click()
    shown.page.get_by_role("textbox", name="Your question").press_sequentially("A draft")
    return shown.worst_input_ms()


@contextmanager
def everything() -> Iterator[tuple[Browser, Site, Site, ContractHandle]]:
    """Start a browser, a site with the offline analyst, one with a model service, and that service."""
    from playwright.sync_api import sync_playwright

    from tests.browser import ARGUMENTS, chromium
    from tests.e2e.sites import Site, prepare
    from tests.e2e.upstream import contract_server

    path = chromium()
    if path is None:
        raise ImportError("there is no browser, and none could be had")
    with tempfile.TemporaryDirectory() as name:
        prepared = prepare(_folder(name, "prepared"))
        with contract_server(_folder(name, "service")) as model, sync_playwright() as playwright:
            sites = [
                Site(_folder(name, "offline"), prepared, {}),
                Site(_folder(name, "connected"), prepared, {"OPENAI_BASE_URL": model.base_url}),
            ]
            browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
            try:
                for site in sites:
                    site.start()
                yield browser, *sites, model
            finally:
                browser.close()
                for site in sites:
                    site.stop()


def _folder(parent: str, name: str) -> Path:
    folder = Path(parent) / name
    folder.mkdir()
    return folder


def main() -> None:
    """Print both tables, or why there are none."""
    try:
        with everything() as (browser, site, connected, model):
            from benchmarks import history

            show(TITLE, measure(browser, site, connected, model), load())
            show("A thousand messages", history.measure(browser, site), load())
    except ImportError as missing:
        skip(TITLE, f"{missing}; make test brings what it needs")


if __name__ == "__main__":
    main()
