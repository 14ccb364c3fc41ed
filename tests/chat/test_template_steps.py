"""The steps of a card: closed at rest, fetched when opened, each state an icon and a word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chat.cardviews import FeedbackView
from reasoning.policy import Visibility
from tests.chat.card_samples import (
    ANSWER,
    BARE,
    QUESTION,
    STEP,
    all_of,
    card,
    draw,
    one,
    words,
)

pytestmark = pytest.mark.urls("tests.chat.card_samples")


@pytest.mark.spec("004 trace")
def test_trace_is_closed_and_shows_masks_and_citations() -> None:
    done = card(ANSWER)
    trace = one(done, "[data-tool-trace]")

    assert trace.tag == "details"
    assert trace.get("open") is None
    assert len(all_of(trace, "[data-tool-step]")) == 1
    assert words(all_of(trace, ".mask")) == "••• hidden (key) u***@domain.com"
    assert one(trace, "[data-citation]").get("href") == "/filings/x/#item-7-p31"
    assert one(done, "[data-copy-trace]").get("data-copy-trace") == "/trace/a1/"


@pytest.mark.spec("004 trace")
def test_folded_steps_come_when_the_trace_is_opened() -> None:
    trace = one(card(replace(ANSWER, steps=(), steps_url="/steps/a1/")), "[data-tool-trace]")
    later = one(trace, "[hx-get=/steps/a1/]")

    assert later.get("hx-trigger") == "toggle from:closest details once"
    assert later.get("href") == "?open=a1#m-a1-steps"  # without script
    assert words(all_of(trace, "summary")) == "1 step · 4 results · 0.4 s"


@pytest.mark.parametrize("state", ["queued", "running", "done", "failed", "cancelled", "denied"])
def test_step_state_is_an_icon_and_a_word(state: str) -> None:
    step = one(draw("chat/_step.html", step=replace(STEP, state=state, state_label="In words")), "[data-tool-step]")

    assert step.get("data-state") == state
    assert "In words" in words([step])
    assert len(all_of(step, "[data-icon]")) == 1


def test_closed_card_is_light() -> None:
    """A question and an answer that is short: ui bar H2 allows both 36 with all that a model wrote."""
    closed = replace(ANSWER, steps=(), steps_url="/steps/a1/", feedback=FeedbackView("a1"))
    asked = draw("chat/_question.html", question=replace(QUESTION, edit_url="/edit/a1/"))[0]

    assert len(all_of(card(closed), "*")) + len(all_of(asked, "*")) <= 47


def test_trace_on_request_is_asked_for_by_a_button() -> None:
    asked = replace(BARE, sees=Visibility(trace=False, trace_on_request=True), steps_detail="4 results")

    button = one(card(asked), "[data-trace-request]")

    assert button.getparent().get("hx-post")
    assert all_of(card(replace(asked, steps_detail="")), "[data-trace-request]") == []
