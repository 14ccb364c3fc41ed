"""A person at a browser: who they are on a site, the window that they look at, and what they do in a conversation."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.cards import AnswerCard
from tests.browser.sites import Site
from tests.browser.watching import Watch, wait_until
from tests.server import PASSWORD

Visit = Callable[..., "Person"]
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}


class Person:
    """A user with a browser context of their own. ``options`` are those of a browser context."""

    def __init__(self, browser: Browser, site: Site, username: str, *, signed_in: bool = True, **options: Any) -> None:
        self.site = site
        self.username = username
        self.watch = Watch(site.base_url)
        self.context = _context(browser, site, options)
        self.watch.follow(self.context)
        if signed_in:
            cookie = {"name": "sessionid", "value": site.session(username), "url": site.base_url}
            self.context.add_cookies([cookie])
        self.page = self.context.new_page()

    def open(self, path: str = "/") -> None:
        self.page.goto(path)

    def reads_finished(self) -> AnswerCard:
        """Open the conversation that the demo begins with; its one answer is complete."""
        self.open(self.site.prepared.finished)
        return self.answer(0)

    def signs_in(self) -> None:
        """Fill in the form of the page that asks for it."""
        self.page.get_by_label("Username").fill(self.username)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()

    def starts_chat(self) -> None:
        """Open an empty conversation; on a phone the button for it is in the top bar."""
        if not self.page.url.startswith(self.site.base_url):
            self.open()
        self.page.get_by_role("button", name="New chat").click()
        expect(self.page.get_by_role("heading", name="What would you like to know?")).to_be_visible()

    def asks(self, text: str) -> AnswerCard:
        """Type a message, send it, and return the card of its answer once it is there."""
        before = self.page.locator("[data-role=assistant]").count()
        self.writes(text)
        self.send_button.click()
        expect(self.page.locator("[data-role=assistant]")).to_have_count(before + 1)
        return self.answer(before)

    def writes(self, text: str) -> None:
        self.composer.fill(text)

    def has_conversation(self, question: str) -> AnswerCard:
        """Ask one question in a new conversation, which is named after it."""
        self.starts_chat()
        card = self.asks(question).ends()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(question)
        return card

    def rewords(self, number: int, text: str) -> Locator:
        """Replace the text of a question that is edited, once the page has put the caret at its end."""
        self.page.get_by_role("link", name=f"Edit question {number}").click()
        area = self.page.get_by_role("textbox", name=f"Edit question {number}")
        expect(area).to_have_js_property("selectionStart", len(area.input_value()))
        area.fill(text)
        return area

    def listed(self, title: str) -> Locator:
        """Return the link of a conversation in the sidebar."""
        return self.page.locator("#conversations").get_by_role("link", name=title, exact=True)

    def chooses(self, action: str, title: str = "") -> None:
        """Choose an item of a conversation's menu: in the list, or without a title in the top bar."""
        if title:
            self.listed(title).hover()
        self.page.get_by_role(
            "link", name=f"Conversation menu: {title}" if title else "Conversation menu", exact=True
        ).click()
        self.page.get_by_role("menuitem", name=action, exact=True).click()

    @property
    def title_field(self) -> Locator:
        """Return the field of the open form for a title, once the form can be sent."""
        field = self.page.get_by_role("textbox", name="Title")
        expect(field).to_be_focused()
        return field

    def clipboard(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def submits(self, button: Locator) -> None:
        """Press a button of a plain form and wait for the page that comes of it."""
        with self.page.expect_navigation():
            button.click()

    def answer(self, index: int = -1) -> AnswerCard:
        """Return an answer's card; the newest by default."""
        return AnswerCard(self.page.locator("[data-role=assistant]").nth(index))

    def in_another_tab(self) -> Page:
        """Return a second tab on the same address, once its socket is open: the server greets each with a frame."""
        before = len(self.watch.frames)
        tab = self.context.new_page()
        tab.goto(self.page.url)
        wait_until(tab, lambda: len(self.watch.frames) > before)
        return tab

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name="Your question")

    @property
    def send_button(self) -> Locator:
        return self.page.get_by_role("button", name="Send", exact=True)

    @property
    def stop_button(self) -> Locator:
        return self.page.get_by_role("button", name="Stop", exact=True)

    @property
    def reasoning_switch(self) -> Locator:
        return self.page.get_by_role("switch", name="Show reasoning")

    @property
    def scratchpad_switch(self) -> Locator:
        return self.page.get_by_role("switch", name="Show scratchpad (debug)")

    def switches_scratchpad_on(self) -> None:
        """Click the switch and wait until the server has granted it: the box alone is checked from the click on."""
        with self.page.expect_response(lambda response: response.request.method == "POST" and response.ok):
            self.scratchpad_switch.click()
        expect(self.scratchpad_switch).to_be_checked()

    @property
    def reconnecting(self) -> Locator:
        return self.page.get_by_text(re.compile("^Reconnecting…"))


def _context(browser: Browser, site: Site, options: dict[str, Any]) -> BrowserContext:
    context = browser.new_context(base_url=site.base_url, **{"viewport": WIDE, **options})
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.base_url)
    return context
