"""The envelope: what one viewer may get of an answer."""

from __future__ import annotations

import pytest

from reasoning.envelope import AnswerRecord, envelope
from reasoning.visibility import Visibility

RECORD = AnswerRecord(
    id="t",
    status="complete",
    finish_reason="stop",
    model="m",
    answer="Yes.",
    summary=("Looked.",),
    summary_source="model",
    trace=(),
    citations=(),
    thinking_tokens=3,
    input_tokens=None,
    output_tokens=None,
    reasoning_tokens=None,
)
THINKING = {"text": "Hm.", "tokensEst": 1, "truncated": False}


@pytest.mark.spec("004 envelope")
def test_scratchpad_needs_visibility() -> None:
    assert "scratchpad" not in envelope(RECORD, Visibility(), scratchpad="x")
    assert envelope(RECORD, Visibility(scratchpad=True), scratchpad="x")["scratchpad"] == "x"


@pytest.mark.spec("004 envelope")
@pytest.mark.parametrize(
    ("thinking", "is_there"), [("excerpt", True), ("whole", True), ("withheld", False), ("none", False)]
)
def test_thinking_needs_visibility(thinking: str, *, is_there: bool) -> None:
    form = envelope(RECORD, Visibility(thinking=thinking), thinking=THINKING)  # type: ignore[arg-type]

    assert ("thinking" in form) is is_there


@pytest.mark.spec("004 envelope")
def test_hidden_summary_and_trace_are_empty() -> None:
    form = envelope(RECORD, Visibility(summary=False, trace=False))

    assert (form["reasoningSummary"], form["toolTrace"]) == ([], [])
    assert "summarySource" not in form
