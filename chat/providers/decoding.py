"""What both APIs need to read an answer: its framing, JSON that is slightly wrong, how it ended, token counts."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from chat.providers.base import ProviderError
from chat.providers.errors import (
    NAMES_ERROR,
    UNKNOWN_ENDPOINT,
    Endpoint,
    failure_from_object,
    malformed_error,
    plain_name,
)
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from reasoning.services.finish_reasons import is_context_full, is_open, read_finish_reason
from reasoning.stream import surrogates

logger = logging.getLogger(__name__)
# A service that never ends a line would fill the memory.
MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_VALUES = 50_000  # of a stream without blank lines, which is one event: each takes longer than its bytes
# Enough names to distinguish an event stream from something else.
_MAX_FIELDS = 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SUCCESS_CODES = frozenset({"0", "200", "ok", "success"})
_FAILED_STATES = frozenset({"error", "failed", "failure", "fail"})
# As ``plain_name`` writes them.
_ERROR_WORDS = ("message", "msg", "detail", "errors", "errmsg", "errormsg", "errormessage", "errorcode", "statusmsg")
# What an event is, or its state, whose words are no failure's.
_PROGRESS = frozenset(
    "status progress inprogress info notice warning queued pending processing running ping heartbeat keepalive".split()
)
_ERROR_WRAPPERS = ("response", "data", "result", "message")  # Tencent, gateways
_FRAMED = re.compile(rb"\A(?:data:\s*)+")  # by a gateway that frames what is framed, comments as well
# By words in the data, where a comment was meant.
_KEEP_ALIVE = re.compile(
    rb"\W?(?:\w+ )?(?:ping|pong|keep[-_ ]?alive|heart[-_ ]?beat|connected|processing)\W*", re.IGNORECASE
)
# How names of events of the Responses API begin, which the data of some gateways doesn't repeat.
_RESPONSE = b"response."
# Names of events that report a failure, whatever their data.
_FAILED_EVENT = re.compile(rb"(?:error|exception|failed|failure)\Z", re.IGNORECASE)
_BETWEEN_VALUES = re.compile(r"\s*(?:data:\s*)*")
_MAX_REASON_CHARS = 64  # of an unknown finish reason, in the log
# Where token counts are, besides the usual place: Groq, Gemini behind gateways, llama.cpp.
USAGE_PLACES = ("usage", "x_groq", "usage_metadata", "usageMetadata", "timings")
# What they are called: OpenAI's two APIs, Bedrock, Gemini, llama.cpp.
_INPUT = ("prompt_tokens", "input_tokens", "inputTokens", "prompt_token_count", "promptTokenCount", "prompt_n")
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidates_token_count",
    "candidatesTokenCount",
    "predicted_n",
)
_THOUGHTS = ("thoughts_token_count", "thoughtsTokenCount")  # beside the output, elsewhere a part of it
_CACHED = ("cache_n",)  # beside the input, elsewhere a part of it
_COUNT = re.compile(r"[0-9]{1,15}")  # that a service has quoted
_CACHED_INPUT = ("cached_tokens", "cached_content_token_count", "cachedContentTokenCount", *_CACHED)


class BodyParser:
    """Find the events in a body: of an event stream, of JSON lines, or the one of a whole JSON body.

    The first byte decides, since gateways label each of them as another one. A web page is no answer under any label.
    """

    def __init__(self) -> None:
        self._head = b""
        self._parser: EventParser | JsonParser | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads that ``piece`` completes. Raises ProviderError for what is no answer."""
        if self._parser is None:
            piece = self._head + piece
            self._head = piece if _BYTE_ORDER_MARK.startswith(piece) else b""
            start = piece.removeprefix(_BYTE_ORDER_MARK).lstrip()
            if self._head or not start:
                return []
            if start.startswith(b"<"):
                raise malformed_error("web_page")
            self._parser = JsonParser() if start.startswith((b"{", b"[")) else EventParser()
            piece = start
        return self._parser.feed(piece)

    def finish(self) -> list[bytes]:
        """Return the payload of a last event whose end never came."""
        return self._parser.finish() if self._parser else []

    @property
    def is_no_stream(self) -> bool:
        """Whether something came that has no place in an event stream."""
        return bool(self._parser and self._parser.is_no_stream)


class JsonParser:
    """Parse a body of JSON: one value for each line where the first line is one, else one value in all."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._has_lines: bool | None = None  # None until the first line is complete

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that ``piece`` completes. Raises ProviderError for a value of more than 8 MiB."""
        self._text += piece
        payloads: list[bytes] = []
        if self._has_lines is not False and b"\n" in piece:
            *lines, rest = bytes(self._text).split(b"\n")
            if self._has_lines is None:
                self._has_lines = is_json(lines[0])
            if self._has_lines:
                payloads, self._text = lines, bytearray(rest)
        if len(self._text) > MAX_EVENT_BYTES:
            raise malformed_error("too_large")
        return payloads

    def finish(self) -> list[bytes]:
        return [bytes(self._text)]

    @property
    def is_no_stream(self) -> bool:
        """Whether the body is complete: if it held nothing of an answer, nothing was lost on the way."""
        return not self._text.strip() or is_json(bytes(self._text))


class EventParser:
    """Parse server-sent events from bytes, in whatever pieces they arrive.

    The SDK's decoder (private) and httpx2's ``EventSource`` hand out one event at a time, so what arrived together
    couldn't be decoded together; and the one has no size limit, the other refuses any other content type.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # a line whose end hasn't arrived
        self._data: list[bytes] = []  # data lines of the event in progress
        self._data_bytes = 0
        self._name = b""  # of the event in progress
        self._is_error = False  # what it is, by its name
        self._fields: set[bytes] = set()  # the names of all lines
        self._skip_newline = False  # the last piece ended in CR, so an LF that comes next belongs to it

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads of the events that ``piece`` completes. Raises ProviderError for an endless event."""
        if piece and self._skip_newline:
            piece = piece.removeprefix(b"\n")
            self._skip_newline = False
        self._skip_newline = self._skip_newline or piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        payloads: list[bytes] = []
        for line in lines:
            if line:
                self._read_line(line)
            elif self._data or self._is_error:
                payloads.append(self._end_event())
        self._line += rest
        if len(self._line) + self._data_bytes > MAX_EVENT_BYTES:
            raise malformed_error("too_large")
        return payloads

    def finish(self) -> list[bytes]:
        """Return the payload of a last event whose blank line never came."""
        return self.feed(b"\n\n")

    @property
    def is_no_stream(self) -> bool:
        """Whether lines came, but none of an event: the body is something else."""
        return bool(self._fields - {b""}) and not self._fields & {b"data", b"event", b"id", b"retry", b"error"}

    def _read_line(self, line: bytes) -> None:
        # A gateway that fails in the middle may forget the name of the field.
        name, _, value = (b"data", b":", line) if line.startswith(b"{") else line.partition(b":")
        if len(self._fields) < _MAX_FIELDS:
            self._fields.add(name)
        # Older llama.cpp writes an error into a field of that name.
        if name in (b"data", b"error"):
            self._data.append(value.removeprefix(b" "))
            self._data_bytes += len(value) + 1  # empty lines count as well
        if name == b"event":
            self._name = value.strip()
        # Events of the Responses API say in their data how they failed.
        if name == b"error" or (_FAILED_EVENT.search(self._name) and not self._name.startswith(_RESPONSE)):
            self._is_error = True

    def _end_event(self) -> bytes:
        payload, name = b"\n".join(self._data), self._name
        if self._is_error:
            payload = as_error(payload)
        elif name.startswith(_RESPONSE):
            payload = with_type(payload, name)
        # Text under another name is a notice of a gateway.
        elif name not in (b"", b"message") and not payload.startswith((b"{", b"[")) and not is_end_mark(payload):
            payload = b""
        self._data.clear()
        self._data_bytes, self._is_error, self._name = 0, False, b""
        return payload


class ResponseDecoder:
    """Decode one response of an API: the events of a stream, or a whole body.

    ``feed`` accepts the payload of one event, and ``finish`` follows the last. ``ended``: it said how it ended.
    ``done``: nothing more will come. ``failure``: it ended, and its finish reason is one. Payloads become plain values
    by msgspec, since the SDK's objects cost about 200 times as much. An API adds what it reads from an event
    (``read_event``). ``has_read``: something of an answer came.
    """

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        self.ended = False
        self.done = False
        self.has_read = False
        self._endpoint = endpoint
        self._usage: RawUsage | None = None
        self._has_text = self._has_calls = self._is_cut = self._goes_on = False
        self.failure: ProviderError | None = None  # that a finish reason named; not raised, for text may come with it

    @property
    def is_over(self) -> bool:
        """Whether only token counts may follow. Some gateways write "stop" on each chunk, or on the first ones."""
        has_answer = self._has_text or self._has_calls or self._is_cut
        return self.ended and has_answer and not self._goes_on

    def read_event(self, event: dict[str, Any]) -> Iterable[RawDelta]:
        """Return what one event holds. Unknown fields and odd shapes are ignored. Raises ProviderError for an error."""
        raise NotImplementedError

    def read_end_mark(self) -> Iterable[RawDelta]:
        """Return what the end mark of a stream ends."""
        return ()

    def mend(self, event: Any) -> Any:
        """Return an event without lone surrogates, but in texts, whose other half may come with the next one."""
        return without_surrogates(event)

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Return what one payload holds. Raises ProviderError for an error object or what is no JSON."""
        had_ended = self.ended
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            text = _FRAMED.sub(b"", payload.strip())
            if not text or text.startswith(b":") or _KEEP_ALIVE.fullmatch(text):
                return ()
            if is_end_mark(text):
                self.done = True
                return tuple(self.read_end_mark())
            try:
                event = self.mend(parse_json(text))
            except ProviderError:
                if not 1 < len(pieces := split_values(text)) <= MAX_VALUES:
                    raise
                return self._feed_several(pieces)
        if isinstance(event, str) and event.lstrip().startswith(("{", "data:")):
            return self.feed(event.encode("utf-8", "replace"))  # by a gateway that encodes what is encoded
        if isinstance(event, dict):
            deltas = tuple(self.read_event(event))
        else:  # Gemini puts an error into a list
            events = event if isinstance(event, list) else []
            deltas = tuple(delta for one in events if isinstance(one, dict) for delta in self.read_event(one))
        self.has_read = self.has_read or bool(deltas)
        if had_ended and any(isinstance(one, RawFields) and one.fields.keys() - {"signatures"} for one in deltas):
            self._goes_on = True
        return deltas

    def _feed_several(self, pieces: Iterable[bytes]) -> tuple[RawDelta, ...]:
        """Return what payloads hold that came as one. An error among them says why another is torn."""
        deltas: list[RawDelta] = []
        torn: ProviderError | None = None
        for piece in pieces:
            try:
                deltas += self.feed(piece)
            except ProviderError as error:
                if error.code != "malformed":
                    raise
                torn = error
        if torn:
            raise torn
        return tuple(deltas)

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the token counts, once: some services send a running total with each chunk."""
        usage, self._usage = self._usage, None
        return (usage,) if usage is not None else ()

    def end(self, name: str, model: str) -> Sequence[RawEnd]:
        """End the response, once, in our word for the service's finish reason. Product 32.

        A second reason counts where it says that the answer isn't complete after all.
        """
        reason = read_finish_reason(name)
        if self.ended and (self.failure or self._is_cut or reason not in ("length", "content_filter", "error")):
            return ()
        self.ended, self._is_cut = True, reason in ("length", "content_filter")
        came = self._has_text or self._has_calls
        if reason is None:
            logger.warning("unknown finish reason", extra={"finish_reason": name[:_MAX_REASON_CHARS]})
            reason = "error" if not came else "tool_calls" if self._has_calls else "stop"
        error: dict[str, str] | None = None
        if reason == "error":
            error = {"code": "server_error", "message": f"finish reason {name[:_MAX_REASON_CHARS]}"}
        elif is_context_full(name) and not came:
            error = {"code": "context_length_exceeded"}
        if error is None:
            return (RawEnd(reason, model),)
        self.failure, self.done = failure_from_object(error, self._endpoint), True
        return ()


def error_in(chunk: dict[str, Any], choices: list[dict[str, Any]]) -> Any:
    """Return the error that a service put into a 200 answer, if any."""
    if (error := chunk.get("error")) and not is_blank(error):
        return chunk if error is True else error
    for choice in choices:
        delta = choice.get("delta")
        if error := choice.get("error") or (delta.get("error") if isinstance(delta, dict) else None):
            return error
    extra = chunk.get("x_groq")
    if isinstance(extra, dict) and (error := extra.get("error")):
        return error
    # MiniMax names the failure beside empty choices.
    status = chunk.get("base_resp")
    if isinstance(status, dict) and status.get("status_code"):
        return status
    if choices or chunk.get("usage") is not None:
        return None
    # Without the usual key: a state, or words, and no answer.
    fields = {plain_name(name): value for name, value in chunk.items()}
    for name in _ERROR_WRAPPERS:
        inner = fields.get(name)
        if isinstance(inner, dict) and (error := inner.get("Error") or inner.get("error")):
            return error
    state = fields.get("status")
    is_failed_state = state >= 400 if isinstance(state, int) else str(state).lower() in _FAILED_STATES
    if fields.get("success") is False or fields.get("ok") is False or is_failed_state:
        return chunk
    if any(plain_name(str(fields.get(name))) in _PROGRESS for name in ("type", "status")):
        return None
    codes = {str(fields.get(name, "")).lower() for name in ("code", "errorcode")}
    succeeded = fields.get("success") is True or not codes.isdisjoint(_SUCCESS_CODES)
    has_words = any(fields.get(name) for name in _ERROR_WORDS if name != "message" or isinstance(fields.get(name), str))
    # AWS names a failure by the kind of its exception, a gateway by a fault.
    is_named = any(
        NAMES_ERROR.search(name) and isinstance(value, dict | str) for name, value in fields.items() if value
    )
    return chunk if (has_words or is_named) and not succeeded else None


def is_blank(error: Any) -> bool:
    """Say whether an error object is one whose fields are all empty: Go writes it where nothing failed."""
    return isinstance(error, dict) and not any(error.values())


def is_end_mark(text: bytes) -> bool:
    """Say whether a payload is the end mark of a stream: ``[DONE]``, also in small letters or without brackets."""
    return text.strip(b"[] ").upper() == b"DONE"


def split_values(text: bytes) -> list[bytes]:
    """Return the payloads that a gateway sent as one: without a blank line between them, or without any.

    At most ``MAX_VALUES`` and the rest.
    """
    if b"\n" in text:
        return text.split(b"\n", MAX_VALUES)
    line = text.decode("utf-8", "replace")
    pieces: list[bytes] = []
    at = 0
    decoder = json.JSONDecoder(strict=False)
    while at < len(line) and len(pieces) <= MAX_VALUES:
        try:
            end = decoder.raw_decode(line, at)[1]
        except (ValueError, RecursionError):
            end = len(line)
        pieces.append(line[at:end].encode())
        between = _BETWEEN_VALUES.match(line, end)
        at = between.end() if between else end
    return pieces


def with_type(payload: bytes, name: bytes) -> bytes:
    """Return an object with the name of its event as ``type``, unless it repeats the name. One of its own wins."""
    inner = payload.strip().removeprefix(b"{").lstrip()
    if b'"%b"' % name in payload or not payload.lstrip().startswith(b"{"):
        return payload
    # As the first, so that one of its own is read later.
    return b'{"type":' + msgspec.json.encode(name.decode("utf-8", "replace")) + (b"," if inner != b"}" else b"") + inner


def as_error(payload: bytes) -> bytes:
    """Return the data of an error event as an object with the key ``error``; it may be text, or nothing."""
    try:
        value = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = payload.decode("utf-8", "replace").strip()
    if isinstance(value, dict) and value.get("error"):
        return payload
    return msgspec.json.encode({"error": value or {"code": "server_error"}})


def is_json(data: bytes) -> bool:
    try:
        parse_json(data)
    except ProviderError:
        return False
    return True


def finish_name(value: Any) -> str:
    """Return a finish reason; empty where none came yet. SGLang's own API has an object with a type."""
    value = value.get("type") if isinstance(value, dict) else value
    return value if isinstance(value, str) and not is_open(value) else ""


def parse_json(data: bytes) -> Any:
    """Parse JSON that msgspec refuses: lone surrogates, NaN, broken bytes. Raises ProviderError ``malformed``."""
    try:
        # Broken bytes become replacement characters, as the event-stream format demands.
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise malformed_error("not_json") from error


def without_surrogates(value: Any) -> Any:
    """Return a JSON value whose strings can be encoded: surrogate pairs joined, lone ones replaced.

    Raises ProviderError ``malformed`` for nesting that could be read, just, and can't be written again.
    """
    try:
        return json.loads(surrogates.repair_surrogates(json.dumps(value, ensure_ascii=False)))
    except RecursionError as error:
        raise malformed_error("nesting") from error


def usage_in(chunk: Mapping[str, Any]) -> RawUsage | None:
    """Return the token counts of a chunk or a choice; None if it has none."""
    return next((found for name in USAGE_PLACES if (found := read_usage(chunk.get(name)))), None)


def read_usage(usage: Any) -> RawUsage | None:
    """Read token counts under any of the names that services give them; None if there are none."""
    usage = usage.get("usage", usage) if isinstance(usage, dict) else None
    if not isinstance(usage, dict) or not usage:
        return None
    output_details = (usage.get("completion_tokens_details"), usage.get("output_tokens_details"), usage)
    input_details = (usage.get("prompt_tokens_details"), usage.get("input_tokens_details"), usage)
    # A server that doesn't count sends zeros, but no request is empty.
    received, sent = (
        None if (count := first_count([usage], *names)) is None else count + (first_count([usage], *beside) or 0)
        for names, beside in ((_INPUT, _CACHED), (_OUTPUT, _THOUGHTS))
    )
    counts = RawUsage(
        received or None,
        sent if received else sent or None,
        first_count(output_details, "reasoning_tokens", *_THOUGHTS),
        first_count(input_details, *_CACHED_INPUT) or first_count([usage], "prompt_cache_hit_tokens"),
    )
    return counts if counts != RawUsage() else None


def first_count(places: Iterable[Any], *names: str) -> int | None:
    """Return the first usable number under any of these names."""
    values = (place.get(name) for place in places if isinstance(place, Mapping) for name in names)
    numbers = (int(value) if isinstance(value, str) and _COUNT.fullmatch(value) else value for value in values)
    return next((int(value) for value in numbers if isinstance(value, int | float) and 0 <= value < 2**53), None)
