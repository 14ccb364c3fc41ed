"""The card of an answer that has just begun is what the templates draw for its turn, whichever it is."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from chat.begun import begun_card
from chat.cards import live_answer_card
from chat.live import LiveStep, LiveTurn
from chat.turns import THINKING, WRITING
from reasoning.policy import Visibility

SEES = [
    Visibility(),
    Visibility(scratchpad=True, scratchpad_possible=True, thinking="whole"),
    Visibility(summary=False, trace=False, thinking="withheld"),
    Visibility(summary=False, trace=False, thinking="none", show_reasoning=False),
]
MODELS = ["", "plain-model", '<b>&"4:56', "1971-02-03T04:56:07.000089+00:00", "8070605040", "04:56"]


def begun(**fields: Any) -> LiveTurn:
    known: dict[str, Any] = {
        "id": uuid.uuid4(),
        "conversation_id": uuid.uuid4(),
        "owner_id": 1,
        "number": 1,
        "question": "Why?",
        "model": "plain-model",
        "started_at": datetime.now(UTC),
        "tell": lambda _notice: None,
        "status_text": THINKING,
    }
    return LiveTurn(**{**known, **fields})


def by_template(live: LiveTurn, sees: Visibility) -> str:
    return render_to_string("chat/_card.html", {"card": live_answer_card(live, sees)})


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("sees", SEES)
def test_each_turn_gets_the_card_that_the_template_draws(sees: Visibility, language: str) -> None:
    turns = [
        begun(),
        begun(number=1234, model="other"),
        begun(status_text=WRITING, started_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
    ]

    with override(language):
        for turn in [*turns, *turns]:
            assert begun_card(turn, sees) == by_template(turn, sees)


@pytest.mark.parametrize("model", MODELS)
def test_model_may_be_named_as_it_likes(model: str) -> None:
    turn = begun(model=model, number=3)

    assert begun_card(turn, Visibility()) in (None, by_template(turn, Visibility()))


@pytest.mark.parametrize(
    "fields",
    [
        {"frozen": ["<p>One.</p>"], "answer_told": 4},
        {"answer_told": 4, "tail_pieces": ["One."]},
        {"thinking": ["Hm."], "thinking_chars": 3},
        {"thinking_chars_elsewhere": 3},
        {"steps": [LiveStep("c1", "searchFilings")]},
        {"thought_line": "Looking at debt"},
        {"reads": 3},
        {"_began": -60.0},
    ],
)
def test_turn_that_has_more_to_show_is_left_to_the_template(fields: dict[str, Any]) -> None:
    assert begun_card(begun(**fields), Visibility()) is None
