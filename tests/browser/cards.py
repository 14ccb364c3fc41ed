"""One answer's card as a person finds it: by what it says, and by the attributes that are promised to scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

# A click in the middle of an opening panel would aim at where a thing was.
COMES_TO_REST = "e => Promise.allSettled(e.getAnimations({ subtree: true }).map((one) => one.finished))"


class AnswerCard:
    """Parts of one card. Nothing is looked up before it is used."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.answer = root.locator("[data-answer]")
        self.summary = root.locator("[data-reasoning-summary]")
        self.bullets = self.summary.get_by_role("listitem")
        self.trace = root.locator("details[data-tool-trace]")
        self.trace_bar = self.trace.locator("> summary")
        self.steps = root.locator("[data-tool-step]")
        self.thinking = root.locator("[data-ai-reasoning]")
        self.toggle = root.locator("button[data-ai-reasoning-toggle]")
        self.thought = root.locator(".thinking-text")
        self.status = root.locator("[id$='-status']")
        self.scratchpad = root.locator("[data-scratchpad]")
        self.retry = root.get_by_role("button", name=re.compile("Retry|Try again|Ask again"))
        self.citations = root.get_by_role("contentinfo").or_(root.locator("footer")).locator("a[data-citation]")

    @property
    def id(self) -> str:
        return self.root.get_attribute("data-message-id") or ""

    def ends(self, status: str = "complete") -> AnswerCard:
        """Wait until the turn has ended this way."""
        expect(self.root).to_have_attribute("data-status", status)
        return self

    def streams(self) -> AnswerCard:
        expect(self.root).to_have_attribute("data-status", "streaming")
        return self

    def opens_thinking(self) -> None:
        self.toggle.click()
        expect(self.toggle).to_have_attribute("aria-expanded", "true")
        expect(self.thought).to_be_visible()

    def opens_trace(self) -> None:
        self.trace_bar.click()
        expect(self.steps.first).to_be_visible()
        self.trace.evaluate(COMES_TO_REST)

    def texts(self) -> dict[str, str]:
        """Return what the card says, part by part, for comparison."""
        parts = {"answer": self.answer, "summary": self.bullets, "steps": self.steps, "sources": self.citations}
        return {name: "\n".join(part.all_text_contents()) for name, part in parts.items()}
