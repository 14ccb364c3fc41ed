"""Thumbs up and down on finished answers: stored, changed, withdrawn, explained."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from chat import eventlog
from chat.cards import build
from chat.models import Feedback, Turn
from reasoning.visibility import Visibility
from tests.factories import client_of, make_conversation, make_turn, open_turn

HTMX = {"HX-Request": "true"}


def say(client: Client, turn: Turn, **form: str) -> str:
    answer = client.post(f"/chats/{turn.conversation_id}/turns/{turn.pk}/feedback/", form, headers=HTMX)
    assert answer.status_code == 200
    return answer.content.decode()


def pressed(html: str) -> list[str]:
    return re.findall(r'value="(good|poor)"\s+aria-pressed="true"', html)


def kept() -> list[tuple[bool, str, str]]:
    return list(Feedback.objects.values_list("is_good", "reason", "note"))


@pytest.fixture
def turn(alice):
    return make_turn(make_conversation(owner=alice))


def test_an_answer_is_called_good_then_poor_then_neither(alice, turn):
    client = client_of(alice)

    assert pressed(say(client, turn, verdict="good")) == ["good"]
    assert kept() == [(True, "", "")]
    assert pressed(say(client, turn, verdict="poor")) == ["poor"]
    assert kept() == [(False, "", "")]
    assert pressed(say(client, turn, verdict="poor")) == []
    assert kept() == []


def test_a_reason_and_a_note_are_added(alice, turn):
    client = client_of(alice)
    asked = say(client, turn, verdict="poor")

    thanked = say(client, turn, reason="unsupported", note="  Not in Item 7. ")

    assert '<details class="feedback-reason" open>' in asked
    assert "Thank you" in thanked
    assert kept() == [(False, "unsupported", "Not in Item 7.")]


@pytest.mark.parametrize(("reason", "note"), [("correct", "x" * 5000), ("'; --", "a\x00b"), ("", "")])
def test_what_is_not_offered_or_too_long_is_cut(alice, turn, reason, note):
    client = client_of(alice)
    say(client, turn, verdict="poor")

    say(client, turn, reason=reason, note=note)

    [(_good, kept_reason, kept_note)] = kept()
    assert kept_reason == ""
    assert kept_note == note.replace("\x00", "")[:1000]


@pytest.mark.parametrize("form", [{}, {"verdict": "great"}])
def test_an_odd_form_changes_nothing(alice, turn, form):
    say(client_of(alice), turn, **form)

    assert kept() == []


def test_without_script_it_is_a_303_back_to_the_card(alice, turn):
    path = f"/chats/{turn.conversation_id}/turns/{turn.pk}/feedback/"

    answer = client_of(alice).post(path, {"verdict": "good"})

    assert (answer.status_code, answer["Location"]) == (303, f"/chats/{turn.conversation_id}/#m-{turn.public_id}")


def test_a_running_answer_accepts_no_feedback(alice):
    conversation = make_conversation(owner=alice)
    running = open_turn(conversation.pk, text="Why?")
    path = f"/chats/{conversation.pk}/turns/{running.pk}/feedback/"

    assert client_of(alice).post(path, {"verdict": "good"}).status_code == 404


@pytest.mark.spec("product 13")
def test_the_line_below_an_answer_says_what_it_cost(alice, settings):
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="Why?")
    figures = {"input_tokens": 812, "output_tokens": 750, "reasoning_tokens": 340}
    eventlog.close_turn(turn, [], status="completed", **figures)
    Turn.objects.update(ended_at=turn.started_at + timedelta(seconds=6.1))
    [rows] = eventlog.turns(conversation.pk)

    assert (
        build.answer_card(rows, Visibility()).actions.usage_label
        == "Input: 812 tokens\nReasoning: 340 tokens\nOutput: 410 tokens\nDuration: 6.1 s"
    )
    hidden = Visibility(reasoning_possible=False)
    assert (
        build.answer_card(rows, hidden).actions.usage_label == "Input: 812 tokens\nOutput: 410 tokens\nDuration: 6.1 s"
    )
    # What a service doesn't count is left out
    for known, line in (("input_tokens", "Input: 812 tokens\n"), ("output_tokens", "Output: 750 tokens\n"), ("", "")):
        Turn.objects.update(**{name: value if name == known else None for name, value in figures.items()})
        [rows] = eventlog.turns(conversation.pk)
        assert build.answer_card(rows, hidden).actions.usage_label == f"{line}Duration: 6.1 s"
