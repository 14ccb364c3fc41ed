# ruff: noqa: PLC0415 - a browser may not be here: it is asked for when the benchmark runs
"""What the page costs a browser: ``python -m tests.benchmarks.page``. Ui bars P4 to P8, S1 to S8, H1 to H3.

Starts the server as the browser tests do, over a database of its own, and a model service that streams. Paints and
inputs are what Chromium itself says, the best of several visits; ``CHROMIUM`` names another browser than the one found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.figures import Figure, load, show, skip

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.sites import Site
    from tests.contract_server.fixture import ContractHandle

TITLE = "Page"
_ROUNDS = 3
_WORDS = 2_000
_FEW = 300
_TOKENS = 20_000
_THOUGHT_CHARS = 60_000
_ALL_THINKING = {"REASONING_THINKING_FOR_USERS": "full"}


def measure(browser: Browser, site: Site, *, rounds: int = _ROUNDS) -> list[Figure]:
    """Return the figures of loading the page: P4 to P6."""
    from tests.benchmarks.window import opened_ms, usable_ms, window

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


@contextmanager
def everything() -> Iterator[tuple[Browser, Site, Site, ContractHandle]]:
    """Start a browser, a site with the offline analyst, one with a model service, and that service."""
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import ARGUMENTS, find_chromium
    from tests.browser.sites import Site, prepare
    from tests.browser.upstream import contract_server

    path = find_chromium()
    if path is None:
        raise ImportError("there is no browser, and none could be had")
    with tempfile.TemporaryDirectory() as name:
        prepared = prepare(_folder(name, "prepared"))
        with contract_server(_folder(name, "service")) as model, sync_playwright() as playwright:
            sites = [
                Site(_folder(name, "offline"), prepared, {}),
                Site(_folder(name, "connected"), prepared, {"OPENAI_BASE_URL": model.base_url, **_ALL_THINKING}),
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
            from tests.benchmarks import answering, history, lengthy, wire

            show(TITLE, measure(browser, site), load())
            written = answering.measure(browser, connected, model, words=_WORDS, tokens=_TOKENS)
            show("While an answer is written", written, load())
            longest = lengthy.measure(browser, connected, model, tokens=_TOKENS, thought_chars=_THOUGHT_CHARS)
            show("Where an answer is longest", longest, load())
            show("What an answer sends", wire.measure(browser, connected, model, words=_WORDS, few=_FEW), load())
            show("A thousand messages", history.measure(browser, site), load())
    except ImportError as missing:
        skip(TITLE, f"{missing}; make test brings what it needs")


if __name__ == "__main__":
    main()
