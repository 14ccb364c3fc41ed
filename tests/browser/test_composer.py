"""Writing and sending: the queue, empty and over-long messages, what a key does. Contracts, HTTP and WebSocket."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.contract_server.fixture import ContractHandle


def test_message_sent_while_a_turn_runs_waits_is_shown_and_then_answered(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
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
    expect(demo.page.locator("[data-role=user] p")).to_have_text(["First?", "Second?"])
    expect(demo.page.locator("#queue")).to_be_empty()


def test_empty_message_cannot_be_sent(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.starts_chat()

    demo.writes("   ")
    demo.composer.press("Enter")

    expect(demo.send_button).to_be_disabled()
    expect(demo.page.locator("[data-message-id]")).to_have_count(0)


def test_over_long_message_is_refused_by_name_and_kept(visit: Visit, serve: MakeSite) -> None:
    demo = visit(serve(MESSAGE_MAX_CHARS="40"))
    demo.starts_chat()
    text = "far too long " * 4

    demo.writes(text)
    demo.send_button.click()

    assert "At most 40 characters" in demo.composer.evaluate("area => area.validationMessage")
    expect(demo.composer).to_have_value(text)
    expect(demo.page.locator("[data-message-id]")).to_have_count(0)


def test_message_that_the_server_refuses_comes_back_to_the_composer(visit: Visit, serve: MakeSite) -> None:
    demo = visit(serve(MESSAGE_MAX_CHARS="40"))
    demo.starts_chat()
    demo.composer.evaluate("area => { area.dataset.limit = 1000 }")
    text = "far too long " * 4

    demo.writes(text)
    demo.send_button.click()

    expect(demo.page.get_by_role("alert").filter(has_text="at most 40")).to_be_visible()
    expect(demo.composer).to_have_value(text.strip())


def test_shift_enter_makes_a_line_and_enter_sends(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("Both lines came.")])
    demo = visit(connected)
    demo.starts_chat()

    demo.composer.press_sequentially("one")
    demo.composer.press("Shift+Enter")
    demo.composer.press_sequentially("two")
    demo.composer.press("Enter")

    expect(demo.page.locator("[data-answer]")).to_have_text("Both lines came.")
    assert model.requests()[0]["body"]["messages"][-1]["content"] == "one\ntwo"
