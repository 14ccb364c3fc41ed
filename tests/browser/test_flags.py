"""Each flag of the site as a person meets it, and on the wire to the model. Spec 004 flags, product 4, 13."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.cards import AnswerCard
from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle
from tests.frame_words import heard

THOUGHT = "Weighing one clause against another. " * 60


def asks(visit: Visit, serve: MakeSite, model: ContractHandle, **flags: str) -> tuple[Person, AnswerCard]:
    """Have one question answered, with thinking and a tool call, on a site with these flags."""
    model.script(
        [
            reply(thinks(THOUGHT), calls("searchFilings", '{"query":"covenants"}')),
            reply(thinks("That will do."), says(opening(), "It says so.")),
        ]
    )
    demo = visit(serve(OPENAI_BASE_URL=model.base_url, **flags))
    demo.starts_chat()
    return demo, demo.asks("Well?").ends()


@pytest.mark.slow
@pytest.mark.spec("004 flags")
def test_reasoning_off_at_first_comes_back_without_reload_and_the_draft_stays(
    visit: Visit, serve: MakeSite, model: ContractHandle
) -> None:
    demo, card = asks(visit, serve, model, REASONING_SHOW_SUMMARY_DEFAULT="false")
    expect(demo.reasoning_switch).not_to_be_checked()
    expect(card.summary.or_(card.trace).or_(card.thinking)).to_have_count(0)
    demo.writes("Half a question")

    demo.reasoning_switch.click()

    expect(demo.reasoning_switch).to_be_checked()
    expect(card.bullets.first).to_be_visible()
    expect(card.trace).to_be_visible()
    expect(card.toggle).to_be_visible()
    expect(demo.composer).to_have_value("Half a question")


@pytest.mark.slow
@pytest.mark.spec("004 flags")
def test_trace_left_out_comes_when_asked_for(visit: Visit, serve: MakeSite, model: ContractHandle) -> None:
    demo, card = asks(visit, serve, model, REASONING_TOOL_TRACE_DEFAULT="false")
    expect(card.summary).to_be_visible()
    expect(card.trace).to_have_count(0)
    assert "searchFilings" not in heard(demo.watch.frames) + demo.page.content()

    card.root.get_by_role("button", name="Show steps").click()

    expect(card.trace).to_be_visible()
    card.opens_trace()
    expect(card.steps.first).to_contain_text("searchFilings")
