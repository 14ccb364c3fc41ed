"""A browser window to measure: its processor and network slowed down, what it notes of itself, what its heap holds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

from tests.browser.sites import Site

WIDE = {"width": 1280, "height": 800}
MB = 1_048_576
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 204_800, "uploadThroughput": 96_000}
# What the page itself notes: the largest paint, long tasks, shifts nobody asked for, and how long each input took.
NOTES = """
window.noted = { paint: 0, long: [], shift: 0, inputs: [], typedAt: 0 };
const watch = (type, take, more = {}) =>
  new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
watch("largest-contentful-paint", (one) => { noted.paint = one.startTime });
watch("longtask", (one) => noted.long.push(one.duration));
watch("layout-shift", (one) => { noted.shift += one.hadRecentInput ? 0 : one.value });
watch("event", (one) => one.interactionId && noted.inputs.push(one.duration), { durationThreshold: 16 });
"""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Window:
    """One person's window on a site, and the session that slows it down and looks into it."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self.page = page
        self._session = session

    def noted(self, name: str) -> Any:
        """Return what the page noted under this name."""
        return self.page.evaluate(f"noted.{name}")

    def forget(self) -> None:
        """Let the notes begin afresh."""
        self.page.evaluate("Object.assign(noted, { long: [], shift: 0, inputs: [] })")

    def worst_input_ms(self) -> float:
        """Return how long the slowest input took till the page showed it; 16 where none took as long as is noted."""
        self.settles()
        return max([*self.noted("inputs"), 16])

    def settles(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate(SETTLED)

    def busy_ms(self) -> float:
        """Return how long the page's main thread has worked, all in all, by its processor's time."""
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        found = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    def elements(self, inside: str = "*") -> int:
        """Return how many elements a selector finds."""
        return int(self.page.locator(inside).count())

    def counters(self) -> dict[str, int]:
        """Return how many nodes and listeners the browser keeps for the page, after it has cleared up."""
        self._session.send("HeapProfiler.collectGarbage")
        found = self._session.send("Memory.getDOMCounters")
        return {"nodes": found["nodes"], "listeners": found["jsEventListeners"]}

    def heap_mb(self) -> float:
        """Return what the scripts' heap holds, after it was cleared up."""
        self._session.send("HeapProfiler.collectGarbage")
        return float(self._session.send("Runtime.getHeapUsage")["usedSize"]) / MB


@contextmanager
def window(browser: Browser, site: Site, *, slowed: int = 1, network: bool = False) -> Iterator[Window]:
    """Open a window for the demo person, its processor ``slowed`` so many times, on a phone's ``network`` or not."""
    context = browser.new_context(base_url=site.base_url, viewport=WIDE)
    context.add_cookies([{"name": "sessionid", "value": site.session("demo"), "url": site.base_url}])
    context.add_init_script(NOTES)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    if network:
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW_4G)
    try:
        yield Window(page, session)
    finally:
        context.close()


def opened_ms(shown: Window, path: str) -> float:
    """Open an address and return when its largest part was painted, counted from the start of the visit."""
    shown.page.goto(path)
    shown.page.wait_for_load_state("networkidle")
    shown.page.evaluate(SETTLED)
    return float(shown.noted("paint"))


def usable_ms(shown: Window, path: str) -> float:
    """Open an address and return when its composer had taken a letter and shown it."""
    began = time.perf_counter()
    shown.page.goto(path, wait_until="commit")
    shown.page.get_by_role("textbox", name="Your question").press("x")
    shown.page.wait_for_function("document.getElementById('text').value === 'x'")
    shown.page.evaluate(SETTLED)
    return 1000 * (time.perf_counter() - began)
