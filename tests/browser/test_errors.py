"""A model that fails: the card says why, the question is kept, Retry asks again in its place. Ui 1."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says
from tests.contract_server.fixture import ContractHandle

ANSWER = "The answer that was to come."
STALL_S = "1"


@pytest.fixture
def hasty(serve: MakeSite, model: ContractHandle) -> Site:
    """Return a site that gives a silent model one second."""
    return serve(OPENAI_BASE_URL=model.base_url, UPSTREAM_IDLE_TIMEOUT_S=STALL_S)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param({"kind": "server_error", "times": 3}, "The model service failed (HTTP 500).", id="500"),
        pytest.param({"kind": "stall", "at": "event:3"}, "The model service", id="stall"),
        pytest.param({"kind": "disconnect", "at": "event:3"}, "ended the answer in the middle", id="disconnect"),
        pytest.param(
            {"kind": "disconnect", "at": "event:3", "mode": "rst"}, "The connection to the model service", id="reset"
        ),
        pytest.param({"kind": "malformed_sse", "form": "not_json", "again": True}, "The model service", id="malformed"),
    ],
)
def test_failure_becomes_a_card_that_can_be_asked_again(
    visit: Visit, hasty: Site, model: ContractHandle, fault: dict[str, Any], words: str
) -> None:
    faults = [{"times": 9, **fault}] if fault["kind"] != "malformed_sse" else [fault]
    model.script([plain(ANSWER, faults=faults)])
    demo = visit(hasty)
    demo.starts_chat()

    card = demo.asks("Still there?").ends("error")
    expect(card.root).to_contain_text(words)
    expect(demo.page.get_by_role("alert").filter(has_text=words).first).to_be_attached()
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Still there?")
    model.script([plain(ANSWER)])
    card.retry.click()

    expect(demo.answer().ends().answer).to_have_text(ANSWER)
    expect(demo.page.locator("[data-role=assistant]")).to_have_count(1)
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Still there?")


def test_failure_in_mid_answer_keeps_what_came(visit: Visit, hasty: Site, model: ContractHandle) -> None:
    fault = {"kind": "disconnect", "at": "event:4", "times": 9}
    model.script([reply(says(opening(), "A whole paragraph came.\n\n", "And half", " of the next"), faults=[fault])])
    demo = visit(hasty)
    demo.starts_chat()

    card = demo.asks("How far?").ends("error")

    expect(card.answer).to_contain_text("A whole paragraph came.")
    text, notice, work = (card.root.locator(part).bounding_box() for part in (".prose", ".notice", ".work .disclosure"))
    assert text
    assert notice
    assert work
    assert 8 <= notice["y"] - (text["y"] + text["height"]) <= 24  # it follows the text, and touches nothing
    assert work["y"] - (notice["y"] + notice["height"]) >= 16
    demo.page.reload()
    expect(card.ends("error").answer).to_contain_text("A whole paragraph came.")


def test_retry_of_a_complete_answer_replaces_its_card(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("The first try."), plain("The second try.")])
    demo = visit(connected)
    demo.starts_chat()

    demo.asks("Which try?").ends().retry.click()

    expect(demo.page.locator("[data-answer]")).to_have_text(["The second try."])
    demo.page.reload()
    expect(demo.page.locator("[data-answer]")).to_have_text(["The second try."])
