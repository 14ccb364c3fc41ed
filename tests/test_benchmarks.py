"""Each benchmark runs on something small and says what it promises. Nothing here looks at how long it took."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync

from tests.benchmarks import analyst, filings, normaliser, redaction, rendering, samples, turn
from tests.benchmarks.figures import Figure, show
from tests.benchmarks.texts import answer, pieces, trace

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
def folder(tmp_path: Path) -> Path:
    shutil.copy(FILING, tmp_path)
    (tmp_path / "questions.json").write_text(json.dumps(QUESTIONS))
    return tmp_path


def value_of(figures: list[Figure], name: str) -> float:
    return next(figure.value for figure in figures if figure.name == name)


def test_normaliser_is_measured_beside_its_yardstick() -> None:
    figures = normaliser.measure(400, rounds=1)

    assert figures[0].name == "answer, deltas of 4 characters"
    assert "cost of 0.0016 MB over cost of 0.0004 MB" in {figure.name for figure in figures}
    assert all(figure.value >= 0 for figure in figures)


def test_turn_is_measured_in_pieces_of_every_size() -> None:
    figures = turn.measure(600, rounds=1)

    assert [figure.unit for figure in figures] == ["ms", "ms", "ms", "ms", "µs"]


def test_redaction_is_measured_by_step_trace_and_text() -> None:
    figures = redaction.measure(steps=2, chars=200, hostile_chars=50, rounds=1)

    assert [figure.aim for figure in figures[:2]] == [1, 10]
    assert figures[-1].name.startswith("worst 0.0488281 KB of one run")


def test_rendering_is_measured_whole_and_streamed() -> None:
    figures = rendering.measure([1_024], rounds=1)

    assert [figure.name for figure in figures] == [
        "1 KB of prose, whole",
        "  streamed",
        "1 KB of dense, whole",
        "  streamed",
    ]


@pytest.mark.django_db
def test_search_is_measured_on_questions(folder: Path) -> None:
    samples.load(folder)
    figures = filings.rows(filings.measure(folder), load_s=0.1, vendor="sqlite")

    assert value_of(figures, "questions") == 1
    assert value_of(figures, "the fact in the first five") == 1


@pytest.mark.django_db(transaction=True)
def test_analyst_is_measured_on_questions(folder: Path) -> None:
    samples.load(folder)
    outcomes = async_to_sync(analyst.ask_all)(QUESTIONS)
    figures = analyst.rows(outcomes)

    assert value_of(figures, "a cited passage holds the fact") == 1
    assert value_of(figures, "unanswerable, refused") == 1
    assert analyst.wrong(outcomes) == []


@pytest.mark.parametrize("benchmark", [analyst, filings])
def test_missing_samples_are_said(benchmark: object, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.main(None)  # type: ignore[attr-defined]

    assert "skipped: no sample filings: SHARED_DIR" in capsys.readouterr().out


def test_table_says_figure_unit_aim_and_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    show(
        "Title",
        [
            Figure("quick", 12.34, "ms", aim=20, ratio=0.5, beside="slow"),
            Figure("slow", 24_680, "ms", aim=20),
            Figure("found", 0.9, "of 1", aim=0.8, at_least=True),
        ],
        "a note",
    )

    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[2:5] == [
        ["quick", "12.3", "ms", "≤ 20", "0.5 × slow"],
        ["slow", "24,680", "ms", "≤ 20, missed"],
        ["found", "0.9", "of 1", "≥ 0.8"],
    ]
    assert cells[5] == ["a note"]


def test_texts_have_the_length_that_was_asked_for() -> None:
    text = answer(10_000, has_sections=True)

    assert len(text) == 10_000
    assert "".join(pieces(text, 7)) == text
    assert all(len(step["args"]) == 10 for step in trace(3))
