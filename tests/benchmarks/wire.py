"""What one answer sends over the socket: every frame that its page gets, from Send to the last of it. Ui bar S8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playwright.sync_api import Browser, WebSocket

from tests.benchmarks.answering import written
from tests.benchmarks.figures import Figure
from tests.benchmarks.texts import answer, pieces
from tests.benchmarks.window import Window, window
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle

PIECE = 7  # characters
_CHARS_A_WORD = 6
_THOUGHT = "A thought of some length, that goes on. "


def measure(browser: Browser, site: Site, model: ContractHandle, *, words: int, few: int) -> list[Figure]:
    """Return what an answer of so many words sends, and what that is made of.

    For comparison a short one, whose card weighs more than its text, and one that is more markup than text.
    """
    prose = written(words * _CHARS_A_WORD)
    return [
        *_one(browser, site, model, f"answer of {words:,} words", prose, aim=3),
        *_one(browser, site, model, f"answer of {few:,} words", written(few * _CHARS_A_WORD)),
        *_one(browser, site, model, f"{words:,} words with tables, code and citations", answer(len(prose))),
    ]


def _one(
    browser: Browser, site: Site, model: ContractHandle, name: str, text: str, *, aim: float | None = None
) -> Iterator[Figure]:
    found = reply(thinks(*pieces(_THOUGHT * 100, 40)), calls("searchFilings", '{"query":"covenants"}'), delay_ms=2)
    model.script([found, reply(says(opening(), *pieces(text, PIECE)), delay_ms=5)])
    with window(browser, site) as shown:
        frames = _frames(shown)
    chars = len(text.encode())
    parts = {"open text": 0, "finished blocks": 0, "end of its card": 0, "all else": 0}
    for part, frame in _sorted(frames):
        parts[part] += len(frame.encode())
    yield Figure(f"{name}: all bytes over the socket", sum(parts.values()) / chars, "× its text", aim=aim)
    for part, size in parts.items():
        yield Figure(f"  {part}", size / chars, "× its text")


def _frames(shown: Window) -> list[str]:
    """Ask something and return what came until the page was told all that an answer changes."""
    frames: list[str] = []

    def follow(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.append(str(frame)))

    shown.page.on("websocket", follow)
    shown.page.goto("/")
    shown.page.get_by_role("button", name="New chat").click()
    shown.page.get_by_role("heading", name="What would you like to check?").wait_for()
    shown.page.get_by_role("textbox", name="Your question").fill("How long is it?")
    shown.settles()
    frames.clear()
    shown.page.get_by_role("button", name="Send", exact=True).click()
    shown.page.locator("[data-role=assistant][data-status=complete]").wait_for(timeout=300_000)
    while not frames[-1].startswith('{"named"'):  # the title comes last
        shown.page.wait_for_timeout(50)
    return frames


def _sorted(frames: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Say of each frame what it belongs to."""
    is_ending = False
    for frame in frames:
        is_ending = (is_ending or frame.startswith('{"settles"')) and not frame.startswith('{"announce"')
        if is_ending:
            yield "end of its card", frame
        elif frame.startswith(('"', '{"id"')):
            yield "open text", frame
        elif frame.startswith("["):
            yield "finished blocks", frame
        else:
            yield "all else", frame
