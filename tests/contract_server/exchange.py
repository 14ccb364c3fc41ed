"""One request to a model from beginning to end: admitted, answered, recorded."""

from __future__ import annotations

from typing import get_args

from tests.contract_server.admission import Admitted, RefusedError, admit
from tests.contract_server.composing import compose
from tests.contract_server.fault_kinds import Fault, Instead, MalformedSse, Timed
from tests.contract_server.faults import answer_instead, in_place
from tests.contract_server.playing import Player, send_answer
from tests.contract_server.record import Record
from tests.contract_server.state import OpenStream, State
from tests.contract_server.stream import Answer, json_answer
from tests.contract_server.wire import ClientGoneError, Connection, HttpRequest

TIMED = get_args(Timed)


async def exchange(state: State, connection: Connection, request: HttpRequest) -> None:
    """Answer a request and keep the record of it, whichever way it ends. Raises ClientGoneError."""
    record = state.open_record(request)
    stream = state.streams[record.serial] = OpenStream(state, record, connection)
    try:
        await _answer(state, stream, request)
    except ClientGoneError:
        record.closed_early = True
        raise
    finally:
        if state.streams.get(record.serial) is stream:
            del state.streams[record.serial]
        state.close_record(record)


async def _answer(state: State, stream: OpenStream, request: HttpRequest) -> None:
    try:
        admitted = admit(state, request, stream.record)
    except RefusedError as refused:
        await send_answer(stream.connection, refusal_answer(refused, stream.record))
        return
    if instead := in_place(admitted.pending.faults(), admitted.asked):
        await send_answer(stream.connection, _fault_answer(instead, admitted, stream.record))
    else:
        await _reply(state, stream, admitted)


def refusal_answer(refused: RefusedError, record: Record | None = None) -> Answer:
    """Return the refusal as an answer that names its rule, and note it."""
    if record:
        record.verdict = "exhausted" if refused.rule == "script" else "refused"
        record.rule, record.status = refused.rule, refused.refusal.status
    headers = {"X-Contract-Rule": refused.rule}
    return json_answer(refused.refusal.status, refused.refusal.to_json(), headers)


def _fault_answer(fault: Instead, admitted: Admitted, record: Record) -> Answer:
    answer = answer_instead(fault, admitted.asked)
    admitted.pending.spend(fault)
    record.verdict, record.status = "fault", answer.status
    record.faults.append(kind_of(fault))
    return answer


async def _reply(state: State, stream: OpenStream, admitted: Admitted) -> None:
    """Play the reply; put it back into the queue if a fault cuts it short."""
    script, pending, record = state.script, admitted.pending, stream.record
    script.take(pending)
    again = any(isinstance(fault, MalformedSse) and fault.again for fault in pending.faults())
    answer = compose(state, admitted.asked, pending)
    state.cache.remember(record)
    record.verdict, record.status, record.reply = "accepted", answer.status, pending.index

    def spend(fault: Timed) -> None:
        pending.spend(fault)
        record.faults.append(kind_of(fault))

    timed = [fault for fault in pending.faults() if isinstance(fault, TIMED)]
    player = Player(stream, answer, timed, spend)
    try:
        await player.play()
    finally:
        if player.cut_short or again:
            script.put_back(pending)


def kind_of(fault: Fault) -> str:
    """Return the fault's name in scripts."""
    return str(fault.__struct_config__.tag)
