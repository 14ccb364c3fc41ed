"""One answered turn, from the public payloads of its events, and its JSON envelope. Spec 004 envelope.

camelCase is used in ``envelope`` and in the JSON forms of trace and citations only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reasoning.citations import Citation, citation_from_json, citation_to_json
from reasoning.events import HistoryCut
from reasoning.stream.output import BLOCK_BREAK
from reasoning.trace import ToolTraceStep, step_from_json, step_to_json, within_room
from reasoning.visibility import Visibility

EnvelopeStatus = Literal["streaming", "complete", "stopped", "error", "interrupted"]

_STATUS: dict[str, EnvelopeStatus] = {
    "running": "streaming",
    "completed": "complete",
    "aborted": "stopped",
    "iteration_capped": "stopped",
    "errored": "error",
    "interrupted": "interrupted",
}
FinishReason = Literal["stop", "length", "content_filter", "step_limit", "user_stop", "error", "interrupted"]

# Why an answer ended: by the code of its turn's end where that is listed, else by the turn's status.
FINISH_REASON_OF_CODE: dict[str, FinishReason] = {"length": "length", "content_filter": "content_filter"}
FINISH_REASON_OF_STATUS: dict[str, FinishReason] = {
    "completed": "stop",
    "aborted": "user_stop",
    "iteration_capped": "step_limit",
    "errored": "error",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What a turn's public halves say of its answer. Token counts are None where nothing was reported."""

    id: str
    status: EnvelopeStatus
    finish_reason: FinishReason | None  # None while the turn runs
    model: str
    answer: str
    summary: tuple[str, ...]
    summary_source: str
    trace: tuple[ToolTraceStep, ...]
    citations: tuple[Citation, ...]
    thinking_tokens: int
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    history_cut: HistoryCut = ""


def answer_record(
    events: Iterable[Mapping[str, Any]],
    *,
    turn_id: str,
    turn_status: str,
    model: str,
    error_code: str = "",
    summary_source: str = "",
    tokens: tuple[int | None, int | None, int | None] = (None, None, None),
) -> AnswerRecord:
    """Put the record together. ``events`` are public halves with ``type``; ``tokens`` are input, output, reasoning.

    ``error_code``: why the turn failed, or why its answer is not complete.
    """
    listed = list(events)
    messages = [event for event in listed if event["type"] == "assistant_message"]
    return AnswerRecord(
        id=turn_id,
        status=_STATUS[turn_status],
        finish_reason=finish_reason(turn_status, error_code),
        model=model,
        answer=answer_text(messages).rstrip(),
        summary=next((tuple(message["summary"]) for message in reversed(messages) if message["summary"]), ()),
        summary_source=summary_source,
        trace=within_room(
            step_from_json(event["trace"], response=event.get("step")) for event in listed if event.get("trace")
        ),
        citations=tuple(citation_from_json(form) for message in messages for form in message["citations"]),
        thinking_tokens=sum(event.get("tokens_est", 0) for event in listed if event["type"] == "reasoning"),
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        reasoning_tokens=tokens[2],
        history_cut=history_cut(listed),
    )


def answer_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of all messages: a blank line between two, none where one continues a text that was cut off."""
    text = ""
    for message in messages:
        text += BLOCK_BREAK if text and message["text"] and not message.get("continues") else ""
        text += message["text"]
    return text


def history_cut(events: Iterable[Mapping[str, Any]]) -> HistoryCut:
    """Return what became of earlier messages in this turn, from the public halves of its events. Product 23."""
    cuts = [event for event in events if event["type"] == "compaction"]
    if any(cut.get("left_out") for cut in cuts):
        return "left out"
    return "summarised" if cuts else ""


def finish_reason(turn_status: str, error_code: str = "") -> FinishReason | None:
    """Return why a turn ended; None while it runs. A failed turn may have any code, and its reason is ``error``."""
    if turn_status in ("errored", "interrupted", "running"):
        return FINISH_REASON_OF_STATUS.get(turn_status)
    return FINISH_REASON_OF_CODE.get(error_code, FINISH_REASON_OF_STATUS[turn_status])


def envelope(
    record: AnswerRecord, sees: Visibility, *, thinking: Mapping[str, Any] | None = None, scratchpad: str | None = None
) -> dict[str, Any]:
    """Return the response envelope for one viewer.

    ``thinking`` is ``{"text", "tokensEst", "truncated"}`` as this viewer may see it. ``scratchpad`` is present only
    where a grant revealed one; an empty key would already say too much.
    """
    form: dict[str, Any] = {
        "id": record.id,
        "status": record.status,
        "finishReason": record.finish_reason,
        "model": record.model,
        "answer": record.answer,
        "citations": [citation_to_json(citation) for citation in record.citations],
        "usage": {
            "inputTokens": record.input_tokens,
            "outputTokens": record.output_tokens,
            "reasoningTokens": record.reasoning_tokens,
        },
        "reasoningSummary": list(record.summary) if sees.summary else [],
        "toolTrace": [step_to_json(step) for step in record.trace] if sees.trace else [],
    }
    # Without the summary, its source would say that there is one.
    if sees.summary:
        form["summarySource"] = record.summary_source or "model"
    if thinking is not None and sees.may_open_thinking:
        form["thinking"] = dict(thinking)
    # Checked again here, although only a grant can have produced the text (product 15).
    if scratchpad is not None and sees.scratchpad:
        form["scratchpad"] = scratchpad
    return form
