"""Each benchmark runs on something small and says what it promises. Nothing here looks at how long it took."""

import json
import shutil
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync

from chat.turns.heartbeat import CHECKPOINT_S
from tests.benchmarks import analyst, filings, helpers, normaliser, redaction, rendering, sizing, turn, ways

FILING = Path(__file__).resolve().parent.parent / "chat" / "filings" / "demo" / "northwind-tidal-power-10k-2025.html"
QUESTIONS = [
    {
        "id": "q1",
        "question": "How many full-time employees did Northwind Tidal Power have at December 31, 2025?",
        "document": FILING.name,
        "accept_sections": ["Item 1"],
        "must_quote": "212 full-time employees",
        "kind": "content",
    },
    {"id": "q2", "question": "What did Zyzzyva Motors earn in 1987?", "must_quote": None, "kind": "none"},
]


@pytest.fixture
def folder(tmp_path):
    shutil.copy(FILING, tmp_path)
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    return tmp_path


def test_benchmarks_of_the_core_run_on_something_small():
    tables = {
        "answer": normaliser.measure(400, rounds=1),
        "answer of 0.585938 KB with one step of trace": turn.measure(600, rounds=1),
        "ten arguments": redaction.measure(steps=2, chars=200, hostile_chars=50, rounds=1),
        "1 KB, whole": rendering.measure([1_024], rounds=1),
    }

    assert {name: figures[0].name for name, figures in tables.items()} == {name: name for name in tables}


@pytest.mark.django_db(transaction=True)
def test_search_and_analyst_are_measured_on_questions(folder):
    helpers.load_filings(folder)
    found = filings.measure(folder)
    outcomes = async_to_sync(analyst.ask_all)(QUESTIONS)

    assert (found.questions, found.quote_at_5) == (1, 1)
    assert [one.is_right for one in outcomes] == [True, True]
    assert analyst.rows(outcomes)[3].value == 1


@pytest.mark.django_db(transaction=True)
async def test_ways_through_the_server_are_measured():
    figures = await ways.measure(["river", "stone"])

    assert [figure.name for figure in figures[::3]] == [
        "a plain word: calls",
        "a question, until its request left: calls",
        "a reload, in the event loop's thread: calls",
    ]
    assert all(figure.value > 1 for figure in figures)


def test_needs_of_many_streams_follow_from_those_of_one_process():
    needs = {figure.name: figure.value for figure in sizing.size(10_000)}
    twice = {figure.name: figure.value for figure in sizing.size(20_000)}

    assert sizing.MEASURED.checkpoint_s == CHECKPOINT_S
    assert needs["turns that begin"] == pytest.approx(10_000 * 50 / 300)
    assert needs["messages through Redis"] == pytest.approx(500_000 * sizing.MEASURED.frames_a_token)
    assert needs["streams of a process"] == pytest.approx(10_000 / needs["processes, each with a processor"])
    for name in needs.keys() - {"streams of a process"}:
        assert twice[name] == pytest.approx(2 * needs[name], rel=0.02)


@pytest.mark.parametrize("benchmark", [analyst, filings])
def test_missing_samples_are_reported(benchmark, capsys):
    benchmark.main(None)  # type: ignore[attr-defined]

    assert "skipped: no sample filings: SHARED_DIR" in capsys.readouterr().out
