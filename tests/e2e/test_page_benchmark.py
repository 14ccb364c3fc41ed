"""The benchmark of the page runs on something small and says what it promises. Nothing here looks at the times."""

from __future__ import annotations

from playwright.sync_api import Browser

from benchmarks import answering, history, page
from tests.contract_server.fixture import ContractHandle
from tests.e2e.sites import Site


def test_page_is_measured_loading(browser: Browser, offline: Site) -> None:
    figures = page.measure(browser, offline, rounds=1)

    assert figures[0].name == "largest paint"
    assert all(figure.aim is not None and figure.value >= 0 for figure in figures)


def test_answer_is_measured_while_it_is_written(browser: Browser, connected: Site, model: ContractHandle) -> None:
    figures = answering.measure(browser, connected, model, words=90, tokens=400, speeds=(1,))

    values = {figure.name.strip(): figure.value for figure in figures}
    assert "answer of 90 words after long thinking: frames, 95 of 100" in values
    assert values["elements of its card"] > 20
    assert 1 < values["bytes of it over the socket"] < 6  # thrice that where each piece says where it stands
    assert min(values.values()) >= 0


def test_long_history_is_measured_first_whole_and_used(browser: Browser, offline: Site) -> None:
    figures = history.measure(browser, offline, turns=6, cycles=2, rounds=1)

    by_name = {figure.name.strip(): figure.value for figure in figures}
    assert by_name["elements, answers alone"] < by_name["elements, with work behind each answer"]
    assert by_name["listeners"] > 0
