"""Each flag of the site as a person meets it, and on the wire to the model. Spec 004 flags, product 4, 13."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.cards import AnswerCard
from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle
from tests.frame_words import heard

LONG_THOUGHT = "Weighing one clause against another. " * 60 + "The tail of it."


def asks(visit: Visit, serve: MakeSite, model: ContractHandle, **flags: str) -> tuple[Person, AnswerCard]:
    """Have one question answered, with thinking and a tool call, on a site with these flags."""
    model.script(
        [
            reply(thinks(LONG_THOUGHT), calls("searchFilings", '{"query":"covenants"}')),
            reply(thinks("That will do."), says(opening(), "It says so.")),
        ]
    )
    demo = visit(serve(OPENAI_BASE_URL=model.base_url, **flags))
    demo.starts_chat()
    return demo, demo.asks("Well?").ends()


@pytest.mark.slow
@pytest.mark.spec("004 flags")
def test_reasoning_disabled_shows_asks_and_sends_none_of_it(
    visit: Visit, serve: MakeSite, model: ContractHandle
) -> None:
    demo, card = asks(visit, serve, model, REASONING_ENABLED="false")

    expect(card.answer).to_contain_text("It says so.")
    for part in (card.summary, card.trace, card.thinking, card.toggle, demo.reasoning_switch, demo.scratchpad_switch):
        expect(part).to_have_count(0)
    assert "Reasoning Summary" not in json.dumps([one["body"] for one in model.requests()])
    assert "Weighing" not in heard(demo.watch.frames)
    demo.page.reload()
    expect(demo.page.locator("#connection")).to_be_hidden()
    expect(card.summary.or_(card.trace).or_(card.thinking)).to_have_count(0)


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


@pytest.mark.slow
@pytest.mark.spec("001 BR-003")
@pytest.mark.parametrize("shown", ["excerpt", "full", "hidden"])
def test_thinking_is_cut_whole_or_hidden(visit: Visit, serve: MakeSite, model: ContractHandle, shown: str) -> None:
    demo, card = asks(visit, serve, model, REASONING_THINKING_FOR_USERS=shown)

    if shown == "hidden":
        expect(card.thinking).to_have_count(0)
        demo.page.reload()
        expect(card.root).to_contain_text("Reasoning is hidden for your account")
        expect(card.bullets.first).to_be_visible()
    else:
        card.opens_thinking()
        expect(card.thought).to_contain_text("The tail of it." if shown == "full" else "…(truncated)")
        assert int(card.thinking.get_attribute("data-token-est") or 0) > len(LONG_THOUGHT) // 4

    sent = demo.page.content() + heard(demo.watch.frames)
    assert ("The tail of it." in sent) == (shown == "full")
    assert ("Weighing" in sent) == (shown != "hidden")
