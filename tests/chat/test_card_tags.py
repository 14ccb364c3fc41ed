"""Cards that rest are drawn once and remembered, each as its viewer may see it; others are drawn each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.template import Context, Template
from django.utils.safestring import SafeString
from django.utils.translation import override

from chat.cardviews import AnswerView, FeedbackView, ThinkingView
from chat.templatetags import cards
from reasoning.policy import Visibility
from tests.chat.card_samples import ANSWER, LIVE, QUESTION

pytestmark = pytest.mark.urls("tests.chat.card_samples")
OPENED = replace(ANSWER, thinking=ThinkingView("Thought", 2, "/t/", "one", is_open=True))
JUDGED = replace(ANSWER, feedback=FeedbackView("a1", verdict="good"))
LONG = replace(ANSWER, answer_html=SafeString("<p>" + "x" * cards.MAX_REMEMBERED_CHARS + "</p>"))
ON_REQUEST = replace(ANSWER, sees=Visibility(trace=False, trace_on_request=True))


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    cards._remembered.cache_clear()
    yield
    cards._remembered.cache_clear()


def drawn(view: AnswerView, page: str = "of-this-page") -> SafeString:
    template = Template("{% load cards %}{% draw_question question %}{% draw_answer card csrf_token %}")
    html: SafeString = template.render(Context({"question": QUESTION, "card": view, "csrf_token": page}))
    return html


def remembered() -> int:
    return cards._remembered.cache_info().currsize


def test_card_that_rests_is_drawn_once() -> None:
    first = drawn(ANSWER)

    assert drawn(replace(ANSWER), "another") == first
    assert cards._remembered.cache_info().hits == 2
    assert 'id="m-a1-q"' in first
    assert "It <strong>met</strong> them." in first


@pytest.mark.parametrize(
    "view", [LIVE, OPENED, JUDGED, ON_REQUEST, LONG], ids=["live", "opened", "judged", "on request", "long"]
)
def test_card_that_changes_or_is_long_or_holds_what_is_its_page_s_own_is_not_kept(view: AnswerView) -> None:
    drawn(view)

    assert remembered() == 1  # the question


def test_token_of_one_page_is_not_on_another() -> None:
    assert "of-this-page" in drawn(JUDGED)
    assert "of-this-page" not in drawn(JUDGED, "another")


def test_each_viewer_gets_what_they_may_see() -> None:
    whole = drawn(ANSWER)
    withheld = drawn(replace(ANSWER, sees=Visibility(thinking="withheld"), thinking=ThinkingView("Thought", 9, "")))

    assert "data-ai-reasoning-toggle" in whole
    assert "data-ai-reasoning-toggle" not in withheld


def test_each_language_has_its_own() -> None:
    english = drawn(ANSWER)

    with override("de"):
        assert drawn(ANSWER) != english
