"""Every vector in a real card: streaming, finished and reloaded, as answer, question, thinking, arguments and notes.

The page looks at itself on each change, so that no state between two frames goes unseen. One pass keeps the page's
policy and proves that it never has to refuse anything; the other is without it, so that what runs would really run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Dialog, Locator, expect

from chat.html.mathml import ELEMENTS as MATHML
from tests.chat.xss_vectors import MARKUP, URLS
from tests.contract_server.fixture import ContractHandle
from tests.e2e.cards import AnswerCard
from tests.e2e.conftest import MakeSite
from tests.e2e.people import Person, Visit
from tests.e2e.sites import Site
from tests.e2e.upstream import Delta, opening, plain, reply, says, thinks, waits

SHOWN_THINKING = 780  # characters; a reader sees no more of it than about this
SHOWN_NOTES = 600
SHOWN_ARGUMENT = 200
SMALL = 9
OURS = re.compile(r"/(static/.*|favicon\.ico|chats/[0-9a-f-]{36}/.*)")
# The service that stands in for the model writes UTF-8, which has no halves of a character.
WRITTEN = [vector.encode("utf-8", "ignore").decode() for vector in MARKUP]
LINKS = [text for url in URLS for text in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>")]
REFERENCES = [f"[x{n}]\n\n[x{n}]: {url}" for n, url in enumerate(URLS)]

LOOK = r"""
(() => {
  const words = (text) => new Set(text.split(" "));
  const elements = words("a p h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td pre figure figcaption bdi br "
    + "hr code em strong s button span div");
  const names = words("dir class start scope type data-copy-code tabindex role aria-label href title rel");
  const tags = new Map([...elements].map((name) => [name, names]));
  const formulas = new Map(Object.entries(__FORMULAS__).map(([name, known]) => [name, new Set([...known, "dir"])]));
  const never = "img, picture, source, video, audio, script, noscript, style, link, meta, base, iframe, frame, object, "
    + "embed, template, dialog, textarea, select, marquee, foreignObject, animate";
  const odd = /^(on|style$|src|hx-on|data-hx-|x-|v-|ng-|@|:|_|ping$|target$|download$|autofocus$|popover)/;
  const plainText = ".ask, .think, [data-scratchpad] pre, .mask, .step__name code, .args dt, "
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
      if (element.matches("[data-answer] > p.open-block:last-child")) {
        if (element.children.length) fault(element, "open block");
        continue;
      }
      const [known, kind] = element.closest("math") ? [formulas, "MathML"] : [tags, "xhtml"];
      const named = known.get(element.localName);
      if (!named || !element.namespaceURI.endsWith(kind)) fault(element, "element");
      for (const { name } of element.attributes) if (!named?.has(name)) fault(element, name);
      if (element.matches("a[href]")) lookAtLink(element);
    }
  };
  // The page itself divides long thinking into parts, and marks what was taken out of it.
  const isPart = (box, child) => box.matches(".think")
    && (child.matches("span.mask") ? child.attributes.length === 1
      : child.localName === "div" && !child.attributes.length && child.parentElement === box);
  const isHeld = (element, name) => name === "style" && element.matches(".work") // the page keeps it in its place
    && /^margin-top: [\d.]+px;$/.test(element.getAttribute(name));
  const lookAtCard = (card) => {
    for (const math of card.querySelectorAll("math")) if (!math.closest("[data-answer]")) fault(math, "element");
    for (const answer of card.querySelectorAll("[data-answer]")) lookAtAnswer(answer);
    for (const element of card.querySelectorAll(never)) fault(element, "element");
    for (const box of card.querySelectorAll(plainText)) {
      for (const child of box.querySelectorAll("*")) if (!isPart(box, child)) fault(child, "not text");
    }
    for (const element of card.querySelectorAll("*")) {
      for (const { name } of element.attributes) if (odd.test(name) && !isHeld(element, name)) fault(element, name);
      if (element.id && !element.id.startsWith(card.id)) fault(element, "id");
    }
  };
  const cards = () => [...document.querySelectorAll("#messages > *")];
  const look = () => cards().slice(-2).forEach(lookAtCard);
  const everything = { childList: true, subtree: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document, everything);

  const shown = window.alert;
  window.alert = (...said) => { window.ran = true; shown(...said); };
  // The window's icon tells how an answer goes.
  const outside = (element) => !element.closest("#messages, #conversations, #context, #jump, .vh, link[rel=icon]");
  const written = (element) => [element.localName, ...[...element.attributes]
    .filter((one) => one.name !== "hx-headers" && element.name !== "csrfmiddlewaretoken") // new with each page
    .map((one) => one.name + "=" + one.value)];
  window.lookedAt = {
    faults: () => { cards().forEach(lookAtCard); return [...faults]; },
    globals: () => Object.getOwnPropertyNames(window).sort(),
    outside: () => [document.title, document.querySelector("#title").innerHTML, location.href,
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
        """Have one exchange in a new chat, and remember the page as it stands then."""
        self.person.starts_chat()
        self.person.asks(question).ends()
        self.person.page.reload()
        expect(self.person.composer).to_be_editable()
        self.before = self._says("outside")
        self.globals = self._says("globals")
        self.asked = len(self.person.watch.requests)

    def finds_nothing(self) -> None:
        """Claim that nothing ran, nothing was asked for, and nothing is in a card that may not be there."""
        assert self._says("faults") == []
        assert self.dialogs == []
        assert self._says("globals") == self.globals
        assert self._strange_requests() == []

    def finds_the_page_unchanged(self) -> None:
        assert self._says("outside") == self.before

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


def _batches(vectors: Sequence[str], *, most_chars: int, most: int = 40) -> Iterator[list[str]]:
    """Yield the vectors in order, as many at once as fit."""
    batch: list[str] = []
    for vector in vectors:
        if batch and (len("\n".join([*batch, vector])) > most_chars or len(batch) == most):
            yield batch
            batch = []
        batch.append(vector)
    yield batch


def _blocks(vectors: Sequence[str]) -> str:
    """Return markdown with each vector as a block of its own, after a paragraph that shows that it was reached."""
    return (
        "\n\n".join(f"Item {n}.\n\n{_closed(vector)}" for n, vector in enumerate(vectors)) + "\n\nThe end of them all."
    )


def _closed(vector: str) -> str:
    return f"{vector}\n```" if vector.startswith("```") and vector.count("```") == 1 else vector


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _calls(batch: Sequence[str], number: int) -> list[Delta]:
    """Call a tool with the vectors as a value, and with one as a name, which the tool refuses without a search."""
    parts = ["\n".join(part) for part in _batches(batch, most_chars=SHOWN_ARGUMENT)]
    calls = [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": "searchFilings", "arguments": json.dumps({"query": part, batch[0]: part})},
        }
        for index, part in enumerate(parts)
    ]
    return [{"tool_calls": [call]} for call in calls]


def _letters(text: str) -> str:
    return "".join(char for char in text if " " < char <= "~")


def _expect_items(answer: Locator, count: int) -> None:
    expect(answer).to_contain_text("The end")
    expect(answer.get_by_text(re.compile(r"^Item \d+\.$"))).to_have_count(count)


def _everywhere(batch: list[str], number: int) -> list[dict[str, Any]]:
    """Script a turn with these vectors as thinking, arguments, summary and answer."""
    points = [" ".join(part.splitlines()) for part in batch[:4]]
    thought = thinks(*_cut("\n".join(batch), 40))
    return [
        reply(thinks("Now. "), waits(f"opened {number}"), thought, _calls(batch, number)),
        reply(thinks("Done."), says(opening(*points), *_cut(_blocks(batch), 120)), waits(f"seen {number}")),
    ]


def _asks_everywhere(reader: Reader, model: ContractHandle, batch: list[str], number: int) -> AnswerCard:
    """Go through one turn: thinking opened while it comes, the trace after it, the answer before and after its end."""
    card = reader.person.asks("\n".join(batch))
    card.opens_thinking()
    model.release(f"opened {number}")
    expect(card.answer).to_contain_text("The end")
    card.opens_trace()
    reader.finds_nothing()
    model.release(f"seen {number}")
    card.ends()
    _expect_items(card.answer, len(batch))
    return card


def test_vectors_stay_text_in_every_part_of_a_card(visit: Visit, connected: Site, model: ContractHandle) -> None:
    batches = list(_batches(WRITTEN, most_chars=SHOWN_THINKING))
    turns = [turn for number, batch in enumerate(batches) for turn in _everywhere(batch, number)]
    model.script([plain("Ready."), *turns])
    reader = Reader(visit(connected))
    reader.begins("Are you ready?")

    for number, batch in enumerate(batches):
        card = _asks_everywhere(reader, model, batch, number)
        reader.finds_nothing()
        assert _letters(card.thought.inner_text())[4:60] == _letters("\n".join(batch))[:56]
        assert _letters(card.steps.first.inner_text()).count("<") > 1
        asked = reader.person.page.locator("[data-role=user] p").last.text_content() or ""
        assert _letters(asked) == _letters("\n".join(batch))
    reader.finds_the_page_unchanged()
    reader.reloads()

    for number, batch in enumerate(batches):
        _expect_items(reader.person.answer(number + 1).answer, len(batch))
    reader.finds_nothing()
    reader.finds_the_page_unchanged()


def test_vectors_in_small_pieces_run_nowhere_even_without_a_policy(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    batches = list(_batches([*WRITTEN, *LINKS, *REFERENCES], most_chars=4000, most=75))
    pieces = [_cut(_blocks(batch), SMALL) for batch in batches]
    model.script([plain("Ready."), *(reply(says(opening(), *these)) for these in pieces)])
    reader = Reader(visit(connected, bypass_csp=True))
    reader.begins("Are you ready?")

    for batch in batches:
        card = reader.person.asks("Go on.").ends()
        _expect_items(card.answer, len(batch))
        reader.finds_nothing()
    reader.finds_the_page_unchanged()
    reader.reloads()

    reader.finds_nothing()
    reader.finds_the_page_unchanged()


def _notes(batch: list[str], number: int) -> dict[str, Any]:
    noted = _cut("\n".join([*batch, "noted all"]), 60)
    return reply(says(opening(), "So.\n\n<scratchpad>\n", *noted, "\n</scratchpad>\n"), waits(f"noted {number}"))


def test_vectors_stay_text_in_live_notes_and_in_a_title(visit: Visit, serve: MakeSite, model: ContractHandle) -> None:
    batches = list(_batches(WRITTEN, most_chars=SHOWN_NOTES))
    title = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    model.script([plain(title), *(_notes(batch, number) for number, batch in enumerate(batches))])
    admin = visit(serve(OPENAI_BASE_URL=model.base_url, REASONING_SCRATCHPAD_ENABLED="true"), "admin", bypass_csp=True)
    reader = Reader(admin)
    admin.starts_chat()
    admin.scratchpad_switch.click()
    expect(admin.scratchpad_switch).to_be_checked()
    reader.begins(title)

    for number in range(len(batches)):
        card = admin.asks("Go on.")
        expect(card.scratchpad).to_contain_text("noted all")
        reader.finds_nothing()
        model.release(f"noted {number}")
        card.ends()

    reader.finds_nothing()
    reader.finds_the_page_unchanged()
    assert admin.page.title().startswith(title)
    expect(admin.page.locator("#title")).to_have_text(title)
    expect(admin.page.locator("#conversations [aria-current]")).to_have_text(title)
    assert admin.page.locator("#conversations, #title").locator("img, script").count() == 0
