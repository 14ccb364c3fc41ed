"""The benchmark of the page runs on something small and says what it promises. Nothing here looks at the times."""

import pytest

from tests.benchmarks import page

pytestmark = pytest.mark.slow


def test_page_is_measured_loading(browser, offline):
    figures = page.measure_loading(browser, offline, rounds=1)

    assert figures[0].name == "largest paint"


def test_answer_is_measured_while_it_is_streamed(browser, connected, model):
    figures = page.measure_answer(browser, connected, model, chars=1_500)

    values = {figure.name.strip(): figure.value for figure in figures}
    assert values["updates a second"] > 0
    assert values["all bytes over the socket"] > 1


def test_long_history_is_measured_first_whole_and_used(browser, offline):
    figures = page.measure_history(browser, offline, turns=6, cycles=2)

    values = {figure.name.strip(): figure.value for figure in figures}
    assert values["elements, answers alone"] < values["elements, with work behind each answer"]
