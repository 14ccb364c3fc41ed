"""What a long conversation costs the page, with a thousand messages like the demo's own. Ui bars H1 to H3."""

from __future__ import annotations

from playwright.sync_api import Browser

from tests.benchmarks.figures import Figure
from tests.benchmarks.window import Window, opened_ms, window
from tests.browser.histories import long_conversations
from tests.browser.sites import Site

TURNS = 500
OPENINGS = 200
SWITCHES = 50
_ROUNDS = 3
_SAME = 1.05


def measure(
    browser: Browser, site: Site, *, turns: int = TURNS, cycles: int = OPENINGS, rounds: int = _ROUNDS
) -> list[Figure]:
    """Return the figures of a conversation with so many turns, opened, loaded whole, and used."""
    path, plain = long_conversations(site, turns, "like-demo", "plain")
    return [
        *_first(browser, site, path, plain, rounds),
        *_whole(browser, site, path),
        *_used(browser, site, (path, plain), cycles),
    ]


def _first(browser: Browser, site: Site, path: str, plain: str, rounds: int) -> list[Figure]:
    """H1."""
    with window(browser, site) as shown:
        cold = opened_ms(shown, path)
        elements = shown.elements()
    with window(browser, site) as shown:
        opened_ms(shown, plain)
        without_steps = shown.elements()
    return [
        Figure("first opening, nothing remembered", cold, "ms to paint"),
        Figure("first opening", _best(browser, site, path, rounds), "ms to paint", aim=250),
        Figure("  at a quarter of the speed", _best(browser, site, path, rounds, slowed=4), "ms to paint", aim=700),
        Figure("  elements, with work behind each answer", elements, "elements", aim=1800),
        Figure("  elements, answers alone", without_steps, "elements", aim=1800),
    ]


def _best(browser: Browser, site: Site, path: str, rounds: int, *, slowed: int = 1) -> float:
    best = float("inf")
    for _round in range(rounds):
        with window(browser, site, slowed=slowed) as shown:
            best = min(best, opened_ms(shown, path))
    return best


def _whole(browser: Browser, site: Site, path: str) -> list[Figure]:
    """H2."""
    with window(browser, site) as shown:
        opened_ms(shown, f"{path}?since=1")
        shown.forget()
        shown.page.get_by_role("textbox", name="Your question").press_sequentially("typing")
        cards = shown.elements("#messages > article")
        return [
            Figure("all loaded: elements a card", shown.elements("#messages *") / cards, "elements", aim=36),
            Figure("  typing", shown.worst_input_ms(), "ms to show", aim=100),
            Figure("  heap", shown.heap_mb(), "MB", aim=80),
        ]


def _used(browser: Browser, site: Site, paths: tuple[str, str], cycles: int) -> list[Figure]:
    """H3."""
    with window(browser, site) as shown:
        opened_ms(shown, paths[0])
        _open_and_close(shown, 2)  # what is fetched once stays
        before = shown.counters()
        _open_and_close(shown, cycles)
        after = shown.counters()
        switches = max(2, cycles * SWITCHES // OPENINGS)
        for switch in range(1, switches + 1):
            shown.page.goto(paths[switch % 2])
        shown.page.wait_for_load_state("networkidle")
        _open_and_close(shown, 2)
        switched = shown.counters()
    return [
        Figure(f"{cycles} panels opened and closed: nodes", after["nodes"] / before["nodes"], "× before", aim=_SAME),
        Figure("  listeners", after["listeners"] / before["listeners"], "× before", aim=_SAME),
        Figure(
            f"conversations switched {switches} times: nodes",
            switched["nodes"] / before["nodes"],
            "× before",
            aim=_SAME,
        ),
        Figure("  listeners", switched["listeners"] / before["listeners"], "× before", aim=_SAME),
    ]


def _open_and_close(shown: Window, cycles: int) -> None:
    card = shown.page.locator("[data-role=assistant]").last
    bars = (card.locator("[data-tool-trace] > summary"), card.locator("[data-ai-reasoning-toggle]"))
    for at in range(cycles):
        bars[at % 2].click()
        bars[at % 2].click()
