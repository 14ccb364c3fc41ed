"""What a person has typed is asked once or waits in the composer, whatever happens when they send it. Product 44."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.cable import Cable
from tests.browser.people import Person
from tests.browser.sites import DATABASE, Site
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.browser.wire import Wire

TEXT = "Is this lost?"
TOO_LONG = "far too long " * 4
DISCONNECTED = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_SOCKET", "WebSocket", "[object Event]", "Failed to fetch"]
FILL_STORAGE = """() => {
  for (const storage of [localStorage, sessionStorage])
    for (let size = 2 ** 22; size; size >>= 1)
      try { for (let n = 0; ; n += 1) storage.setItem(`filler ${size} ${n}`, "x".repeat(size)); } catch {}
}"""


@dataclass
class Stage:
    demo: Person
    cable: Cable
    site: Site
    wire: Wire | None = None

    @property
    def page(self) -> Page:
        return self.demo.page

    def sends(self, text: str = TEXT) -> None:
        self.demo.writes(text)
        self.demo.send_button.click()

    def sends_while_away(self) -> None:
        self.cable.pull()
        expect(self.demo.reconnecting).to_be_visible()
        self.sends()
        expect(unsent(self.page)).to_contain_text(TEXT)
        expect(unsent(self.page).get_by_text("Not sent yet")).to_be_visible()
        expect(self.demo.composer).to_have_value("")

    def shows_reason(self) -> None:
        expect(self.page.get_by_text("Your session had ended. What you wrote was not sent")).to_be_visible()


def unsent(page: Page) -> Locator:
    return page.locator("#unsent > .unsent")


def questions(page: Page) -> Locator:
    return page.locator("#messages [data-role=user] .question")


def expiry(stage: Stage) -> None:
    with closing(sqlite3.connect(stage.site.folder / DATABASE)) as connection, connection:
        connection.execute("DELETE FROM django_session WHERE session_key = ?", [session_key(stage)])
    stage.sends()
    expect(stage.page.get_by_text("Your session has ended.")).to_be_visible()
    stage.demo.signs_in()
    stage.shows_reason()


def session_key(stage: Stage) -> str:
    return next(cookie["value"] for cookie in stage.demo.context.cookies() if cookie["name"] == "sessionid")


def server_away(stage: Stage) -> None:
    stage.sends_while_away()
    stage.cable.plug_in()


def socket_refused(stage: Stage) -> None:
    stage.cable.blocks_websockets = True
    stage.page.reload()
    stage.sends()
    expect(stage.page.get_by_text("WebSockets are blocked here")).to_be_visible()


def socket_cut(stage: Stage) -> None:
    """The server gets the message; the page hears nothing of it."""
    stage.wire = Wire(stage.demo.context)
    stage.page.reload()
    stage.page.wait_for_load_state("networkidle")
    stage.wire.is_held = True
    stage.sends()
    stage.site.wait_until_stored("SELECT 1 FROM chat_conversation WHERE title = 'Is this lost?'")
    stage.wire.is_held = False
    stage.wire.close(1012)


def tab_closed(stage: Stage) -> None:
    stage.sends_while_away()
    address = stage.page.url
    stage.page.close()
    stage.cable.plug_in()
    stage.demo.page = stage.demo.context.new_page()
    stage.demo.open(address)


def reload(stage: Stage) -> None:
    stage.sends_while_away()
    stage.cable.plug_in()
    stage.page.reload()


def back(stage: Stage) -> None:
    stage.sends_while_away()
    stage.cable.plug_in()
    stage.page.goto("/accounts/settings/")
    stage.page.go_back()


def two_tabs(stage: Stage) -> None:
    stage.sends_while_away()
    other = stage.demo.context.new_page()
    stage.cable.plug_in()
    other.goto(stage.page.url)
    expect(questions(other)).to_have_text([TEXT])
    expect(unsent(other)).to_have_count(0)


def storage_full(stage: Stage) -> None:
    stage.page.evaluate(FILL_STORAGE)
    server_away(stage)


def refused_message(stage: Stage) -> None:
    stage.demo.composer.evaluate("area => { area.dataset.limit = 1000 }")
    stage.sends(TOO_LONG)
    expect(stage.page.get_by_role("alert").filter(has_text="at most 40")).to_be_visible()
    stage.page.reload()


def limit(stage: Stage) -> None:
    stage.sends(TOO_LONG)
    stage.page.reload()


def restart(stage: Stage) -> None:
    ending = threading.Thread(target=stage.site.stop)
    ending.start()
    expect(stage.demo.reconnecting).to_be_visible()
    ending.join()
    stage.sends()
    expect(unsent(stage.page)).to_contain_text(TEXT)
    stage.site.start()


ASKED, IN_COMPOSER = "asked", "in the composer"
FAULTS: list[tuple[Callable[[Stage], None], str]] = [
    (expiry, IN_COMPOSER),
    (server_away, ASKED),
    (socket_refused, ASKED),
    (socket_cut, ASKED),
    (tab_closed, ASKED),
    (reload, ASKED),
    (back, ASKED),
    (two_tabs, ASKED),
    (storage_full, ASKED),
    (refused_message, IN_COMPOSER),
    (limit, IN_COMPOSER),
    (restart, ASKED),
]
QUICK = (expiry, server_away)


@pytest.fixture
def stage(request, visit, serve, own_site, model):
    model.script([plain("Here is the answer.")])
    start = own_site if request.param is restart else serve
    site = start(OPENAI_BASE_URL=model.base_url, MESSAGE_MAX_CHARS="40")
    cable = Cable(site)
    demo = visit(cable)
    demo.watch.expected += DISCONNECTED
    demo.starts_chat()
    demo.page.wait_for_load_state("networkidle")  # a script that is still being loaded would never come
    yield Stage(demo, cable, site)
    cable.close()


@pytest.mark.spec("product 44")
@pytest.mark.parametrize(
    ("stage", "fault", "outcome"),
    [
        pytest.param(fault, fault, outcome, id=fault.__name__, marks=() if fault in QUICK else pytest.mark.slow)
        for fault, outcome in FAULTS
    ],
    indirect=["stage"],
)
def test_message_is_asked_once_or_waits_in_the_composer(stage, fault, outcome, model):
    fault(stage)

    if outcome == ASKED:
        expect(stage.demo.answer().ends().answer).to_have_text("Here is the answer.")
        expect(questions(stage.page)).to_have_text([TEXT])
        expect(stage.demo.composer).to_have_value("")
        assert len(model.requests()) == 1
    else:
        text = TEXT if fault is expiry else TOO_LONG
        expect(stage.demo.composer).to_have_value(text if fault is limit else text.strip())
        expect(questions(stage.page)).to_have_count(0)
    expect(unsent(stage.page)).to_have_count(0)
    assert stage.page.evaluate("Object.keys(localStorage).filter(key => key.includes('unsent'))") == []


@pytest.mark.slow
@pytest.mark.parametrize("stage", [server_away], indirect=True)
def test_unsent_message_can_be_taken_back(stage, model):
    stage.sends_while_away()

    stage.page.get_by_role("button", name="Take back").click()
    stage.cable.plug_in()
    expect(stage.demo.reconnecting).to_be_hidden()

    expect(stage.demo.composer).to_have_value(TEXT)
    expect(stage.demo.composer).to_be_focused()
    expect(unsent(stage.page)).to_have_count(0)
    stage.page.reload()
    expect(stage.demo.composer).to_have_value(TEXT)
    assert model.requests() == []


@pytest.mark.slow
@pytest.mark.parametrize("stage", [server_away], indirect=True)
def test_message_that_came_back_and_was_accepted_can_be_asked_again(stage, model):
    model.script([plain("Here is the answer."), plain("And once more.")])
    stage.sends_while_away()
    stage.page.get_by_role("button", name="Take back").click()
    stage.cable.plug_in()
    expect(stage.demo.reconnecting).to_be_hidden()
    stage.demo.send_button.click()
    stage.demo.answer(0).ends()

    stage.sends()

    stage.demo.answer(1).ends()
    expect(questions(stage.page)).to_have_text([TEXT, TEXT])
    expect(unsent(stage.page)).to_have_count(0)
    assert len(model.requests()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("stage", [socket_refused], indirect=True)
def test_edit_is_left_alone_while_a_page_without_socket_reads_answers(stage, model):
    model.script([plain("One."), plain("Two."), plain("Three.")])
    socket_refused(stage)
    stage.demo.answer(0).ends()

    edited = stage.demo.rewords(1, "Is this lost as well?")
    stage.demo.asks("Second?").ends()
    expect(edited).to_have_value("Is this lost as well?")
    stage.page.get_by_role("button", name="Save and submit").click()

    expect(stage.page.locator("[data-answer]")).to_have_text(["Three."])
    expect(questions(stage.page)).to_have_text(["Is this lost as well?"])
    expect(edited).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [socket_refused], indirect=True)
def test_focus_and_note_stay_in_a_card_while_a_page_without_socket_reads_answers(stage, model):
    model.script([plain("One."), reply(says(opening(), "Two "), waits("rest"), says("and three."))])
    socket_refused(stage)
    first = stage.demo.answer(0).ends().root
    first.get_by_role("button", name="Bad answer").click()
    note = first.get_by_role("textbox", name="Note")
    expect(note).to_be_visible()
    stage.demo.asks("Second?")
    expect(stage.demo.answer(1).answer).to_contain_text("Two")
    expect(note).to_be_hidden()  # the card came again, with the opinion
    first.get_by_text("What was wrong?").click()
    note.fill("It is too short")

    for _read in range(2):  # the second begins after the first was shown
        with stage.page.expect_response(lambda response: response.url == stage.page.url and response.ok):
            pass

    expect(note).to_be_focused()
    expect(note).to_have_value("It is too short")
    model.release("rest")
    expect(stage.demo.answer(1).ends().answer).to_have_text("Two and three.")


@pytest.mark.slow
@pytest.mark.parametrize("stage", [socket_refused], indirect=True)
def test_reply_to_a_command_stays_while_a_page_without_socket_reads_answers(stage, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest"), says("It ends."))])
    socket_refused(stage)
    answered = stage.page.locator("#command")
    stage.sends("/help")
    expect(answered).to_contain_text("/profile")

    for _read in range(2):  # the second begins after the first was shown
        with stage.page.expect_response(lambda response: response.url == stage.page.url and response.ok):
            pass
    expect(answered).to_contain_text("/profile")
    model.release("rest")
    stage.demo.answer().ends()
    stage.sends("And now?")

    expect(answered).to_be_empty()


@pytest.mark.slow
@pytest.mark.parametrize("stage", [socket_refused], indirect=True)
def test_answer_is_stopped_without_socket_after_the_server_was_away(stage, model):
    model.script([reply(says(opening(), "It begins. "), waits("never"))])
    socket_refused(stage)
    expect(stage.demo.answer().answer).to_contain_text("It begins")
    with stage.page.expect_event("requestfailed"):
        stage.cable.pull()
    with stage.page.expect_response(lambda response: response.url == stage.page.url and response.ok):
        stage.cable.plug_in()
    for _attempt in range(2):  # the second comes after the first has failed
        with stage.page.expect_event("websocket"):
            pass

    stage.demo.stop_button.click()

    stage.demo.answer().ends("stopped")


@pytest.mark.slow
@pytest.mark.parametrize("stage", [server_away], indirect=True)
def test_banner_speaks_of_an_answer_only_while_one_is_written(stage):
    stage.cable.pull()

    expect(stage.demo.reconnecting).to_have_text("Reconnecting…")
