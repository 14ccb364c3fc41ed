"""A turn outlives its page: reload, a second tab, Stop, a closed tab, a server that dies. Product 15; ui R1 to R3."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.cards import AnswerCard
from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

FIRST = "One is about **rotor blades**.\n\nTwo is finished.\n\nSo is this.\n\nThree begins here, "
REST = "goes on after the pause, and ends.\n\n- a last point\n"
WHOLE = (
    "One is about rotor blades. Two is finished. So is this. Three begins here, goes on after the pause, and ends. "
    "a last point"
)


def _pass_on(socket: WebSocketRoute, sockets: list[WebSocketRoute]) -> None:
    socket.connect_to_server()
    sockets.append(socket)


@pytest.fixture
def demo(visit: Visit, connected: Site, model: ContractHandle) -> Person:
    """Bring someone to an empty chat with a model that pauses in the middle of its third paragraph."""
    model.script([reply(thinks("Hm. "), says(opening(), FIRST), waits("rest"), says(REST))])
    person = visit(connected)
    person.starts_chat()
    return person


def test_reload_in_mid_stream_shows_what_came_and_joins_the_rest(demo: Person, model: ContractHandle) -> None:
    card = demo.asks("Go on.")
    expect(card.answer).to_contain_text("Three begins")

    demo.page.reload()
    card.streams()
    expect(card.answer).to_contain_text("Three begins")
    expect(card.answer.locator("strong")).to_have_text("rotor blades")
    model.release("rest")
    card.ends()

    expect(card.answer).to_have_text(WHOLE)
    live = card.texts()
    demo.page.reload()
    assert card.texts() == live


def test_second_tab_shows_the_same_and_stop_in_one_stops_both(demo: Person, model: ContractHandle) -> None:
    card = demo.asks("Go on.")
    expect(card.answer).to_contain_text("Three begins")
    other = AnswerCard(demo.in_another_tab().locator("[data-role=assistant]"))
    expect(other.answer).to_contain_text("Three begins")

    demo.stop_button.click()

    for one in (card, other):
        one.ends("stopped")
        expect(one.root).to_contain_text(re.compile(r"Stopped after (less than )?\d+ s"))
        expect(one.answer).to_contain_text("Three begins")
    expect(demo.stop_button).to_be_hidden()
    model.wait_for(closed=1)


def test_second_tab_ends_with_the_same_text(demo: Person, model: ContractHandle) -> None:
    card = demo.asks("Go on.")
    other = AnswerCard(demo.in_another_tab().locator("[data-role=assistant]"))
    other.streams()

    model.release("rest")

    assert card.ends().texts() == other.ends().texts()


def test_closed_tab_does_not_stop_the_turn(demo: Person, model: ContractHandle) -> None:
    card = demo.asks("Go on.")
    expect(card.answer).to_contain_text("Three begins")
    address = demo.page.url
    demo.page.close()

    model.release("rest")
    model.wait_for(ended=1)
    demo.page = demo.context.new_page()
    demo.open(address)

    expect(demo.answer().ends().answer).to_have_text(WHOLE)


@pytest.mark.parametrize("code", [1006, 1011, 1012, 1000])
def test_lost_socket_comes_back_and_brings_what_it_missed(demo: Person, model: ContractHandle, code: int) -> None:
    sockets: list[WebSocketRoute] = []
    demo.context.route_web_socket(re.compile("/ws/"), lambda socket: _pass_on(socket, sockets))
    demo.page.reload()
    card = demo.asks("Go on.")
    expect(card.answer).to_contain_text("Three begins")

    sockets[-1].close(code=code)
    expect(demo.reconnecting).to_be_visible()
    model.release("rest")

    expect(card.ends().answer).to_have_text(WHOLE)
    expect(demo.reconnecting).to_be_hidden()
    assert len(sockets) == 2


def test_killed_server_loses_nothing_that_was_acknowledged(
    visit: Visit, own_site: MakeSite, model: ContractHandle
) -> None:
    model.script([reply(says(opening(), FIRST), waits("rest"), says(REST)), plain("Answered again.")])
    site = own_site(OPENAI_BASE_URL=model.base_url)
    demo = visit(site)
    demo.watch.expected += ["ERR_CONNECTION_REFUSED", "WebSocket", "[object Event]"]
    demo.starts_chat()
    card = demo.asks("Will this be lost?")
    expect(card.answer).to_contain_text("Three begins")
    site.wait_until_stored("SELECT 1 FROM chat_checkpoint WHERE answer LIKE '%rotor%'")

    site.kill()
    expect(demo.reconnecting).to_be_visible()
    expect(card.answer).to_contain_text("Three begins")
    site.start()

    card.ends("interrupted")
    expect(demo.reconnecting).to_be_hidden()
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Will this be lost?")
    expect(card.answer).to_contain_text("rotor blades")
    expect(card.root).to_contain_text("Interrupted: the server restarted. What was written is kept.")
