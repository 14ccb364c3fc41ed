"""Is a request let in, in which mode, and which scripted reply would it get? The rules are asked here, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract_server.knobs import Knobs
from tests.contract_server.modes import MODES, mode_of_model
from tests.contract_server.record import Record, conversation_keys, conversation_of, turns_of
from tests.contract_server.rules.base import CHAT_PATH, Asked, Refusal, own, verdict
from tests.contract_server.rules.general import G1, G2, bearer_of, read_object, unknown_model
from tests.contract_server.script import Pending, Script
from tests.contract_server.state import State
from tests.contract_server.wire import HttpRequest

EXHAUSTED = Refusal("The script has no reply left.", "contract_script_exhausted", status=500, type="server_error")

ITEMS_IN_CHAT = own("items_in_chat", "The next reply of the script has items, which only Responses has.", status=500)


class RefusedError(Exception):
    """A request is not let in; ``rule`` is the id that the answer and the record name."""

    def __init__(self, rule: str, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.rule = rule
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that broke no rule, and its reply, which is still in the queue."""

    asked: Asked
    pending: Pending


def admit(state: State, request: HttpRequest, record: Record) -> Admitted:
    """Fill in the record and return the reply. Raises RefusedError."""
    body = read_object(request.body)
    if body is None:
        raise RefusedError("G1", G1)
    _identify(state, record, body)
    if not bearer_of(request.headers):
        raise RefusedError("G2", G2)
    record.mode = _mode_of(state.script, record)
    pending = state.script.next_for(record.mode, turns_of(body))
    if pending and pending.reply.mode and "x-contract-mode" not in request.headers:
        record.mode = _known_mode(pending.reply.mode)
    asked = Asked(body, request.headers, record.model, record.mode, _knobs(state, pending), state.ledger, record)
    _check(asked, request.path)
    if pending is None:
        raise RefusedError("script", EXHAUSTED)
    if pending.reply.items is not None and request.path == CHAT_PATH:
        raise RefusedError("items", ITEMS_IN_CHAT)
    return Admitted(asked, pending)


def require_bearer(headers: Mapping[str, str]) -> None:
    """G2 alone, for requests without a body. Raises RefusedError."""
    if not bearer_of(headers):
        raise RefusedError("G2", G2)


def _identify(state: State, record: Record, body: Mapping[str, Any]) -> None:
    record.body = body
    record.model = body["model"]
    record.keys = conversation_keys(body, record.headers)
    record.conversation = conversation_of(body, record.headers)
    state.note_overlaps(record)
    state.cache.measure(record)


def _mode_of(script: Script, record: Record) -> str:
    given = record.headers.get("x-contract-mode") or script.source.mode or script.source.models.get(record.model)
    if given:
        return _known_mode(given)
    mode = mode_of_model(record.model)
    if mode is None:
        raise RefusedError("model", unknown_model(record.model))
    return mode


def _known_mode(name: str) -> str:
    if name not in MODES:
        raise RefusedError("mode", own("unknown_mode", f"There is no mode {name}; there are: {', '.join(MODES)}."))
    return name


def _knobs(state: State, pending: Pending | None) -> Knobs:
    return Knobs.read(state.script.source.knobs, pending.reply.knobs if pending else {})


def _check(asked: Asked, path: str) -> None:
    mode = MODES[asked.mode]
    if mode.path != path:
        raise RefusedError("path", own("wrong_endpoint", f"This model is only served at {mode.path}.", "model"))
    if broken := verdict(mode.rules, asked):
        rule, refusal = broken
        raise RefusedError(rule.id, refusal)
