"""One request to a model from beginning to end: checked, answered with its faults, recorded."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise

from replay_contract_server.chat import chat_answer
from replay_contract_server.faults import CONNECT, HEADERS, Place, error_answer, error_instead, places
from replay_contract_server.frames import Answer, Frame, json_answer
from replay_contract_server.ledger import account_of
from replay_contract_server.modes import MODES, mode_of_model
from replay_contract_server.responses import response_answer
from replay_contract_server.rules.base import CHAT_PATH, CheckedRequest, Refusal, own, verdict
from replay_contract_server.rules.general import G1, G2, bearer_of, read_object
from replay_contract_server.script import Disconnect, ErrorEvent, MalformedSse, Pending, Stall, TimedFault
from replay_contract_server.state import OpenStream, Record, State
from replay_contract_server.wire import ClientGoneError, Connection, HttpRequest, head_bytes

EXHAUSTED = Refusal("The script has no reply left.", "contract_script_exhausted", status=500, type="server_error")
ITEMS_IN_CHAT = own("items_in_chat", "The next reply of the script has items, which only Responses has.", status=500)


class RefusedError(Exception):
    """A request is refused; ``rule`` is the id that the answer and the record name."""

    def __init__(self, rule: str, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.rule = rule
        self.refusal = refusal

    def answer(self) -> Answer:
        return json_answer(self.refusal.status, self.refusal.to_json(), {"X-Contract-Rule": self.rule})


class CutError(Exception):
    """The answer ends here; ``mode`` as in ``Disconnect``."""

    def __init__(self, mode: str) -> None:
        super().__init__(mode)
        self.mode = mode


async def exchange(state: State, connection: Connection, request: HttpRequest) -> None:
    """Answer a request and record it, whichever way it ends. Raises ClientGoneError."""
    record = state.open_record(request)
    stream = state.streams[record.serial] = OpenStream(state, record, connection)
    try:
        checked, pending = check(state, request, record)
        if fault := error_instead(pending.faults(), checked):
            answer = error_answer(fault, checked)
            pending.spend(fault)
            record.verdict, record.status = "fault", answer.status
            await send_answer(connection, answer)
        else:
            await _reply(state, stream, checked, pending)
    except RefusedError as error:
        record.verdict = "exhausted" if error.rule == "script" else "refused"
        record.rule, record.status = error.rule, error.refusal.status
        await send_answer(connection, error.answer())
    except ClientGoneError:
        record.closed_early = True
        raise
    finally:
        if state.streams.get(record.serial) is stream:
            del state.streams[record.serial]
        state.close_record(record)


def check(state: State, request: HttpRequest, record: Record) -> tuple[CheckedRequest, Pending]:
    """Fill in the record; return the request and its reply, which is still queued. Raises RefusedError."""
    body = read_object(request.body)
    if body is None:
        raise RefusedError("G1", G1)
    record.body, record.model = body, body["model"]
    require_bearer(request.headers)
    mode_name = state.script.source.models.get(record.model) or mode_of_model(record.model)
    if mode_name is None:
        text = f"The model '{record.model}' does not exist or you do not have access to it."
        raise RefusedError("model", Refusal(text, "model_not_found", "model", status=404))
    record.mode, mode = mode_name, MODES[mode_name]
    if mode.path != request.path:
        raise RefusedError("path", own("wrong_endpoint", f"This model is only served at {mode.path}.", "model"))
    account, knobs = account_of(bearer_of(request.headers)), state.script.source.knobs
    checked = CheckedRequest(body, account, record.model, mode_name, state.ledger, record, knobs)
    if broken := verdict(mode.rules, checked):
        rule, refusal = broken
        raise RefusedError(rule.id, refusal)
    pending = state.script.next_for(body.get("messages") or body.get("input"))
    if pending is None:
        raise RefusedError("script", EXHAUSTED)
    if pending.reply.items is not None and request.path == CHAT_PATH:
        raise RefusedError("items", ITEMS_IN_CHAT)
    return checked, pending


def require_bearer(headers: Mapping[str, str]) -> None:
    """Raise RefusedError for a request without a bearer token (G2)."""
    if not bearer_of(headers):
        raise RefusedError("G2", G2)


async def _reply(state: State, stream: OpenStream, checked: CheckedRequest, pending: Pending) -> None:
    """Play the reply; put it back into the queue if a fault cuts it short."""
    state.script.remove(pending)
    faults = pending.faults()
    again = any(isinstance(fault, MalformedSse) and fault.again for fault in faults)
    mode = MODES[checked.mode]
    if mode.path == CHAT_PATH:
        answer = chat_answer(state, checked, pending, field=mode.field, signs_calls=mode.signs_calls)
    else:
        answer = response_answer(state, checked, pending)
    stream.record.verdict, stream.record.status = "accepted", answer.status
    player = Player(stream, answer, pending, [fault for fault in faults if isinstance(fault, TimedFault)])
    try:
        await player.play()
    finally:
        if player.cut_short or again:
            state.script.put_back(pending)


async def send_answer(connection: Connection, answer: Answer) -> None:
    """Send an answer without faults."""
    await connection.write(_head(answer))
    connection.frame_as_chunks(chunked=answer.streamed)
    for frame in answer.frames:
        await connection.part(frame.data)
    await connection.end()


def _head(answer: Answer) -> bytes:
    length = str(sum(len(frame.data) for frame in answer.frames))
    framing = {"Transfer-Encoding": "chunked"} if answer.streamed else {"Content-Length": length}
    return head_bytes(answer.status, {**answer.headers, **framing})


class Player:
    """One answer while it is sent, with the faults in it."""

    def __init__(self, stream: OpenStream, answer: Answer, pending: Pending, faults: list[TimedFault]) -> None:
        self._stream = stream
        self._connection = stream.connection
        self._answer = answer
        self._pending = pending
        self._places = places(faults, answer.frames)
        self._head_sent = False
        self.cut_short = False

    async def play(self) -> None:
        """Send everything; ``cut_short`` then says whether a fault prevented its end. Raises ClientGoneError."""
        try:
            await self._happen(CONNECT)
            await self._send_head()
            for n, frame in enumerate(self._answer.frames):
                await self._send_frame(n, frame)
                self._stream.sent(n + 1)
            # A client may leave at the last event: it has everything, and that is not early.
            with suppress(ClientGoneError):
                await self._connection.end()
        except CutError as cut:
            self.cut_short = True
            if cut.mode == "rst":
                self._connection.reset()
                return
            if cut.mode == "fin" and self._head_sent:
                await self._connection.end()
            self._connection.close()

    async def _happen(self, place: Place) -> None:
        """Let the faults of a place happen. Raises CutError where one ends the answer."""
        for fault in self._places.get(place, ()):
            self._pending.spend(fault)
            try:
                match fault:
                    case Stall():
                        await self._stream.hold(fault.name)
                    case ErrorEvent():
                        error = self._answer.error_event(fault, self._stream.record.events_sent)
                        await self._connection.part(error.data)
                        raise CutError("fin")
                    case Disconnect():
                        raise CutError(fault.mode)
            except ClientGoneError:
                self.cut_short = True
                raise

    async def _send_head(self) -> None:
        head = _head(self._answer)
        half = len(head) // 2 if HEADERS in self._places else 0
        await self._connection.write(head[:half])
        await self._happen(HEADERS)
        await self._connection.write(head[half:])
        self._head_sent = True
        self._connection.frame_as_chunks(chunked=self._answer.streamed)

    async def _send_frame(self, n: int, frame: Frame) -> None:
        if n and self._answer.delay_ms:
            await self._connection.wait(asyncio.Event(), self._answer.delay_ms / 1000)
        if frame.hold:
            await self._stream.hold(frame.hold)
        faulty = {byte for at, byte in self._places if at == n}
        borders = sorted({0, len(frame.data), *frame.cuts, *faulty})
        for start, stop in pairwise(borders):
            await self._happen((n, start))
            if frame.settles and stop == len(frame.data):
                self._connection.require_client()
                self._answer.settle()  # before the client can know of it and send another request
            await self._connection.part(frame.data[start:stop])
