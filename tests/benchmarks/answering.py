"""What an answer costs the page while it is written. Ui bars P7, P8, S4, S5 and S7; ``page`` prints them.

A model service streams at a steady rate, as fast models do. What the page notes of itself is read afterwards; what one
update costs is all the work of the page's main thread over a stretch of the answer, shared among its updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser

from tests.benchmarks.figures import Figure
from tests.benchmarks.window import Window, window
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle

PIECE_MS = 10
_CHARS_A_TOKEN = 4
_SAID = "The ratio fell in the third quarter against a floor of 1.20 and rose again before the year had ended, it says."
THOUGHT = "A thought of some length, that goes on. "
# Time between frames, what came over the socket, how often the page changed, and how soon after Send it says so.
MEASURES = """
window.gaps = [];
window.came = { bytes: 0, blocks: 0, updates: 0 };
window.sent = { at: 0, seen: 0 };
const tick = (before) => requestAnimationFrame((now) => { gaps.push(now - before); tick(now); });
const encoder = new TextEncoder();
document.addEventListener("htmx:wsBeforeMessage", ({ detail: { message } }) => {
  came.bytes += encoder.encode(message).length;
  if (message.startsWith("[")) came.blocks += message.split("<p dir").length - 1;
}, true);
document.addEventListener("submit", () => { sent = { at: performance.now(), seen: 0 }; }, true);
const look = () => {
  came.updates += 1;
  if (sent.at && !sent.seen && document.querySelector(".status[data-live]")) sent.seen = performance.now() - sent.at;
};
new MutationObserver(look).observe(document.getElementById("messages"), {
  childList: true, characterData: true, subtree: true,
});
tick(performance.now());
"""

_REACHED = "least => came.blocks >= least || document.querySelector('[data-role=assistant][data-status=complete]')"


@dataclass(frozen=True, slots=True)
class Written:
    """What was noted over one answer."""

    gaps: list[float]
    long: int
    elements: int
    updates: float  # a second
    busy: float  # of a hundred milliseconds the page's main thread worked so many


def late(gaps: Sequence[float]) -> float:
    """Return how many of a hundred frames were late."""
    return 100 * sum(gap > 25 for gap in gaps) / max(1, len(gaps))


def measure(
    browser: Browser, site: Site, model: ContractHandle, *, words: int, tokens: int, speeds: Sequence[int] = (1, 4)
) -> list[Figure]:
    """Return the figures of answers of so many ``words``, and of one of ``tokens`` that comes fast."""
    return [
        *_streamed(browser, site, model, words),
        *_used(browser, site, model, words, speeds),
        *_long(browser, site, model, tokens),
    ]


def _streamed(browser: Browser, site: Site, model: ContractHandle, words: int) -> list[Figure]:
    """P7, S4, S7. What shifted is counted from the first byte of the page until every panel was opened and closed."""
    thought = thinks(*_pieces(THOUGHT * (30 * words // len(THOUGHT)), 400))
    looked = reply(thought, calls("searchFilings", '{"query":"covenants"}'), delay_ms=PIECE_MS)
    model.script([looked, reply(says(opening(), *_answer(words)), delay_ms=PIECE_MS)])
    with chat(browser, site) as shown:
        shift = float(shown.noted("shift"))
        began = asks(shown)
        found = noted(shown, answers=1)
        _opens_and_closes(shown)
        shift += float(shown.noted("shift"))
    return [
        Figure("sent until its status is there", began, "ms", aim=150),
        Figure(f"answer of {words:,} words after thinking: updates a second", found.updates, "updates", aim=20),
        Figure("  shift: loading, the answer, each panel opened and closed", shift, "", aim=0.02),
    ]


def _opens_and_closes(shown: Window) -> None:
    card = shown.page.locator("[data-role=assistant]").last
    for bar in ("[data-reasoning-summary] > summary", "[data-tool-trace] > summary", "[data-ai-reasoning-toggle]"):
        for _time in range(2):
            card.locator(bar).click()
            shown.settles()


def _used(browser: Browser, site: Site, model: ContractHandle, words: int, speeds: Sequence[int]) -> Iterator[Figure]:
    """P8: the thinking opened and closed and a draft written while an answer grows, on a slow machine too."""
    for slowed in speeds:
        model.script([reply(thinks(THOUGHT * 40), says(opening(), *_answer(words)), delay_ms=PIECE_MS)])
        with chat(browser, site, slowed=slowed) as shown:
            asks(shown)
            shown.forget()
            shown.page.locator("[data-answer]").last.locator("p").first.wait_for()
            toggle = shown.page.locator("[data-ai-reasoning-toggle]").last
            for _time in range(2):
                toggle.click()
            shown.page.get_by_role("textbox", name="Your question").press_sequentially("A draft")
            name = f"  at 1/{slowed} of the speed" if slowed > 1 else "toggles and letters meanwhile, the slowest"
            yield Figure(name, shown.worst_input_ms(), "ms", aim=200)


def _long(browser: Browser, site: Site, model: ContractHandle, tokens: int) -> list[Figure]:
    """S5 and S8: one long answer, a thousand tokens a second in pieces of ten."""
    text = written(tokens * _CHARS_A_TOKEN)
    blocks = text.count("\n\n")
    model.script([reply(says(opening(), *_pieces(text, 10 * _CHARS_A_TOKEN)), delay_ms=PIECE_MS)])
    with chat(browser, site) as shown:
        asks(shown)
        early = _update_ms(shown, blocks * 0.025, blocks * 0.075)
        late = _update_ms(shown, blocks * 0.925, blocks * 0.975)
        _ends(shown, answers=1)
        came = float(shown.page.evaluate("came.bytes"))
    return [
        Figure(f"answer of {tokens:,} tokens, fast: one update near its start", early, "ms"),
        Figure("  one update near its end", late, "ms", aim=2 * early, ratio=late / early, beside="start"),
        Figure("  all bytes over the socket", came / len(text.encode()), "× its text", aim=3),
    ]


def _update_ms(shown: Window, since: float, until: float) -> float:
    """Return what one update cost between these blocks."""
    marks = []
    for part in (since, until):
        shown.page.wait_for_function(_REACHED, arg=part, polling=20, timeout=60_000)
        marks.append((shown.busy_ms(), shown.page.evaluate("came.updates")))
    (busy, updates), (busy_then, updates_then) = marks
    return float(busy_then - busy) / max(1, updates_then - updates)


@contextmanager
def chat(browser: Browser, site: Site, *, slowed: int = 1) -> Iterator[Window]:
    """Open an empty conversation."""
    with window(browser, site, slowed=slowed) as shown:
        shown.page.goto("/")
        shown.page.get_by_role("button", name="New chat").click()
        shown.page.get_by_role("heading", name="What would you like to check?").wait_for()
        shown.page.evaluate(MEASURES)
        yield shown


def asks(shown: Window) -> float:
    """Send a question; return the milliseconds from that until its status line was there."""
    shown.page.get_by_role("textbox", name="Your question").fill("How long is it?")
    shown.page.get_by_role("button", name="Send", exact=True).click()
    shown.page.locator(".status[data-live]").last.wait_for()
    return float(shown.page.evaluate("sent.seen"))


def noted(shown: Window, *, answers: int, begin: Callable[[], object] = lambda: None) -> Written:
    """Wait for the end of an answer; return what was noted from here on."""
    shown.forget()
    began = shown.page.evaluate("gaps.length = came.updates = 0, performance.now()")
    busy = shown.busy_ms()
    begin()
    _ends(shown, answers=answers)
    took = shown.page.evaluate("performance.now()") - began
    return Written(
        gaps=shown.page.evaluate("gaps"),
        long=sum(each > 50 for each in shown.noted("long")),
        elements=shown.page.locator("[data-role=assistant]").last.locator("*").count(),
        updates=1000 * shown.page.evaluate("came.updates") / took,
        busy=100 * (shown.busy_ms() - busy) / took,
    )


def _ends(shown: Window, *, answers: int) -> None:
    done = shown.page.locator("[data-role=assistant][data-status=complete]")
    done.nth(answers - 1).wait_for(timeout=300_000)


def _answer(words: int) -> list[Any]:
    """Return so many words as pieces of seven letters."""
    return _pieces(written(words * 6), 7)


def written(chars: int) -> str:
    """Return paragraphs of sixty words, so many characters in all."""
    said = _SAID.split()
    text = "".join(said[at % len(said)] + ("\n\n" if at % 60 == 59 else " ") for at in range(chars // 4))
    return text[:chars]


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
