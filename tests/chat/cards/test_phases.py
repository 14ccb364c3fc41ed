"""The steps of an answer as an account: which steps are one phase, and what its heading says."""

from dataclasses import replace
from typing import Any

import pytest

from chat.cards.build import step_view
from chat.cards.phases import FEW_STEPS, divide
from chat.cards.view_models import StepView
from reasoning.trace import step_from_json, step_to_json
from tests.chat.card_samples import ANSWER, card

SEARCH, READ = "searchFilings", "readPassage"


def steps(*responses: list[str], **fields: Any) -> tuple[StepView, ...]:
    """Return finished steps of these tools, one list for each response that made calls."""
    form = {"durationMs": 100, "results": 2, **fields}
    return tuple(
        step_view(step_from_json({**form, "tool": tool, "args": {"query": f"{tool} {n}-{at}"}}, response=n))
        for n, tools in enumerate(responses)
        for at, tool in enumerate(tools)
    )


def headings(*responses: list[str]) -> list[str]:
    return [phase.heading for phase in divide("a1", steps(*responses))]


def running(tool: str, response: int) -> StepView:
    return StepView(tool, "running", "Running", response=response)


def test_few_steps_made_one_by_one_have_no_phases():
    assert divide("a1", steps(*[[SEARCH]] * FEW_STEPS)) == ()


def test_few_steps_made_together_are_marked_without_a_heading():
    [phase] = divide("a1", steps([SEARCH], [READ, READ]))

    assert phase.heading == ""
    assert [group.label for group in phase.groups] == ["", "2 calls made together"]


def test_consecutive_calls_of_one_tool_are_one_phase_with_count_and_time():
    searched, read = divide("a1", steps([SEARCH, SEARCH], [SEARCH], [SEARCH], [READ], [READ]))

    assert (searched.heading, searched.detail) == ("Searched the filings", "4 searches · 8 results · 400 ms")
    assert (read.heading, read.detail) == ("Read passages", "2 passages opened · 4 results · 200 ms")
    assert searched.about == tuple(f"“searchFilings {n}”" for n in ("0-0", "0-1", "1-0"))
    assert searched.more_label == "1 more"


def test_single_calls_of_tools_in_turn_are_one_phase():
    assert headings(*[[SEARCH], [READ]] * 10) == ["Searched the filings, read passages"]
    assert headings(*[[SEARCH], [READ]] * 2, [SEARCH], [SEARCH]) == [
        "Searched the filings, read passages",
        "Searched the filings",
    ]


def test_tool_without_words_of_its_own_is_named():
    assert headings(*[["webFetch"]] * 6) == ["Used webFetch"]


def test_steps_of_unknown_responses_are_not_said_to_be_made_together():
    old = tuple(replace(step, response=None) for step in steps([SEARCH] * 6))

    assert [group.label for phase in divide("a1", old) for group in phase.groups] == [""] * 6


@pytest.mark.parametrize(
    ("status", "state", "label"),
    [("error", "failed", "1 failed"), ("denied", "denied", "1 denied"), ("cancelled", "cancelled", "1 cancelled")],
)
def test_phase_says_how_many_of_its_steps_did_not_end_well(status, state, label):
    bad = replace(steps([SEARCH], status=status)[0], response=9)

    [phase] = divide("a1", (*steps(*[[SEARCH]] * 5), bad))
    assert (phase.state, phase.heading) == ("done", "Searched the filings")
    assert [(problem.state, problem.label) for problem in phase.problems] == [(state, label)]


def test_phase_of_which_every_call_failed_does_not_say_that_it_was_done():
    [phase] = divide("a1", steps(*[[SEARCH]] * 6, status="error"))

    assert (phase.heading, phase.state) == ("Tried to use searchFilings", "failed")


def test_phase_of_the_running_call_says_what_runs():
    done, now = divide("a1", (*steps(*[[SEARCH]] * 5), running(READ, 6)))

    assert (done.state, now.state, now.heading) == ("done", "running", "Reading a passage…")


def test_steps_that_are_not_shown_stay_outside_phases():
    omitted = step_view(step_from_json({"tool": "…", "omitted": 40}))

    *_shown, last = divide("a1", (*steps(*[[SEARCH]] * 6), omitted))
    assert (last.heading, last.groups[0].steps) == ("", (omitted,))


def test_card_lists_phases_with_all_steps_in_them():
    many = steps([SEARCH, SEARCH], *[[SEARCH]] * 4, [READ], [READ])
    root = card(replace(ANSWER, steps=many, phases=divide("a1", many)))

    assert len(root.xpath("//*[@data-tool-step]")) == 8
    assert len(root.xpath("//ol/li[@class='phase']/details/summary")) == 2
    ids = root.xpath("//li[@class='phase']/details/@id")
    assert ids == ["m-a1-phase-0", "m-a1-phase-6"]


def test_json_of_a_step_does_not_name_its_response():
    form = step_to_json(step_from_json({"tool": SEARCH}))

    assert step_to_json(step_from_json({"tool": SEARCH}, response=3)) == form
