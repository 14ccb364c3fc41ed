"""The benchmark of the page runs on something small and says what it promises. Nothing here looks at the times."""

from __future__ import annotations

from playwright.sync_api import Browser

from benchmarks import history, page
from tests.contract_server.fixture import ContractHandle
from tests.e2e.sites import Site


def test_page_is_measured_loading_and_streaming(
    browser: Browser, offline: Site, connected: Site, model: ContractHandle
) -> None:
    figures = page.measure(browser, offline, connected, model, words=90, rounds=1)

    assert figures[0].name == "largest paint"
    assert "answer of 90 words: frames, 95 of 100" in {figure.name for figure in figures}
    assert all(figure.aim is not None and figure.value >= 0 for figure in figures)


def test_long_history_is_measured_first_whole_and_used(browser: Browser, offline: Site) -> None:
    figures = history.measure(browser, offline, turns=30, cycles=2)

    by_name = {figure.name.strip(): figure.value for figure in figures}
    assert by_name["elements, answers alone"] < by_name["elements, with work behind each answer"]
    assert by_name["listeners"] > 0
