"""From a scripted reply to a whole response: ids, seals, usage, form; and what the ledger keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import UNSET

from tests.contract_server.ledger import Call, Step
from tests.contract_server.malformed import spoilt
from tests.contract_server.reporting import numbers_of, served_model
from tests.contract_server.responses_plan import Draft, plan_of
from tests.contract_server.responses_stream import (
    Outcome,
    Response,
    Spoken,
    error_frame,
    response_frames,
    text_part,
    whole_response,
)
from tests.contract_server.rules.base import Asked
from tests.contract_server.rules.general import bearer_of
from tests.contract_server.script import Pending, Reply
from tests.contract_server.sealing import Seal, account_of, provisional, seal
from tests.contract_server.state import State
from tests.contract_server.stream import SSE_HEADERS, Answer, json_answer

BEGUN = {"status": "in_progress"}


class _Maker:
    """Gives drafts their ids and seals."""

    def __init__(self, state: State, asked: Asked) -> None:
        self._state = state
        self._asked = asked
        self._account = account_of(bearer_of(asked.headers))
        self.response_id = f"resp_{state.number('resp')}"
        self.serial = state.number("step")

    def spoken(self, draft: Draft, status: str) -> Spoken:
        match draft.kind:
            case "reasoning":
                return self._reasoning(draft)
            case "message":
                parts = [text_part("output_text", text) for text in draft.texts()]
                item = {"type": "message", "id": self._id(draft, "msg"), "role": "assistant", "content": parts}
                return Spoken({**item, "status": status}, draft, {**item, "content": [], **BEGUN})
            case "function_call":
                call_id = draft.call_id or f"call_{self._state.number('call')}"
                item = {"type": "function_call", "id": self._id(draft, "fc"), "call_id": call_id}
                item |= {"name": draft.name, "arguments": draft.texts()[0]}
                return Spoken({**item, "status": status}, draft, {**item, "arguments": "", **BEGUN})
            case "raw":
                return Spoken(draft.raw, draft, draft.raw)

    def _reasoning(self, draft: Draft) -> Spoken:
        id_ = self._id(draft, "rs")
        claim = Seal(self._asked.model, id_, self._account, self.response_id, self.serial)
        sealed = seal(claim) if draft.sealed is None else draft.sealed
        item: dict[str, Any] = {"type": "reasoning", "id": id_, "summary": [], "encrypted_content": sealed}
        hidden = {"encrypted_content": provisional(claim)} if self._asked.knobs.provisional_ciphertext else {}
        announced = {**item, **hidden}
        item["summary"] = [text_part("summary_text", text) for text in draft.texts()]
        if draft.raw_text:
            item["content"] = [text_part("reasoning_text", _raw_text(draft))]
        return Spoken(item | self._asked.knobs.extra_item_keys, draft, announced)

    def _id(self, draft: Draft, prefix: str) -> str:
        return draft.id or f"{prefix}_{self._state.number(prefix)}"


def compose_response(state: State, asked: Asked, pending: Pending) -> Answer:
    """Return the reply as a response in the form asked for; note its items as issued."""
    reply, maker = pending.reply, _Maker(state, asked)
    outcome, plan = _outcome(reply), plan_of(reply, empty_summary=asked.knobs.empty_summary)
    spoken = [maker.spoken(draft, "completed") for draft in plan.drafts[:-1]]
    spoken += [maker.spoken(draft, _last_status(outcome)) for draft in plan.drafts[-1:]]
    state.ledger.issue(_step(asked, maker.serial, spoken))
    response = Response(maker.response_id, served_model(asked, reply), _usage(asked, pending, spoken), _echo(asked))
    settle = partial(state.ledger.settle, maker.serial)
    if not asked.body.get("stream"):
        return replace(json_answer(200, whole_response(response, spoken, outcome)), settle=settle)
    frames = response_frames(response, spoken, outcome, plan.hold, asked.knobs)
    answer = Answer(200, SSE_HEADERS, spoilt(frames, pending, asked.record), streamed=True, delay_ms=reply.delay_ms)
    return replace(answer, settle=settle, error_event=partial(error_frame, response))


def _outcome(reply: Reply) -> Outcome | None:
    if reply.finish is UNSET:
        return Outcome()
    return None if reply.finish is None else Outcome.read(reply.finish)


def _last_status(outcome: Outcome | None) -> str:
    return "incomplete" if outcome and outcome.status == "incomplete" else "completed"


def _echo(asked: Asked) -> dict[str, Any]:
    given = asked.body.get("reasoning")
    return {"effort": None, "summary": None, **(given if isinstance(given, Mapping) else {})}


def _step(asked: Asked, serial: int, spoken: list[Spoken]) -> Step:
    calls = [one.item for one in spoken if one.draft.kind == "function_call"]
    return Step(
        serial=serial,
        model=asked.model,
        reasoning="".join(_raw_text(one.draft) for one in spoken),
        content="".join(text for one in spoken if one.draft.kind == "message" for text in one.draft.texts()),
        calls=tuple(Call(one["call_id"], one["name"], one["arguments"]) for one in calls),
        items=tuple(one.item for one in spoken),
        status=tuple(text for one in spoken if one.draft.kind == "reasoning" for text in _accounts(one.draft)),
    )


def _accounts(draft: Draft) -> set[str]:
    """Return a summary's parts and what a client makes of them, so that it cannot pass for a thought."""
    return {*draft.texts(), "".join(draft.texts()), "\n\n".join(draft.texts())} - {""}


def _raw_text(draft: Draft) -> str:
    return "".join(piece.text for piece in draft.raw_text)


def _usage(asked: Asked, pending: Pending, spoken: list[Spoken]) -> dict[str, Any] | None:
    thought = "".join("".join(one.draft.texts()) for one in spoken if one.draft.kind == "reasoning")
    said = "".join("".join(one.draft.texts()) for one in spoken if one.draft.kind != "reasoning")
    numbers = numbers_of(asked, pending, thought + said, thought)
    if pending.reply.usage_location == "none":
        return None
    return {
        "input_tokens": numbers.input,
        "input_tokens_details": {"cached_tokens": numbers.cached},
        "output_tokens": numbers.output,
        "output_tokens_details": {"reasoning_tokens": numbers.reasoning},
        "total_tokens": numbers.input + numbers.output,
    }
