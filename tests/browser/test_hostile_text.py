"""Hostile text planted wherever the site stores some, then every page that shows it: nothing runs, nothing is replaced.

One pass keeps the page's policy and proves that it never has to refuse anything; the other is without it, so that what
runs would really run.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.hostile import plant
from tests.browser.people import Person
from tests.browser.upstream import opening, reply, says
from tests.chat.xss_urls import URLS
from tests.chat.xss_vectors import MARKUP

VECTORS = [*MARKUP, *(text for url in URLS for text in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>"))]
VECTORS += [f"[x{n}]\n\n[x{n}]: {url}" for n, url in enumerate(URLS)]
AT_ONCE = 75

# What no page may have, however it came there: something that ran, that was clobbered, that isn't the page's own.
FAULTS = r"""
() => {
  const faults = [];
  const fault = (why, element) => faults.push(`${why}: ${element ? element.outerHTML.slice(0, 200) : ""}`);
  if (window.planted) fault("a script ran");
  for (const [name, holds] of Object.entries({
    body: document.body.localName === "body",
    documentElement: document.documentElement.localName === "html",
    forms: document.forms instanceof HTMLCollection,
    getElementById: typeof document.getElementById === "function",
    location: document.location === window.location,
  })) if (!holds) fault(`clobbered ${name}`);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length) fault(`ids twice ${twice}`);
  const never = "iframe, object, embed, base, frame, animate, style, marquee, foreignObject, "
    + "[data-answer] :is(img, form, input, textarea, select, video, audio, dialog, link, meta, template), "
    + "script:not([src]):not([type='application/json'])";
  for (const one of document.querySelectorAll(never)) fault("element", one);
  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      if (/^(on|hx-on|data-hx-|ws-send$|srcdoc$)/.test(name)) {
        if (!one.matches("form[data-composer], .starters form")) fault(name, one);
      }
      if (name === "style" && /fixed|url\(/.test(value)) fault("style", one);
      if (/^(href|xlink:href|src|action|formaction|hx-get|hx-post)$/.test(name)) {
        const url = new URL(value, location.href);
        if (!["http:", "https:", "mailto:"].includes(url.protocol)) fault("scheme", one);
        if (name !== "href" && url.origin !== location.origin) fault("address", one);
      }
    }
  }
  return faults;
}
"""


class Witness:
    """A person who opens pages and looks for what ran or was replaced."""

    def __init__(self, person: Person) -> None:
        self.person, self.page = person, person.page
        self.dialogs: list[str] = []
        person.context.on("dialog", self._dismiss)

    def opens(self, path: str) -> None:
        answer = self.page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        self.finds_nothing()

    def finds_nothing(self) -> None:
        assert self.page.evaluate(FAULTS) == [], self.page.url
        assert self.dialogs == []
        assert self.person.watch.unexpected() == []

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.mark.slow
@pytest.mark.parametrize("bypass_csp", [False, True])
def test_planted_text_stays_text_on_every_page(visit, own_site, bypass_csp):
    site = own_site(REASONING_THINKING_FOR_USERS="full", SIGNUP_ENABLED="true")
    planted = plant(site)
    demo = Witness(visit(site, bypass_csp=bypass_csp))

    demo.opens(planted["demo"])
    cards = demo.page.locator("[data-role=assistant]")
    expect(cards).to_have_count(4)
    expect(demo.page.locator("[data-ai-reasoning]")).to_have_count(3)
    expect(demo.page.locator("[data-ai-reasoning-toggle]")).to_have_count(3)
    expect(demo.page.locator("[data-scratchpad]")).to_have_count(0)
    for number in range(3):
        card = demo.person.answer(number)
        card.opens_trace()
        card.opens_thinking()
    demo.finds_nothing()
    assert len(demo.person.watch.toggles) == 3
    demo.person.listed(demo.page.title().rpartition(" · ")[0] or demo.page.title())
    title = demo.page.locator("#title").inner_text()
    assert title.startswith("<img src=x onerror=")
    demo.page.get_by_role("link", name="Share").click()
    dialog = demo.page.get_by_role("dialog", name="Share this conversation")
    for name in ("Steps", "Thinking"):
        dialog.get_by_role("checkbox", name=name).check()
    dialog.get_by_role("button", name="Create link").click()
    dialog.get_by_role("button", name="Copy link").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    demo.finds_nothing()
    link = demo.person.clipboard()

    for path in ("/chats/?q=alert", "/chats/?q=onerror", "/filings/", planted["passage"]):
        demo.opens(path)
    for path in (
        "/shares/",
        "/accounts/settings/reasoning/",
        "/accounts/tokens/",
        f"{planted['demo']}share/preview/?trace=1&thinking=1",
    ):
        demo.opens(path)
    for form in ("md", "json"):
        answer = demo.page.request.get(f"{planted['demo']}export/?format={form}&trace=1&thinking=1")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"

    anybody = Witness(visit(site, signed_in=False, bypass_csp=bypass_csp))
    anybody.opens(link)
    expect(anybody.page.locator("[data-role=assistant]")).to_have_count(4)

    admin = Witness(visit(site, "admin", bypass_csp=bypass_csp))
    admin.opens(planted["admin"])
    admin.opens(f"{planted['admin']}preview/")
    admin.opens("/admin/")
    lists = admin.page.locator("th[scope=row] a").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))")
    assert len(lists) >= 8
    for path in [*lists, "/admin/chat/turn/usage/", "/admin/chat/turn/guards/"]:
        admin.opens(path)
        rows = admin.page.locator("#result_list th a, #result_list td.field-__str__ a")
        paths = rows.evaluate_all("(all) => all.slice(0, 2).map((one) => one.getAttribute('href'))")
        for row in paths:
            admin.opens(row)


def blocks(vectors: list[str]) -> str:
    """Return each vector as a block of its own, after a paragraph that shows that it was reached."""
    closed = [f"{one}\n```" if one.startswith("```") and one.count("```") == 1 else one for one in vectors]
    text = "\n\n".join(f"Item {n}.\n\n{one}" for n, one in enumerate(closed)) + "\n\nThe end of them all."
    return text.encode("utf-8", "ignore").decode()  # the model service writes UTF-8


@pytest.mark.slow
def test_vectors_in_small_pieces_run_nowhere_even_without_a_policy(visit, connected, model):
    batches = [VECTORS[at : at + AT_ONCE] for at in range(0, len(VECTORS), AT_ONCE)]
    texts = [blocks(batch) for batch in batches]
    pieces = [[text[at : at + 9] for at in range(0, len(text), 9)] for text in texts]
    model.script([reply(says(opening(), *these)) for these in pieces])
    demo = Witness(visit(connected, bypass_csp=True))
    demo.person.starts_chat()

    for batch in batches:
        card = demo.person.asks("Go on.").ends()
        expect(card.answer).to_contain_text("The end of them all.")
        expect(card.answer.get_by_text(re.compile(r"^Item \d+\.$"))).to_have_count(len(batch))
        demo.finds_nothing()
    demo.opens(demo.page.url)
