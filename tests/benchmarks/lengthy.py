"""What a very long answer costs the page where it is longest. Ui bars S1 to S3 and S6; ``page`` prints them.

All but the last half minute of an answer of 20,000 tokens comes fast, the rest at the steady rate of a fast model. Only
that is looked at, on a machine at full speed and at a quarter of it; long thinking came before, in a panel that is
closed, then in one that is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playwright.sync_api import Browser

from tests.benchmarks.answering import PIECE_MS, THOUGHT, Written, asks, chat, late, noted, written
from tests.benchmarks.figures import Figure
from tests.benchmarks.texts import pieces
from tests.benchmarks.window import Window
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

STEADY_TOKENS = 3_000  # half a minute of a hundred a second
REST_MS = 5_000
_TOKEN = 4  # characters
_FAST = 400
_MARK = "From here on it is steady."
_NODES = "document.getElementById('messages').querySelectorAll('*').length"
_IS_STEADY = f"() => document.querySelector('[data-answer]')?.textContent.includes('{_MARK}')"


def measure(
    browser: Browser,
    site: Site,
    model: ContractHandle,
    *,
    tokens: int,
    steady: int = STEADY_TOKENS,
    thought_chars: int,
    rest_ms: int = REST_MS,
    speeds: Sequence[int] = (1, 4),
) -> list[Figure]:
    """Return the figures of an answer of so many ``tokens``, the last of them ``steady``."""
    figures: list[Figure] = []
    for slowed in speeds:
        at = f", at 1/{slowed} of the speed" if slowed > 1 else ""
        for is_open in (False, True):
            model.reset()
            model.script([_reply(tokens, steady, thought_chars)])
            with chat(browser, site, slowed=slowed) as shown:
                grown = _thinks(shown, model, is_open=is_open)
                idle = _rests(shown, rest_ms)
                found = _writes(shown, model)
            panel = "open" if is_open else "closed"
            figures += _frames(f"end of {tokens:,} tokens, thinking {panel}{at}: frames", found, slowed, idle)
            if slowed == 1 and not is_open:
                figures.append(Figure("  elements of its card", found.elements, "elements", aim=1500))
                figures.append(Figure("  elements that the thinking brought", grown, "elements", aim=0))
    return figures


def _reply(tokens: int, steady: int, thought_chars: int) -> dict[str, object]:
    text = written(tokens * _TOKEN)
    cut = len(text) - steady * _TOKEN
    thought = pieces((THOUGHT * thought_chars)[:thought_chars], _FAST)
    return reply(
        thinks(*thought[:1]),
        waits("think"),
        thinks(*thought[1:]),
        waits("write"),
        says(opening(), *pieces(text[:cut], _FAST), f"\n\n{_MARK} "),
        waits("steady"),
        says(*pieces(text[cut:], _TOKEN)),
        delay_ms=PIECE_MS,
    )


def _thinks(shown: Window, model: ContractHandle, *, is_open: bool) -> int:
    """Let it think; return by how many elements the messages grew meanwhile."""
    asks(shown)
    model.wait_for(held="think")
    toggle = shown.page.locator("[data-ai-reasoning-toggle]")
    toggle.wait_for()
    if is_open:
        toggle.click()
    shown.settles()
    before = shown.page.evaluate(_NODES)
    model.release("think")
    model.wait_for(held="write")
    shown.settles()
    return int(shown.page.evaluate(_NODES)) - int(before)


def _rests(shown: Window, rest_ms: int) -> float:
    """Return how many of a hundred frames are late while nothing comes: what the machine itself takes."""
    shown.page.evaluate("gaps.length = 0")
    shown.page.wait_for_timeout(rest_ms)
    return late(shown.page.evaluate("gaps"))


def _writes(shown: Window, model: ContractHandle) -> Written:
    model.release("write")
    shown.page.wait_for_function(_IS_STEADY, polling=100, timeout=120_000)
    shown.settles()
    return noted(shown, answers=1, begin=lambda: model.release("steady"))


def _frames(name: str, found: Written, slowed: int, idle: float) -> Iterator[Figure]:
    """S1 promises less on a slow machine: few late frames."""
    gaps = sorted(found.gaps)
    at_full = slowed == 1
    yield Figure(f"{name} that were late", late(found.gaps), "%", aim=0.5 if at_full else 2)
    yield Figure("  while nothing came, just before", idle, "%")
    yield Figure("  95 of 100", gaps[int(len(gaps) * 0.95)], "ms", aim=17.5 if at_full else None)
    yield Figure("  99 of 100", gaps[int(len(gaps) * 0.99)], "ms", aim=33 if at_full else None)
    yield Figure("  long tasks", found.long, "tasks", aim=0 if at_full else None)
    yield Figure("  the page's main thread at work", found.busy, "% of the time")
