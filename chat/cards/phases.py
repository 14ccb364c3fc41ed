"""The steps of an answer as an account: consecutive steps under one heading, calls made together side by side."""

from __future__ import annotations

from collections.abc import Sequence

from chat.cards import labels
from chat.cards.view_models import PhaseView, StepGroupView, StepState, StepView, dom_id

FEW_STEPS = 5  # as many are read at a glance
MAX_ABOUT = 3

Run = list[Sequence[StepView]]  # groups of steps


def divide(message_id: str, steps: Sequence[StepView]) -> tuple[PhaseView, ...]:
    """Return the phases of a card's steps; none where its steps are few and were made one by one."""
    groups: list[list[StepView]] = []
    for step in steps:
        if groups and step.response is not None and groups[-1][-1].response == step.response:
            groups[-1].append(step)
        else:
            groups.append([step])
    if len(steps) <= FEW_STEPS:
        return (PhaseView(tuple(map(_group, groups))),) if len(groups) < len(steps) else ()

    runs: list[Run] = []
    for group in groups:
        if runs and _tools(runs[-1]) == _tools([group]):
            runs[-1].append(group)
        else:
            runs.append([group])
    # Single calls of different tools in turn, such as search, read, search, read, are one phase too.
    joined: list[Run] = []
    is_single = False
    for run in runs:
        was_single, is_single = is_single, len(run) == len(run[0]) == 1 and bool(run[0][0].tool)
        if was_single and is_single:
            joined[-1] += run
        else:
            joined.append(run)

    phases = []
    start = 0
    for run in joined:
        phases.append(_phase(dom_id(message_id, f"phase-{start}"), run, is_open=len(joined) == 1))
        start += sum(map(len, run))
    return tuple(phases)


def _phase(phase_id: str, run: Run, *, is_open: bool) -> PhaseView:
    groups = tuple(map(_group, run))
    steps = [step for group in run for step in group]
    if not steps[0].tool:  # it represents those that are not shown
        return PhaseView(groups)
    about = tuple(dict.fromkeys(step.about for step in steps if step.about))
    return PhaseView(
        groups,
        id=phase_id,
        heading=labels.phase_heading(steps),
        detail=labels.phase_detail(steps),
        about=about[:MAX_ABOUT],
        more_label=labels.more_label(len(about) - MAX_ABOUT),
        state=_state(steps),
        problems=labels.problems(steps),
        is_open=is_open,
    )


def _group(steps: Sequence[StepView]) -> StepGroupView:
    return StepGroupView(tuple(steps), labels.together_label(len(steps)) if len(steps) > 1 else "")


def _state(steps: Sequence[StepView]) -> StepState:
    """Return the state of a phase: of the call that runs now, else done where any step is."""
    states = [step.state for step in steps]
    unfinished = next((step.state for step in steps if not step.has_ended), None)
    return unfinished or ("done" if "done" in states else states[0])


def _tools(run: Run) -> set[str]:
    return {step.tool for group in run for step in group}
