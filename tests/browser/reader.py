"""A reader whose page looks at itself on each change, so that whatever a vector does is seen."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from playwright.sync_api import Dialog, expect

from chat.html.math import ELEMENTS as MATHML
from tests.browser.people import Person

OURS = re.compile(r"/(static/.*|favicon\.ico|chats/[0-9a-f-]{36}/.*)")

LOOK = r"""
(() => {
  const words = (text) => new Set(text.split(" "));
  const elements = words("a p h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td pre figure figcaption bdi br "
    + "hr code em strong s button span div");
  const names = words("dir class start scope type data-copy-code tabindex role aria-label href title rel");
  const tags = new Map([...elements].map((name) => [name, names]));
  const formulas = new Map(Object.entries(__FORMULAS__).map(([name, known]) => [name, new Set([...known, "dir"])]));
  const never = "img, picture, source, video, audio, script, noscript, style, link, meta, base, iframe, frame, object, "
    + "embed, template:not(.sources > li > *), dialog, textarea, select, marquee, foreignObject, animate";
  const odd = /^(on|style$|src|hx-on|data-hx-|x-|v-|ng-|@|:|_|ping$|target$|download$|autofocus$|popover)/;
  const plainText = ".question, .thinking-text, [data-scratchpad] pre, .mask, .step__name code, .args dt, "
    + "[data-reasoning-summary] li";
  const faults = new Set();
  const fault = (element, why) => faults.add(`${why}: ${element.outerHTML.slice(0, 200)}`);

  const lookAtLink = (a) => {
    const ours = a.origin === location.origin && (a.pathname === "/leaving/" || a.getAttribute("href").startsWith("#"));
    const direct = /^https?:$/.test(a.protocol) && /^(www\.)?sec\.gov$/.test(a.host);
    if (!ours && !direct && a.protocol !== "mailto:") fault(a, "link");
  };
  const lookAtAnswer = (answer) => {
    for (const element of answer.querySelectorAll("*")) {
      if (element.matches("[data-answer] > .open-block:last-child, .open-block > * .tip:empty")) continue;
      const [known, kind] = element.closest("math") ? [formulas, "MathML"] : [tags, "xhtml"];
      const named = known.get(element.localName);
      if (!named || !element.namespaceURI.endsWith(kind)) fault(element, "element");
      for (const { name } of element.attributes) if (!named?.has(name)) fault(element, name);
      if (element.matches("a[href]")) lookAtLink(element);
    }
  };
  // The page itself divides long thinking into parts, and marks what was redacted.
  const isPart = (box, child) => box.matches(".thinking-text")
    && (child.matches("span.mask") ? child.attributes.length === 1
      : child.localName === "div" && !child.attributes.length && child.parentElement === box);
  // The page keeps the panels in their place, and thinking as high as it was until its text is there.
  const held = { ".work": /^margin-top: [\d.]+px;$/, ".thinking-text": /^(min-height: [\d.]+px;)?$/ };
  const isHeld = (element, name) => name === "style" && Object.entries(held).some(([which, style]) =>
    element.matches(which) && style.test(element.getAttribute(name)));
  const isMenu = (card, element, name) => element.matches(".actions > *") // no text of anybody is in it
    && (name === "popover" || element.getAttribute(name) === `${card.id}-more`);
  const lookAtCard = (card) => {
    for (const math of card.querySelectorAll("math")) if (!math.closest("[data-answer]")) fault(math, "element");
    for (const answer of card.querySelectorAll("[data-answer]")) lookAtAnswer(answer);
    for (const element of card.querySelectorAll(never)) fault(element, "element");
    for (const box of card.querySelectorAll(plainText)) {
      for (const child of box.querySelectorAll("*")) if (!isPart(box, child)) fault(child, "not text");
    }
    for (const element of card.querySelectorAll("*")) {
      for (const { name } of element.attributes) {
        if (odd.test(name) && !isHeld(element, name) && !isMenu(card, element, name)) fault(element, name);
      }
      if (element.id && !element.id.startsWith(card.id)) fault(element, "id");
    }
  };
  const cards = () => [...document.querySelectorAll("#messages > *")];
  const look = () => cards().slice(-2).forEach(lookAtCard);
  const everything = { childList: true, subtree: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document, everything);

  const shown = window.alert;
  window.alert = (...said) => { window.ran = true; shown(...said); };
  // The window's icon shows the state of an answer.
  const ignored = "#messages, #conversations, #context, #jump, .visually-hidden, link[rel=icon]";
  const outside = (element) => !element.closest(ignored);
  const written = (element) => [element.localName, ...[...element.attributes]
    .filter((one) => one.name !== "hx-headers" && element.name !== "csrfmiddlewaretoken") // new with each page
    .map((one) => one.name + "=" + one.value.replace(/(?<=\\?shows=)[0-9a-f]{32}$/, ""))]; // the newest card
  window.lookedAt = {
    faults: () => { cards().forEach(lookAtCard); return [...faults]; },
    globals: () => Object.getOwnPropertyNames(window).sort(),
    outside: () => [document.title, document.querySelector("#title").innerHTML.trim(), location.href,
      ...[...document.querySelectorAll("*")].filter(outside).map((one) => written(one).sort().join(" "))],
  };
})();
""".replace("__FORMULAS__", json.dumps({name: [*known] for name, known in MATHML.items()}))


class Reader:
    """A person whose page looks for what a vector may have done. ``options`` are those of a browser context."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.dialogs: list[str] = []
        person.context.on("dialog", self._dismiss)
        person.context.add_init_script(LOOK)

    def begins(self, question: str) -> None:
        """Have one exchange in a new chat, and remember the page in that state."""
        self.person.starts_chat()
        self.person.asks(question).ends()
        self.person.page.reload()
        expect(self.person.composer).to_be_editable()
        self.before = self._says("outside")
        self.globals = self._says("globals")
        self.asked = len(self.person.watch.requests)

    def finds_nothing(self) -> None:
        """Claim that nothing ran, nothing was asked for, and nothing is in a card that may not be there."""
        assert self._says("faults") == [], self._says("faults")
        assert self.dialogs == []
        assert self._says("globals") == self.globals
        assert self._strange_requests() == []

    def finds_the_page_unchanged(self) -> None:
        now = self._says("outside")
        assert not (changed := set(now) ^ set(self.before)), changed
        assert now == self.before

    def reloads(self) -> None:
        self.person.page.reload()
        expect(self.person.composer).to_be_editable()

    def _says(self, what: str) -> list[str]:
        said: list[str] = self.person.page.evaluate(f"lookedAt.{what}()")
        return said

    def _strange_requests(self) -> list[str]:
        asked = self.person.watch.requests[self.asked :]
        web = [one for one in asked if not one.url.startswith("data:image/svg+xml")]
        fits = [
            one.method == "GET" and one.url.startswith(self.person.site.base_url + "/") and _is_ours(one.url)
            for one in web
        ]
        return [one.url for one, fit in zip(web, fits, strict=True) if not fit]

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def _is_ours(url: str) -> bool:
    return OURS.fullmatch(urlsplit(url).path) is not None
