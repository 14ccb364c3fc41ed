"""The same card over a model service: native thinking, calls in pieces, tags that leak into the content. Spec 003."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, plain, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle


def test_native_thinking_and_a_call_in_pieces_become_a_card(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script(
        [
            reply(thinks("I look ", "it up."), calls("searchFilings", '{"que', 'ry":"debt cov', 'enants"}')),
            reply(thinks("One passage says so."), says(opening(), "It is in ", "the filing [1].")),
        ]
    )
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("What do the covenants say?").ends()

    expect(card.answer).to_contain_text("It is in the filing")
    expect(card.bullets).to_have_count(2)
    card.opens_trace()
    expect(card.steps.first).to_contain_text(re.compile("query\\s*debt covenants"))
    card.opens_thinking()
    expect(card.thought).to_have_text(re.compile("I look it up.\\s+One passage says so."))
    assert [one["verdict"] for one in model.requests()] == ["accepted", "accepted"]


@pytest.mark.spec("003 stray")
def test_leaked_closing_tag_never_flashes_up(visit: Visit, connected: Site, model: ContractHandle) -> None:
    pieces = list("</think>\n\n" + opening() + "The ratio is 1.2.")
    model.script([reply(thinks("Counting."), says(*pieces[:6]), waits("half a tag"), says(*pieces[6:]))])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("What is the ratio?").streams()
    model.wait_for(held="half a tag")
    expect(card.answer).not_to_contain_text("<")
    model.release("half a tag")
    card.ends()

    expect(card.answer).to_have_text("The ratio is 1.2.")
    assert not [text for text in demo.watch.seen("answer", card=card.id) if "think" in text or "<" in text]


@pytest.mark.slow
@pytest.mark.spec("003 invariant 1")
def test_tagged_thinking_becomes_thinking_and_not_answer(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([{"reasoning": "Hidden marrow.", "tags": "think", "content": opening() + "Plain bone.", "chunk": 2}])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("Bone or marrow?").ends()
    card.opens_thinking()

    expect(card.thought).to_have_text("Hidden marrow.")
    assert not [text for text in demo.watch.seen("answer", card=card.id) if "marrow" in text or "<" in text]


@pytest.mark.slow
def test_composer_names_the_model_that_answered_last(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("Forty-two.")])
    demo = visit(connected)
    demo.starts_chat()
    expect(demo.page.locator("form[data-composer]")).not_to_contain_text("analyst")

    demo.asks("How many?").ends()
    demo.page.reload()

    expect(demo.page.locator("form[data-composer]")).to_contain_text("plain-model")


def test_text_of_the_open_block_grows_on_the_page(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "One two three. "), waits("more"), says("Four five six."))])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("Count.").streams()
    expect(card.answer).to_contain_text("One two")
    model.release("more")
    card.ends()

    expect(card.answer).to_have_text("One two three. Four five six.")


def test_thinking_opened_in_mid_stream_goes_on_and_stays_open(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([reply(thinks("First thought. "), waits("on"), thinks("Second thought."), says(opening(), "Done."))])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("Think aloud.").streams()
    card.opens_thinking()
    expect(card.thought).to_contain_text("First")
    model.release("on")
    card.ends()

    expect(card.thought).to_have_text("First thought. Second thought.")
    expect(card.toggle).to_have_attribute("aria-expanded", "true")


@pytest.mark.slow
@pytest.mark.spec("001 EC-001")
def test_answer_without_thinking_has_no_toggle(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("Forty-two.")])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("How many?").ends()

    expect(card.answer).to_have_text("Forty-two.")
    expect(card.thinking).to_have_count(0)


# When the words of the status line changed, in ms.
NOTE_STATUS = """() => {
  window.noted = [];
  new MutationObserver(() => {
    const words = document.querySelector(".status[data-live]")?.textContent.replace(/\\d+ s/, "").trim();
    if (words && words !== noted.at(-1)?.[0]) noted.push([words, performance.now()]);
  }).observe(document.getElementById("messages"), { childList: true, subtree: true, characterData: true });
}"""
READABLE_MS = 300  # 400, less what drawing may take before the clock of the note runs


@pytest.mark.slow
def test_each_status_can_be_read(visit: Visit, connected: Site, model: ContractHandle) -> None:
    search = calls("searchFilings", '{"query":"covenants"}')
    told = reply(waits("found"), says(opening(), "It is so"), waits("rest"))
    model.script([reply(thinks("Looking. "), search), told])
    demo = visit(connected)
    demo.starts_chat()
    demo.page.evaluate(NOTE_STATUS)

    card = demo.asks("What is being done?")
    expect(card.status).to_contain_text(re.compile(r"Reading 5 results… \d+ s"))
    model.release("found")
    expect(card.status).to_contain_text("Writing…")
    noted = demo.page.evaluate("noted")

    assert [words for words, _at in noted][-3:] == ["Searching filings…", "Reading 5 results…", "Writing…"]
    assert min(later - earlier for (_w, earlier), (_v, later) in pairwise(noted)) >= READABLE_MS
