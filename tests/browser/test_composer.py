"""The composer: sending, the queue, refusals, an input method, Escape, and commands with their completion."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import NARROW, Person
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.browser.wire import Wire

TOO_LONG = "far too long " * 4


def offers(demo: Person) -> Locator:
    return demo.page.get_by_role("listbox", name="Commands").get_by_role("option")


def command_reply(demo: Person) -> Locator:
    return demo.page.locator("#command")


def sends(demo: Person, text: str) -> None:
    demo.writes(text)
    demo.send_button.click()


def test_message_sent_while_a_turn_runs_is_queued_and_then_answered(visit, connected, model):
    model.script([reply(says(opening(), "One. "), waits("rest"), says("Two.")), plain("Three.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").streams()

    demo.writes("Second?")
    demo.composer.press("Enter")
    expect(demo.page.locator("#queue")).to_contain_text("Second?")
    expect(demo.composer).to_have_value("")
    demo.page.reload()
    expect(demo.page.locator("#queue")).to_contain_text("Second?")
    model.release("rest")

    expect(demo.page.locator("[data-answer]")).to_have_text(["One. Two.", "Three."])
    expect(demo.page.locator("#messages [data-role=user] p")).to_have_text(["First?", "Second?"])
    expect(demo.page.locator("#queue")).to_be_empty()


def test_queued_messages_are_edited_removed_and_sent_after_stop(visit, connected, model):
    model.script([reply(says(opening(), "One. "), waits("rest"), says("Two.")), plain("Three.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").streams()
    expect(demo.page.locator("[data-answer]")).to_have_text("One.")
    queued = demo.page.locator("#queue > article")
    for text in ("Second?", "Never?"):
        demo.writes(text)
        demo.composer.press("Enter")
        expect(queued.filter(has_text=text)).to_be_visible()

    queued.filter(has_text="Never?").get_by_role("button", name="Remove").click()
    expect(queued).to_have_count(1)
    queued.get_by_role("link", name="Edit").click()
    edited = demo.page.get_by_role("textbox", name="Queued message")
    expect(edited).to_be_focused()
    edited.fill("Third?")
    edited.press("Control+Enter")
    expect(queued).to_contain_text("Third?")
    demo.page.locator("[data-stop]").click()
    expect(queued).to_contain_text("Not sent, because you stopped the answer")
    queued.get_by_role("button", name="Send now").click()

    expect(demo.page.locator("[data-answer]")).to_have_text(["One.", "Three."])
    expect(demo.page.locator("#messages [data-role=user] p")).to_have_text(["First?", "Third?"])
    expect(queued).to_have_count(0)


@pytest.mark.slow
@pytest.mark.spec("product 44")
def test_edit_of_a_queued_message_that_was_sent_meanwhile_is_in_the_composer_after_a_reload(visit, connected, model):
    model.script([reply(says(opening(), "One. "), waits("rest"), says("Two.")), plain("Three.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").streams()
    sends(demo, "Second?")
    demo.page.locator("#queue").get_by_role("link", name="Edit").click()
    edited = demo.page.get_by_role("textbox", name="Queued message")
    expect(edited).to_be_focused()
    edited.fill("Second, in more words?")
    chat = demo.page.url
    demo.open("/projects/")
    model.release("rest")
    model.wait_for(ended=2)

    for _time in ("first", "second"):
        demo.open(chat)
        expect(demo.page.locator("#messages [data-role=user] p")).to_have_text(["First?", "Second?"])
        expect(demo.composer).to_have_value("Second, in more words?")


@pytest.mark.slow
def test_unfit_message_is_not_sent_and_a_refused_one_returns_above_what_was_typed_since(visit, serve):
    demo = visit(serve(MESSAGE_MAX_CHARS="40"))
    wire = Wire(demo.context)
    demo.starts_chat()

    demo.writes("   ")
    demo.composer.press("Enter")
    expect(demo.send_button).to_be_disabled()
    sends(demo, TOO_LONG)

    too_long = demo.page.get_by_role("alert").filter(has_text="At most 40 characters")
    expect(too_long).to_be_visible()
    expect(demo.composer).to_be_focused()
    expect(demo.composer).to_have_value(TOO_LONG)
    demo.writes("short")
    expect(too_long).to_be_hidden()
    demo.writes(TOO_LONG)
    demo.composer.press("Enter")
    expect(too_long).to_be_visible()
    demo.page.reload()
    expect(demo.page.locator("[data-message-id]")).to_have_count(0)

    demo.composer.evaluate("area => { area.dataset.limit = 1000 }")  # so that the server refuses it, not the page

    wire.is_held = True
    sends(demo, TOO_LONG)
    expect(demo.composer).to_have_value("")
    demo.writes("typed since")
    wire.release()

    expect(demo.page.get_by_role("alert").filter(has_text="at most 40")).to_be_visible()
    expect(demo.composer).to_have_value(f"{TOO_LONG.strip()}\ntyped since")


def test_enter_sends_but_not_with_shift_or_while_an_input_method_composes(visit, connected, model):
    model.script([plain("Both lines came."), plain("A part of a word came.")])
    demo = visit(connected)
    demo.starts_chat()
    keyboard = demo.context.new_cdp_session(demo.page)

    demo.composer.press_sequentially("one")
    demo.composer.press("Shift+Enter")
    keyboard.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    demo.composer.dispatch_event("keydown", {"key": "Enter", "isComposing": True})  # it chooses a word
    demo.composer.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})  # as Safari ends a composition
    keyboard.send("Input.insertText", {"text": "日本"})
    demo.composer.press("Enter")

    expect(demo.page.locator("[data-answer]")).to_have_text("Both lines came.")
    assert model.requests()[0]["body"]["messages"][-1]["content"] == "one\n日本"


def test_message_that_is_sent_by_its_button_leaves_the_focus_in_the_composer(visit, connected, model):
    model.script([plain("It came."), plain("And again.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.composer.fill("one")
    send = demo.page.get_by_role("button", name="Send", exact=True)
    while not send.evaluate("button => button === document.activeElement"):
        demo.page.keyboard.press("Tab")

    demo.page.keyboard.press("Enter")

    expect(demo.page.locator("[data-answer]")).to_have_text("It came.")
    expect(demo.composer).to_be_focused()
    demo.asks("two")  # by a click
    expect(demo.composer).to_be_focused()


def test_escape_closes_a_dialog_first_and_then_stops_the_answer(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest"), says("It ends."))])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Are you still there?")
    expect(card.answer).to_contain_text("It begins")

    demo.page.keyboard.press("Control+/")
    expect(demo.page.get_by_role("dialog")).to_be_visible()
    demo.page.keyboard.press("Escape")
    expect(demo.page.get_by_role("dialog")).to_have_count(0)
    sends(demo, "/help")
    expect(command_reply(demo)).not_to_be_empty()  # a stop before it would have been carried out
    model.release("rest")
    card.ends("complete")

    model.script([reply(says(opening(), "Another one. "), waits("never"))])
    second = demo.asks("And now?")
    expect(second.answer).to_contain_text("Another")
    demo.page.keyboard.press("Escape")

    second.ends("stopped")


def test_escape_of_an_input_method_neither_discards_an_edit_nor_stops_the_answer(visit, connected, model):
    model.script([plain("One."), reply(says(opening(), "Two "), waits("rest"), says("and three."))])
    escapes = [{"key": "Escape", "isComposing": True}, {"key": "Escape", "keyCode": 229}]
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("First?").ends()

    edited = demo.rewords(1, "にほ")
    for escape in escapes:
        edited.dispatch_event("keydown", escape)
    expect(edited).to_have_value("にほ")
    edited.press("Escape")
    expect(edited).to_have_count(0)
    card = demo.asks("Second?")
    expect(card.answer).to_contain_text("Two")
    for escape in escapes:
        demo.composer.dispatch_event("keydown", escape)
    sends(demo, "/help")
    expect(command_reply(demo)).not_to_be_empty()  # a stop before it would have been carried out
    model.release("rest")

    card.ends("complete")


def test_command_is_completed_by_keyboard_and_answered_without_a_turn(visit, offline):
    demo = visit(offline)
    demo.starts_chat()

    demo.composer.press_sequentially("/s")
    expect(offers(demo)).to_have_text(["/set show or change settings"])
    demo.composer.press("Tab")
    expect(demo.composer).to_have_value("/set ")
    demo.composer.press_sequentially("eff")
    demo.composer.press("Enter")
    expect(demo.composer).to_have_value("/set reasoning.effort ")
    demo.composer.press("ArrowDown")
    demo.composer.press("ArrowDown")
    expect(offers(demo).nth(1)).to_have_attribute("aria-selected", "true")
    expect(demo.composer).to_have_attribute("aria-activedescendant", "offer-1")
    demo.composer.press("Enter")
    expect(demo.composer).to_have_value("/set reasoning.effort minimal")
    expect(offers(demo)).to_have_count(0)
    demo.composer.press("Enter")

    expect(command_reply(demo)).to_contain_text("Effort set to Minimal (this conversation)")
    expect(demo.composer).to_have_value("")
    expect(demo.page.locator("[data-message-id]")).to_have_count(0)
    command_reply(demo).get_by_role("button", name="Dismiss").click()
    expect(command_reply(demo)).to_be_empty()
    expect(demo.composer).to_be_focused()


@pytest.mark.slow
def test_nothing_is_offered_in_the_middle_of_a_line_or_of_a_text(visit, offline):
    demo = visit(offline)
    demo.starts_chat()

    demo.composer.press_sequentially("se")
    demo.composer.press("Home")
    demo.composer.press_sequentially("/")
    expect(demo.composer).to_have_value("/se")
    expect(offers(demo)).to_have_count(0)
    demo.composer.press("End")
    demo.composer.press("Backspace")
    expect(offers(demo)).to_have_count(1)
    demo.composer.press("Escape")
    expect(offers(demo)).to_have_count(0)
    expect(demo.composer).to_have_value("/s")
    demo.writes("")
    demo.composer.press_sequentially("/etc/hosts is what?")

    expect(offers(demo)).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"viewport": NARROW, "has_touch": True}], ids=["mouse", "finger"])
def test_offer_is_chosen_by_mouse_and_by_finger(visit, offline, options):
    demo = visit(offline, **options)
    demo.open()
    demo.composer.press_sequentially("/prof")
    choose = Locator.tap if options else Locator.click

    choose(offers(demo).first)
    choose(offers(demo).filter(has_text="load"))
    choose(offers(demo).filter(has_text="kimi"))

    expect(demo.composer).to_have_value("/profile load kimi")
    expect(demo.composer).to_be_focused()


def test_draft_outlives_a_reload_until_it_is_sent_or_its_writer_signs_out(visit, connected, model):
    model.script([plain("Sent.")])
    demo = visit(connected)
    demo.starts_chat()
    demo.writes("Half a question")
    demo.page.reload()
    expect(demo.composer).to_have_value("Half a question")
    demo.send_button.click()
    demo.answer().ends()
    demo.page.reload()
    expect(demo.composer).to_have_value("")
    demo.writes("Another half")
    other = demo.in_another_tab()
    other.get_by_role("textbox", name="Your question").fill("A third")

    demo.submits(demo.page.get_by_role("button", name="Sign out"))

    expect(other.get_by_label("Username")).to_be_visible()  # its socket was closed
    other.wait_for_load_state()
    expect(other.get_by_text("what you wrote is kept")).to_be_hidden()
    for page in (demo.page, other):
        assert "half" not in page.evaluate("JSON.stringify(sessionStorage)").lower()
    assert "third" not in other.evaluate("JSON.stringify(sessionStorage)")


@pytest.mark.slow
def test_draft_outlives_its_session_but_not_the_sign_in_of_another_user(visit, connected):
    demo = visit(connected)
    demo.starts_chat()
    demo.writes("Half a question")
    stored = "JSON.stringify(sessionStorage)"

    demo.page.context.clear_cookies()
    demo.page.reload()
    assert "Half" in demo.page.evaluate(stored)
    demo.signs_in()
    expect(demo.composer).to_have_value("Half a question")
    demo.page.context.clear_cookies()
    demo.page.goto(f"{connected.base_url}/accounts/login/?next=/")
    assert "Half" in demo.page.evaluate(stored)
    demo.username = "sam"
    demo.signs_in()

    expect(demo.composer).to_have_value("")
    assert "Half" not in demo.page.evaluate(stored)
