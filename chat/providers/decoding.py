"""What both APIs need to read an answer: server-sent events, JSON that is slightly wrong, token counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from chat.providers.base import ProviderError
from chat.providers.errors import UNKNOWN_ENDPOINT, Endpoint, malformed
from reasoning.deltas import RawDelta, RawUsage
from reasoning.stream import surrogates

DONE = b"[DONE]"
# A service that never ends a line would fill the memory.
MAX_EVENT_BYTES = 8 * 1024 * 1024
# Enough names to tell an event stream from something else.
_MAX_FIELDS = 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventParser:
    """Parse server-sent events from bytes, in whatever pieces they arrive.

    The SDK's decoder (private) and httpx2's ``EventSource`` hand out one event at a time, so what arrived together
    couldn't be decoded together; and the one has no size limit, the other refuses any other content type.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # a line whose end hasn't arrived
        self._data: list[bytes] = []  # data lines of the event in progress
        self._data_bytes = 0
        self._fields: set[bytes] = set()  # the names of all lines
        self._skip_newline = False  # the last piece ended in CR, so an LF that comes next belongs to it

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads of the events that ``piece`` completes. Raises ProviderError for an endless event."""
        if piece and self._skip_newline:
            piece = piece.removeprefix(b"\n")
            self._skip_newline = False
        self._skip_newline = self._skip_newline or piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        payloads = []
        for line in lines:
            self._line += line
            payload = self._end_line()
            if payload is not None:
                payloads.append(payload)
        self._line += rest
        if len(self._line) + self._data_bytes > MAX_EVENT_BYTES:
            message = "The model service sent one event of more than 8 MiB, which is not a chat answer."
            raise ProviderError("malformed", message, retryable=False)
        return payloads

    def finish(self) -> list[bytes]:
        """Return the payload of a last event whose blank line never came."""
        if self._line:
            self._end_line()
        payload = self._end_line()
        return [] if payload is None else [payload]

    @property
    def is_no_stream(self) -> bool:
        """Whether lines came, but none of an event: the body is something else."""
        return bool(self._fields - {b""}) and not self._fields & {b"data", b"event", b"id", b"retry"}

    def _end_line(self) -> bytes | None:
        """Take the finished line; return the payload where a blank line ends an event that has data."""
        line = bytes(self._line).removeprefix(_BYTE_ORDER_MARK)
        self._line.clear()
        name, _, value = line.partition(b":")
        if len(self._fields) < _MAX_FIELDS:
            self._fields.add(name)
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_bytes += len(value)
        if line or not self._data:
            return None
        payload = b"\n".join(self._data)
        self._data.clear()
        self._data_bytes = 0
        return payload


class ResponseDecoder:
    """Decode one response of an API: the events of a stream, or a whole body.

    ``feed`` accepts the payload of one event, and ``finish`` follows the last. ``ended``: it said how it ended.
    ``done``: nothing more will come. Payloads become plain values by msgspec, since the SDK's objects cost about 200
    times as much. An API adds what it reads from an event (``read_event``).
    """

    def __init__(self, endpoint: Endpoint = UNKNOWN_ENDPOINT) -> None:
        self.ended = False
        self.done = False
        self._endpoint = endpoint
        self._usage: RawUsage | None = None

    def read_event(self, event: dict[str, Any]) -> Iterator[RawDelta]:
        """Yield what one event holds. Unknown fields and odd shapes are ignored. Raises ProviderError for an error."""
        raise NotImplementedError

    def read_end_mark(self) -> Iterator[RawDelta]:
        """Yield what the end mark of a stream ends."""
        return iter(())

    def mend(self, event: Any) -> Any:
        """Return an event without lone surrogates, but in texts, whose other half may come with the next one."""
        return without_surrogates(event)

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]:
        """Return what one payload holds. Raises ProviderError for an error object or what is no JSON."""
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            text = payload.strip()
            if not text:
                return ()
            if text == DONE:
                self.done = True
                return tuple(self.read_end_mark())
            try:
                event = self.mend(parse_json(text))
            except ProviderError:
                if b"\n" not in text:
                    raise
                # Several events without a blank line between them.
                return tuple(delta for line in text.split(b"\n") for delta in self.feed(line))
        return tuple(self.read_event(event)) if isinstance(event, dict) else ()

    def finish(self) -> tuple[RawDelta, ...]:
        """Return the token counts, once: some services send a running total with each chunk."""
        usage, self._usage = self._usage, None
        return (usage,) if usage is not None else ()


def parse_json(data: bytes) -> Any:
    """Parse JSON that msgspec refuses: lone surrogates, NaN, broken bytes. Raises ProviderError ``malformed``."""
    try:
        # Broken bytes become replacement characters, as the event-stream format demands.
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise malformed("something that is not JSON in the middle of its answer") from error


def without_surrogates(value: Any) -> Any:
    """Return a JSON value whose strings can be encoded: surrogate pairs joined, lone ones replaced.

    Raises ProviderError ``malformed`` for nesting that could be read, just, and can't be written again.
    """
    try:
        return json.loads(surrogates.repair_surrogates(json.dumps(value, ensure_ascii=False)))
    except RecursionError as error:
        raise malformed("JSON of endless nesting in the middle of its answer") from error


def read_usage(usage: Any) -> RawUsage | None:
    """Read token counts under any of the names that services give them; None if there are none."""
    if not isinstance(usage, dict) or not usage:
        return None
    output_details = (usage.get("completion_tokens_details"), usage.get("output_tokens_details"), usage)
    input_details = (usage.get("prompt_tokens_details"), usage.get("input_tokens_details"), usage)
    # A server that doesn't count sends zeros, but no request is empty.
    received = first_count([usage], "prompt_tokens", "input_tokens") or None
    sent = first_count([usage], "completion_tokens", "output_tokens")
    counts = RawUsage(
        received,
        sent if received else sent or None,
        first_count(output_details, "reasoning_tokens"),
        first_count(input_details, "cached_tokens") or first_count([usage], "prompt_cache_hit_tokens"),
    )
    return counts if counts != RawUsage() else None


def first_count(places: Iterable[Any], *names: str) -> int | None:
    """Return the first usable number under any of these names."""
    values = (place.get(name) for place in places if isinstance(place, Mapping) for name in names)
    return next((int(value) for value in values if isinstance(value, int | float) and 0 <= value < 2**53), None)
