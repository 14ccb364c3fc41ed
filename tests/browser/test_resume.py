"""A page that loses its connection in mid-answer: nothing missing, doubled or reordered when it is back.

The replies hold at seeded places, so that each cut falls where the test says: before, while or after text comes.
"""

import random
import re
import threading

import pytest
from playwright.sync_api import expect

from replay_contract_server.fixture import ContractHandle
from tests.browser.cable import Cable
from tests.browser.people import Person
from tests.browser.upstream import Delta, calls, opening, plain, reply, says, thinks, waits

CUTS = 10
DISCONNECTED = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_SOCKET", "WebSocket", "[object Event]"]
OFFLINE = ["ERR_INTERNET_DISCONNECTED", "htmx:"]
PARAGRAPHS = [
    f"Paragraph {n} counts from {n * 10}: " + ", ".join(map(str, range(n * 10, n * 10 + 10))) for n in range(12)
]
WHOLE = "\n\n".join(PARAGRAPHS)
THOUGHT = "I weigh one thing, then the other."
MOMENTS = ("text while away", "text after the return", "text before the cut")


@pytest.fixture
def cable(connected):
    made = Cable(connected)
    yield made
    made.close()


@pytest.fixture
def demo(visit, cable):
    person = visit(cable)
    person.watch.expected += DISCONNECTED
    person.starts_chat()
    person.page.wait_for_load_state("networkidle")  # a script that is still being loaded would never come
    return person


def held_reply(chance: random.Random) -> dict[str, object]:
    """Return an answer in pieces of a few characters that stops at ten places."""
    places = sorted(chance.sample(range(20, len(WHOLE) - 20), CUTS))
    deltas: list[Delta | list[Delta]] = [says(opening())]
    for n, (start, end) in enumerate(zip([0, *places], [*places, len(WHOLE)], strict=True)):
        deltas += [says(*(WHOLE[at : min(at + 5, end)] for at in range(start, end, 5)))]
        deltas += [waits(f"cut {n}")] if n < CUTS else []
    return reply(thinks(THOUGHT), *deltas)


def without_spaces(text: str) -> str:
    return re.sub(r"\s+", "", text)


def reconnects(demo: Person, cable: Cable) -> None:
    cable.plug_in()
    expect(demo.reconnecting).to_be_hidden()


def disconnects(demo: Person, cable: Cable) -> None:
    cable.pull()
    expect(demo.reconnecting).to_be_visible()


def is_cut_at(moment: str, n: int, demo: Person, cable: Cable, model: ContractHandle) -> None:
    """Lose the connection and get it back; the text up to the next place comes at this moment."""
    model.wait_for(held=f"cut {n}")
    if moment == "text before the cut":
        model.release(f"cut {n}")
    disconnects(demo, cable)
    if moment == "text while away":
        model.release(f"cut {n}")
    reconnects(demo, cable)
    model.release(f"cut {n}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 11])
def test_answer_is_whole_however_often_the_connection_was_cut(demo, cable, model, seed):
    chance = random.Random(seed)  # noqa: S311 - no secret
    model.script([reply(calls("searchFilings", '{"query":"debt"}')), held_reply(chance)])
    card = demo.asks("Count, please.")
    model.wait_for(held="cut 0")  # until then the trace is drawn again, and a click on it may be lost
    expect(card.steps.first).to_have_attribute("data-state", "done")
    card.opens_trace()
    card.opens_thinking()

    for n in range(CUTS):
        is_cut_at(chance.choice(MOMENTS), n, demo, cable, model)
        expect(card.toggle).to_have_attribute("aria-expanded", "true")
        expect(card.steps.first).to_be_visible()
    card.ends()

    expect(card.answer.locator("p")).to_have_text(PARAGRAPHS)
    expect(card.thought).to_have_text(THOUGHT)
    whole = without_spaces(WHOLE)
    assert [t for t in demo.watch.seen("answer", card=card.id) if not whole.startswith(without_spaces(t))] == []
    expect(demo.page.locator("#messages > article")).to_have_count(2)
    live = card.texts()
    demo.page.reload()
    assert card.texts() == live


@pytest.mark.slow
def test_message_that_was_sent_while_away_is_asked_once(demo, cable, model):
    model.script([plain("Here is the answer.")])
    disconnects(demo, cable)
    demo.writes("Is this lost?")
    demo.send_button.click()
    reconnects(demo, cable)

    expect(demo.answer().ends().answer).to_have_text("Here is the answer.")
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Is this lost?")
    assert len(model.requests()) == 1


@pytest.mark.slow
def test_stop_in_another_tab_reaches_the_tab_that_was_away(demo, cable, connected, model, visit):
    model.script([reply(says(opening(), "Half of it is here. "), waits("never"))])
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("Half of it")
    elsewhere = visit(connected)
    elsewhere.open(demo.page.url.removeprefix(cable.base_url))
    expect(elsewhere.answer().streams().answer).to_contain_text("Half of it")

    disconnects(demo, cable)
    elsewhere.stop_button.click()
    elsewhere.answer().ends("stopped")
    card.streams()
    reconnects(demo, cable)

    card.ends("stopped")
    expect(demo.stop_button).to_be_hidden()
    assert card.texts() == elsewhere.answer().texts()


@pytest.mark.slow
def test_stop_while_the_connection_is_away_is_done_on_the_return(demo, cable, model):
    model.script([reply(says(opening(), "Half of it is here. "), waits("never"))])
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("Half of it")
    disconnects(demo, cable)

    demo.stop_button.click()
    expect(demo.reconnecting).to_contain_text("will stop once reconnected")
    reconnects(demo, cable)

    card.ends("stopped")
    model.wait_for(closed=1)


@pytest.mark.slow
def test_server_that_restarts_in_mid_answer_lets_it_end(visit, own_site, model):
    model.script([reply(says(opening(), PARAGRAPHS[0] + "\n\n"), waits("rest"), says(*PARAGRAPHS[1]))])
    site = own_site(OPENAI_BASE_URL=model.base_url)
    demo = visit(site)
    demo.watch.expected += DISCONNECTED
    demo.starts_chat()
    card = demo.asks("Count, please.")
    expect(card.answer).to_contain_text("Paragraph 0")

    ending = threading.Thread(target=site.stop)
    ending.start()
    model.release("rest")
    expect(demo.reconnecting).to_be_visible()
    ending.join()
    site.start()

    card.ends()
    expect(demo.reconnecting).to_be_hidden()
    expect(card.answer.locator("p")).to_have_text(PARAGRAPHS[:2])
    live = card.texts()
    demo.page.reload()
    assert card.texts() == live


@pytest.mark.slow
def test_network_that_goes_away_is_said_and_what_was_missed_comes(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest"), says("It ends."))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Are you there?").streams()
    expect(card.answer).to_contain_text("It begins.")

    demo.context.set_offline(True)
    expect(demo.reconnecting).to_be_visible()
    demo.context.set_offline(False)
    model.release("rest")
    card.ends()

    expect(card.answer).to_contain_text("It ends.")
    expect(demo.reconnecting).to_be_hidden()


@pytest.mark.slow
def test_action_without_a_connection_is_said(visit, connected, model):
    model.script([reply(says(opening(), "Done."))] * 2)
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Are you there?")
    card.ends()
    demo.watch.expected += OFFLINE

    demo.context.set_offline(True)
    card.root.get_by_role("button", name="Retry").click()
    expect(demo.page.locator("#connection")).to_have_text("No connection: nothing was changed. Try again.")
    demo.context.set_offline(False)
    card.root.get_by_role("button", name="Retry").click()

    expect(demo.page.locator("#connection")).to_be_hidden()
