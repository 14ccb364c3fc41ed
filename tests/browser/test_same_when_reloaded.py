"""What a page holds at the end of an answer is what a reload brings, element by element, for all who saw it end."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.cards import AnswerCard
from tests.browser.people import NARROW, WIDE, Visit
from tests.browser.sites import Site
from tests.browser.test_steadiness import starts_chat
from tests.browser.upstream import Delta, calls, opening, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow

WORDS = "The ratio of **debt service** coverage fell in that quarter [3], and then it rose by {n} & more. "
QUOTED = "It says “none of these words were ever filed by anybody at all”"
MIXED = "".join(
    [
        "## What was found\n\n",
        f"{QUOTED}, of which more below.\n\n",
        *(WORDS.format(n=n) * 3 + "\n\n" for n in range(6)),
        "> Nothing of this was ever written in any filing, whatever is said.\n\n",
        "So it stands in the passage [2].\n\n",
        f"{QUOTED} [1].\n\n",
        "- one point, which [3] makes\n- another point\n\n- a third one, after a blank line\n\n",
        "| Test | Limit | Reported |\n|---|---|---|\n| Debt service coverage | ≥ 1.20 | 1.31 [1] |\n\n",
        "```python\nheadroom = 1.31 - 1.20  # <b>not bold</b> & so on\n```\n\n",
        "A sign 😀 that counts as two, and <i>no markup</i>.\n\n",
        *(WORDS.format(n=n) * 3 + "\n\n" for n in range(6)),
        "The last of it [2]: \\$5 < \\$6, `code of it` and **bold to the end**.",
    ]
)
DRAWN = """card => ["answer", "sources", "actions", "notice", "steps", "points", "head", "status"].map((part) => {
  const copy = document.getElementById(`${card.id}-${part}`).cloneNode(true);
  copy.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((one) => one.remove());
  copy.hidden = false;
  return copy.innerHTML;
})"""


def _mixed() -> list[dict[str, object]]:
    pieces = [MIXED[at : at + 7] for at in range(0, len(MIXED), 7)]
    half = MIXED.index("- another point") // 7
    found = reply(thinks("Looking. " * 9), calls("searchFilings", '{"query":"debt service coverage covenant"}'))
    told: list[Delta | list[Delta]] = [says(opening(), *pieces[:half]), waits("rest"), says(*pieces[half:])]
    return [found, reply(*told, delay_ms=2)]


def _drawn(root: Locator) -> list[str]:
    return list(root.evaluate(DRAWN))


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_end_of_an_answer_is_what_a_reload_brings(
    visit: Visit, connected: Site, model: ContractHandle, viewport: ViewportSize
) -> None:
    model.script(_mixed())
    demo = visit(connected, viewport=viewport)
    starts_chat(demo)
    card = demo.asks("What was found?")
    expect(card.answer).to_contain_text("So it stands")
    late = AnswerCard(demo.in_another_tab().locator("[data-role=assistant]"))
    expect(late.answer).to_contain_text("So it stands")

    model.release("rest")
    live = _drawn(card.ends().root)

    assert live == _drawn(late.ends().root)
    demo.page.reload()
    assert live == _drawn(card.ends().root)
    expect(card.answer.locator("[data-verified=false]")).not_to_have_count(0)


@pytest.mark.parametrize("locale", ["de-DE"])
def test_answer_ends_in_the_language_of_who_looks(
    visit: Visit, connected: Site, model: ContractHandle, locale: str
) -> None:
    model.script(_mixed())
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("What was found?")
    expect(card.answer).to_contain_text("So it stands")
    elsewhere = visit(connected, locale=locale)
    elsewhere.open(demo.page.url.removeprefix(connected.base_url))
    other = AnswerCard(elsewhere.page.locator("[data-role=assistant]"))
    expect(other.answer).to_contain_text("So it stands")

    model.release("rest")
    live = _drawn(other.ends().root)

    card.ends()
    elsewhere.page.reload()
    assert live == _drawn(other.ends().root)
    assert live != _drawn(card.root)
