"""A model that fails: the card says why, what came stays, Retry asks again in its place. Ui 1."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says
from tests.contract_server.fixture import ContractHandle

FAILURE = "The model service failed (HTTP 500)."


def test_failure_becomes_a_card_that_can_be_asked_again(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("", faults=[{"kind": "server_error", "times": 9}])])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("Still there?").ends("error")
    expect(card.root).to_contain_text(FAILURE)
    expect(demo.page.get_by_role("alert").filter(has_text=FAILURE).first).to_be_attached()
    model.script([plain("The answer that was to come.")])
    card.retry.click()

    expect(demo.answer().ends().answer).to_have_text("The answer that was to come.")
    expect(demo.page.locator("[data-role=assistant]")).to_have_count(1)
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Still there?")


def test_failure_in_mid_answer_leaves_what_came(visit: Visit, connected: Site, model: ContractHandle) -> None:
    fault = {"kind": "disconnect", "at": "event:4", "times": 9}
    model.script([reply(says(opening(), "A whole paragraph came.\n\n", "And half", " of the next"), faults=[fault])])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("How far?").ends("error")

    expect(card.answer).to_contain_text("A whole paragraph came.")
    expect(card.root).to_contain_text("ended the answer in the middle")
    text, notice, work = (card.root.locator(part).bounding_box() for part in (".prose", ".notice", ".work .disclosure"))
    assert text
    assert notice
    assert work
    assert 8 <= notice["y"] - (text["y"] + text["height"]) <= 24  # it follows the text, and touches nothing
    assert work["y"] - (notice["y"] + notice["height"]) >= 16
    demo.page.reload()
    expect(card.ends("error").answer).to_contain_text("A whole paragraph came.")
