"""What a page does while a test looks elsewhere: noted by the page or the browser, and stored across reloads.

The page's notes are debug lines on its console. Whatever a browser complains about (errors, refused scripts, requests
to another host) fails the test that met it, unless the test says that it expects it.
"""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, CDPSession, ConsoleMessage, Page, Request, WebSocket

NOTE = "note:"
WITHOUT_BODY = (204, 301, 302, 303, 304)

# Toggles as they arrive at the document, so that one that doesn't bubble is missed; cards as they change.
TAKE_NOTES = """
(() => {
  const note = (kind, value) => console.debug("note:" + JSON.stringify({ kind, value }));
  document.addEventListener("securitypolicyviolation", (event) =>
    note("refused", `${event.violatedDirective} ${event.blockedURI}`));
  document.addEventListener("svmai:event", (event) =>
    note("toggle", { detail: event.detail, onToggle: event.target.matches("[data-ai-reasoning-toggle]") }));
  const seen = new Map();
  const look = () => {
    for (const card of document.querySelectorAll("[data-role=assistant]")) {
      const answer = card.querySelector("[data-answer]")?.textContent ?? "";
      const status = document.getElementById(`${card.id}-status`)?.textContent.replace(/\\d+ s/, "").trim() ?? "";
      const now = { id: card.dataset.messageId, state: card.dataset.status, status, answer };
      const key = JSON.stringify(now);
      if (seen.get(card.id) !== key) note("card", now);
      seen.set(card.id, key);
    }
  };
  const everything = { childList: true, subtree: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document, everything);
})();
"""


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Let the events of the browser in, frame by frame, until this holds."""
    for _frame in range(2000):
        if holds():
            return
        page.evaluate("() => new Promise(requestAnimationFrame)")
    raise TimeoutError("it did not come to that")


@dataclass  # no slots: Playwright notes on the owner of a handler that it wrapped it
class Watch:
    """What was seen in all pages of one context."""

    origin: str
    expected: list[str] = field(default_factory=list)  # parts of complaints that the test is about
    complaints: list[str] = field(default_factory=list)
    toggles: list[dict[str, Any]] = field(default_factory=list)
    cards: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        """Watch every page that opens in this context from now on."""
        context.add_init_script(TAKE_NOTES)
        context.on("page", self._follow_page)
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", self._ask)

    def keep_bodies(self, page: Page) -> None:
        """Keep the body of every answer to this page from now on, as it comes off the wire."""
        session = page.context.new_cdp_session(page)
        session.on("Fetch.requestPaused", lambda event: self._keep_body(session, event))
        session.send("Fetch.enable", {"patterns": [{"requestStage": "Response"}]})

    def unexpected(self) -> list[str]:
        """Return the complaints that the test doesn't account for."""
        return [one for one in self.complaints if not any(part in one for part in self.expected)]

    def seen(self, what: str, *, card: str) -> list[str]:
        """Return every ``state``, ``status`` line (without its seconds) or ``answer`` that a card has had, in order."""
        return list(dict.fromkeys(note[what] for note in self.cards if note["id"] == card))

    def _follow_page(self, page: Page) -> None:
        page.on("websocket", self._follow_socket)

    def _follow_socket(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.frames.append(str(frame)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.text.startswith(NOTE):
            self._take(json.loads(message.text.removeprefix(NOTE)))
        elif message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _take(self, note: dict[str, Any]) -> None:
        match note["kind"]:
            case "toggle":
                self.toggles.append(note["value"])
            case "card":
                self.cards.append(note["value"])
            case refused:
                self.complaints.append(f"{refused}: {note['value']}")

    def _ask(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.complaints.append(f"another host was asked: {urlsplit(request.url).netloc}")

    def _keep_body(self, session: CDPSession, event: dict[str, Any]) -> None:
        asked = {"requestId": event["requestId"]}
        if event.get("responseStatusCode", 0) not in WITHOUT_BODY:
            body = session.send("Fetch.getResponseBody", asked)
            self.bodies.append(b64decode(body["body"]) if body["base64Encoded"] else body["body"].encode())
        session.send("Fetch.continueRequest", asked)
