"""The page as plain forms and links: sign in, read, open thinking, ask, stop. Contracts, The page; ui V2."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle


def _plain(visit: Visit, site: Site, **options: bool) -> Person:
    return visit(site, java_script_enabled=False, **options)


def test_reader_signs_in_and_reads_a_finished_conversation(visit: Visit, offline: Site) -> None:
    demo = _plain(visit, offline, signed_in=False)
    demo.open(offline.prepared.finished)
    demo.signs_in()

    card = demo.answer()
    expect(card.answer).to_contain_text("The filings say this, word for word")
    expect(card.bullets.first).to_be_visible()
    card.opens_trace()
    expect(card.steps.first).to_contain_text("searchFilings")


@pytest.mark.slow
@pytest.mark.spec("000 dom")
def test_thinking_opens_and_closes_by_its_form(visit: Visit, offline: Site) -> None:
    demo = _plain(visit, offline)
    card = demo.reads_finished()
    expect(card.thought).to_be_hidden()

    card.toggle.click()
    expect(card.thought).to_contain_text("passages came back")
    expect(card.toggle).to_have_attribute("aria-expanded", "true")
    card.toggle.click()

    expect(card.thought).to_be_hidden()


def test_message_goes_by_the_form_and_reload_shows_the_answer(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    model.script([reply(thinks("Hm."), waits("rest"), says(opening(), "Plain forms work."))])
    demo = _plain(visit, connected)
    demo.starts_chat()

    demo.writes("Do plain forms work?")
    with demo.page.expect_response(lambda response: response.request.method == "POST") as posted:
        demo.send_button.click()
    assert posted.value.status == 303
    demo.answer().streams()
    model.release("rest")
    model.wait_for(ended=1)
    demo.page.reload()

    expect(demo.answer().answer).to_have_text("Plain forms work.")
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Do plain forms work?")


def test_running_answer_is_stopped_by_a_form(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "It begins. "), waits("rest"))])
    demo = _plain(visit, connected)
    demo.starts_chat()
    demo.writes("Can I stop you?")
    demo.submits(demo.send_button)
    model.wait_for(held="rest")

    demo.submits(demo.stop_button)
    model.wait_for(closed=1)
    demo.page.reload()

    demo.answer().ends("stopped")


def test_failed_answer_is_asked_again_by_a_form(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = _plain(visit, connected)
    demo.starts_chat()
    demo.writes("Once more?")
    demo.submits(demo.send_button)
    model.wait_for(ended=1)
    demo.page.reload()
    demo.answer().ends("error")
    model.script([plain("At last.")])

    demo.submits(demo.answer().retry)
    model.wait_for(ended=2)
    demo.page.reload()

    expect(demo.page.locator("[data-answer]")).to_have_text(["At last."])


@pytest.mark.slow
def test_command_and_setting_go_by_their_forms(visit: Visit, offline: Site) -> None:
    demo = _plain(visit, offline)
    demo.reads_finished()

    demo.writes("/set")
    demo.submits(demo.send_button)
    expect(demo.page.locator("#command").get_by_role("table")).to_be_visible()
    demo.page.get_by_role("link", name="Settings", exact=True).click()
    expect(demo.page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
    demo.submits(demo.page.get_by_role("button", name="Save", exact=True))

    expect(demo.page.get_by_text("Saved.")).to_be_visible()


@pytest.mark.slow
def test_nothing_is_offered_that_needs_a_script(visit: Visit, offline: Site) -> None:
    demo = _plain(visit, offline)
    demo.reads_finished()

    for name in ("Keyboard shortcuts", "Copy", "Copy trace"):
        expect(demo.page.get_by_role("button", name=name, exact=True)).to_have_count(0)


@pytest.mark.slow
def test_reasoning_is_switched_by_a_form(visit: Visit, offline: Site) -> None:
    demo = _plain(visit, offline)
    demo.reads_finished()

    demo.reasoning_switch.click()
    expect(demo.reasoning_switch).not_to_be_checked()

    expect(demo.answer().summary).to_have_count(0)
