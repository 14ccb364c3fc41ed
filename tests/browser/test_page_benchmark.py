"""The benchmark of the page runs on something small and says what it promises. Nothing here looks at the times."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.benchmarks import answering, history, lengthy, page, wire
from tests.browser.sites import Site
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.slow


def test_page_is_measured_loading(browser: Browser, offline: Site) -> None:
    figures = page.measure(browser, offline, rounds=1)

    assert figures[0].name == "largest paint"
    assert all(figure.aim is not None and figure.value >= 0 for figure in figures)


def test_answer_is_measured_while_it_is_written(browser: Browser, connected: Site, model: ContractHandle) -> None:
    figures = answering.measure(browser, connected, model, words=90, tokens=400, speeds=(1,))

    values = {figure.name.strip(): figure.value for figure in figures}
    assert "answer of 90 words after thinking: updates a second" in values
    assert min(values.values()) >= 0


def test_long_answer_is_measured_at_its_end(browser: Browser, connected: Site, model: ContractHandle) -> None:
    small = {"tokens": 600, "steady": 60, "thought_chars": 2_000, "rest_ms": 100}
    figures = lengthy.measure(browser, connected, model, **small, speeds=(1,))

    values = {figure.name.strip(): figure.value for figure in figures}
    assert "end of 600 tokens, thinking open: frames that were late" in values
    assert values["elements that the thinking brought"] == 0
    assert values["elements of its card"] > 20


def test_what_an_answer_sends_is_counted(browser: Browser, connected: Site, model: ContractHandle) -> None:
    figures = wire.measure(browser, connected, model, words=300, few=60)

    whole, *parts = (figure.value for figure in figures[:5])
    assert whole > 1
    assert whole == pytest.approx(sum(parts))
    assert figures[2].name.strip() == "finished blocks"


def test_long_history_is_measured_first_whole_and_used(browser: Browser, offline: Site) -> None:
    figures = history.measure(browser, offline, turns=6, cycles=2, rounds=1)

    by_name = {figure.name.strip(): figure.value for figure in figures}
    assert by_name["elements, answers alone"] < by_name["elements, with work behind each answer"]
    assert by_name["listeners"] > 0
