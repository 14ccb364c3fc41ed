"""Continue in a browser: beside Retry, by script and by plain form. Ui 1."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.conversations.continuation import SENTENCE
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.contract_server.fixture import ContractHandle

HALF = "The first half is here, and "
REST = "the second half follows."


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain form"])
def test_stopped_answer_is_continued_in_a_new_turn(
    visit: Visit, connected: Site, model: ContractHandle, has_script: bool
) -> None:
    model.script([reply(says(opening(), HALF), waits("never")), plain(REST)])
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Go on.")
    expect(card.answer).to_contain_text("The first half")
    demo.stop_button.click()
    card.ends("stopped")
    address = demo.page.url
    if not has_script:
        demo = visit(connected, java_script_enabled=False)
        demo.open(address)

    go_on = demo.answer(0).root.get_by_role("button", name="Continue")
    if has_script:
        go_on.click()
    else:
        demo.submits(go_on)
        model.wait_for(ended=2)
        demo.page.reload()

    expect(demo.answer(1).ends().answer).to_have_text(REST)
    expect(demo.answer(0).answer).to_contain_text("The first half")
    _first_half_is_folded_away_in_the_question(demo)
    expect(demo.page.get_by_role("button", name="Continue")).to_have_count(0)


def _first_half_is_folded_away_in_the_question(demo: Person) -> None:
    question = demo.page.locator("[data-role=user]").nth(1)
    expect(question).to_contain_text(SENTENCE)
    expect(question.get_by_text("The first half")).to_be_hidden()
    question.get_by_text("The answer so far, as it is sent").click()
    expect(question.get_by_text("The first half")).to_be_visible()
