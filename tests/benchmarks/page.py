# ruff: noqa: PLC0415 - a browser may be missing: it is looked for when the benchmark runs
"""What the page costs a browser: ``python -m tests.benchmarks.page``.

Starts servers as the browser tests do, and a model service that streams. Paints, inputs and long tasks are what
Chromium itself reports, the best of several visits; ``CHROMIUM`` names another browser than the one found.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.helpers import OPENING, Figure, answer, pieces, show

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

    from replay_contract_server.fixture import ContractHandle
    from tests.browser.sites import Site

TITLE = "Page"
_PIECE_MS = 10
_SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 204_800, "uploadThroughput": 96_000}
_NOTES = """
window.noted = { paint: 0, long: [], shift: 0, inputs: [] };
const watch = (type, accept, more = {}) =>
  new PerformanceObserver((list) => list.getEntries().forEach(accept)).observe({ type, buffered: true, ...more });
watch("largest-contentful-paint", (one) => { noted.paint = one.startTime });
watch("longtask", (one) => noted.long.push(one.duration));
watch("layout-shift", (one) => { noted.shift += one.hadRecentInput ? 0 : one.value });
watch("event", (one) => one.interactionId && noted.inputs.push(one.duration), { durationThreshold: 16 });
"""
# Time between frames, bytes over the socket, how often the messages change, and how soon after Send they do.
_MEASURES = """
Object.assign(window, { gaps: [], bytes: 0, updates: 0, sentAt: 0, statusMs: 0 });
const tick = (before) => requestAnimationFrame((now) => { gaps.push(now - before); tick(now); });
tick(performance.now());
const encoder = new TextEncoder();
document.addEventListener("htmx:wsBeforeMessage", ({ detail: { message } }) => {
  bytes += encoder.encode(message).length;
}, true);
document.addEventListener("submit", () => { sentAt = performance.now(); statusMs = 0; }, true);
new MutationObserver(() => {
  updates += 1;
  if (sentAt && !statusMs && document.querySelector(".status[data-live]")) statusMs = performance.now() - sentAt;
}).observe(document.getElementById("messages"), { childList: true, characterData: true, subtree: true });
"""
_DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def window(
    browser: Browser, site: Site, *, slowed: int = 1, network: bool = False
) -> Iterator[tuple[Page, CDPSession]]:
    """Open a page for the demo user, its processor ``slowed`` so many times, on a phone's ``network`` or not."""
    context = browser.new_context(base_url=site.base_url, viewport={"width": 1280, "height": 800})
    context.add_cookies([{"name": "sessionid", "value": site.session("demo"), "url": site.base_url}])
    context.add_init_script(_NOTES)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    if network:
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", _SLOW_4G)
    try:
        yield page, session
    finally:
        context.close()


def opened_ms(page: Page, path: str) -> float:
    """Open an address and return when its largest part was painted, counted from the start of the visit."""
    page.goto(path)
    page.wait_for_load_state("networkidle")
    page.evaluate(_DRAWN)
    return float(page.evaluate("noted.paint"))


def counters(session: CDPSession) -> dict[str, int]:
    """Return how many nodes and listeners the browser holds for the page, after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Memory.getDOMCounters")
    return {"nodes": found["nodes"], "listeners": found["jsEventListeners"]}


def measure_loading(browser: Browser, site: Site, *, rounds: int = 3) -> list[Figure]:
    """Return the figures of opening a finished conversation."""
    fast = slow = usable = blocked = float("inf")
    path = site.prepared.finished
    for _round in range(rounds):
        with window(browser, site) as (page, _session):
            requests: list[str] = []
            page.on("request", lambda request, made=requests: made.append(request.url))
            fast = min(fast, opened_ms(page, path))
        with window(browser, site, slowed=4, network=True) as (page, _session):
            slow = min(slow, opened_ms(page, path))
            blocked = min(blocked, sum(max(0, each - 50) for each in page.evaluate("noted.long")))
        with window(browser, site, slowed=4) as (page, _session):
            began = time.perf_counter()
            page.goto(path, wait_until="commit")
            page.get_by_role("textbox", name="Your question").press("x")
            assert page.input_value("#text") == "x"
            usable = min(usable, 1000 * (time.perf_counter() - began))
    return [
        Figure("largest paint", fast, "ms", aim=600),
        Figure("  requests", len(requests), "requests", aim=12),
        Figure("  at a quarter of the speed, slow 4G", slow, "ms", aim=2000),
        Figure("  blocked meanwhile", blocked, "ms", aim=100),
        Figure("composer takes a letter, a quarter of the speed", usable, "ms", aim=1200),
    ]


def measure_answer(
    browser: Browser, site: Site, model: ContractHandle, *, chars: int = 40_000, slowed: int = 1
) -> list[Figure]:
    """Return the figures of an answer of so many characters while it is streamed, with thinking before it."""
    from tests.browser.upstream import reply, says, thinks

    text = answer(chars)
    thought = pieces("A thought of some length, that continues. " * 50, 40)
    model.script([reply(thinks(*thought), says(OPENING, *pieces(text, 10)), delay_ms=_PIECE_MS)])
    with window(browser, site, slowed=slowed) as (page, session):
        page.goto("/")
        page.get_by_role("button", name="New chat").click()
        page.get_by_role("heading", name="What would you like to know?").wait_for()
        page.evaluate(_MEASURES)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.get_by_role("textbox", name="Your question").fill("How long is it?")
        page.evaluate("Object.assign(noted, { long: [], shift: 0, inputs: [] }); gaps.length = updates = 0")
        began, busy_before = page.evaluate("performance.now()"), busy_ms(session)
        page.get_by_role("button", name="Send", exact=True).click()
        # A reader opens the thinking and writes a draft while the answer arrives.
        page.locator("[data-answer]").last.locator("p").first.wait_for()
        for _time in range(2):
            page.locator("[data-ai-reasoning-toggle]").last.click()
        page.get_by_role("textbox", name="Your question").press_sequentially("A draft")
        page.locator("[data-role=assistant][data-status=complete]").wait_for(timeout=300_000)
        took = page.evaluate("performance.now()") - began
        busy = busy_ms(session) - busy_before
        noted: dict[str, Any] = page.evaluate("({ ...noted, gaps, updates, bytes, statusMs })")
        elements = page.locator("[data-role=assistant]").last.locator("*").count()
    gaps = sorted(noted["gaps"])
    late = 100 * sum(gap > 25 for gap in gaps) / max(1, len(gaps))
    at_full = slowed == 1
    return [
        Figure(f"answer of {chars:,} characters at 1/{slowed} of the speed: status", noted["statusMs"], "ms", aim=150),
        Figure("  updates a second", 1000 * noted["updates"] / took, "updates"),
        Figure("  late frames", late, "%", aim=0.5 if at_full else 2),
        Figure("  99 of 100 frames", gaps[int(len(gaps) * 0.99)], "ms", aim=33 if at_full else None),
        Figure("  long tasks", sum(each > 50 for each in noted["long"]), "tasks", aim=0 if at_full else None),
        Figure("  main thread at work", 100 * busy / took, "% of the time"),
        Figure("  slowest toggle or letter", max([*noted["inputs"], 16]), "ms", aim=200),
        Figure("  layout shift", noted["shift"], "", aim=0.02),
        Figure("  elements of its card", elements, "elements", aim=1500),
        Figure("  all bytes over the socket", noted["bytes"] / len(text.encode()), "× its text", aim=3),
    ]


def busy_ms(session: CDPSession) -> float:
    """Return how long the page's main thread has worked, by its processor's time."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def measure_history(browser: Browser, site: Site, *, turns: int = 500, cycles: int = 100) -> list[Figure]:
    """Return the figures of a conversation with so many turns: opened, loaded whole, and used."""
    from tests.browser.histories import long_conversations

    path, plain = long_conversations(site, turns, "like-demo", "plain")
    with window(browser, site) as (page, session):
        painted = opened_ms(page, path)
        elements = page.locator("*").count()
        card = page.locator("[data-role=assistant]").last
        bars = (card.locator("[data-tool-trace] > summary"), card.locator("[data-ai-reasoning-toggle]"))
        for at in range(4 + 2 * cycles):
            if at == 4:  # what is fetched once stays
                before = counters(session)
            bars[at // 2 % 2].click()
        after = counters(session)
    with window(browser, site) as (page, _session):
        opened_ms(page, plain)
        without_steps = page.locator("*").count()
    with window(browser, site) as (page, session):
        opened_ms(page, f"{path}?since=1")
        cards = page.locator("#messages > article").count()
        per_card = page.locator("#messages *").count() / cards
        session.send("HeapProfiler.collectGarbage")
        heap = float(session.send("Runtime.getHeapUsage")["usedSize"]) / 2**20
    return [
        Figure(f"conversation of {turns} turns: first paint", painted, "ms", aim=250),
        Figure("  elements, with work behind each answer", elements, "elements", aim=2400),
        Figure("  elements, answers alone", without_steps, "elements", aim=2400),
        Figure("  all loaded: elements a card", per_card, "elements", aim=45),
        Figure("  all loaded: heap", heap, "MB", aim=80),
        *(
            Figure(f"  {cycles} panels opened and closed: {kind}", after[kind] / before[kind], "× before", aim=1.05)
            for kind in before
        ),
    ]


def main() -> None:
    """Print the tables, or why there are none."""
    try:
        from playwright.sync_api import sync_playwright

        from tests.browser.chromium import ARGUMENTS, find_chromium
        from tests.browser.sites import Site, prepare
        from tests.browser.upstream import contract_server
    except ImportError as missing:
        show(TITLE, (), f"skipped: {missing}; make test installs what it needs")
        return
    path = find_chromium()
    if path is None:
        show(TITLE, (), "skipped: no browser was found, and none could be installed")
        return
    with tempfile.TemporaryDirectory() as name:
        folders = {part: Path(name) / part for part in ("prepared", "service", "offline", "connected")}
        for folder in folders.values():
            folder.mkdir()
        prepared = prepare(folders["prepared"])
        with contract_server(folders["service"]) as model, sync_playwright() as playwright:
            environment = {"OPENAI_BASE_URL": model.base_url, "REASONING_THINKING_FOR_USERS": "full"}
            offline = Site(folders["offline"], prepared, {})
            connected = Site(folders["connected"], prepared, environment)
            browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
            try:
                offline.start()
                connected.start()
                show(TITLE, measure_loading(browser, offline))
                for slowed in (1, 4):
                    show("Answer", measure_answer(browser, connected, model, slowed=slowed))
                show("History", measure_history(browser, offline))
            finally:
                browser.close()
                for site in (offline, connected):
                    site.stop()


if __name__ == "__main__":
    main()
