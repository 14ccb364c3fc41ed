"""The kinds of fault that a script may ask for, as checked values; ``faults`` carries them out.

Points: ``connect`` before any byte of the answer; ``headers`` in the middle of the header block; ``first_event`` with
the headers out; ``event:<n>`` before event n, counted from 0; ``inside_event:<n>:<byte>``; ``before_done``. An answer
that is not streamed is one event.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from tests.contract_server.overflows import WORDINGS

Point = Annotated[str, Meta(pattern=r"^(connect|headers|first_event|before_done|event:\d+|inside_event:\d+:\d+)$")]
BodyKind = Literal["json", "html", "empty"]


class _Fault(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """``times`` counts uses; after them the reply is served without the fault.

    A reply is used up once it was sent to its end, or when the client left of its own accord. One that a fault cut
    short, or that a client gave up on while a fault held it, goes back into the queue for the next attempt.
    """

    times: int = 1


class SlowFirstToken(_Fault, frozen=True, tag="slow_first_token"):
    """Headers at once; the first event after ``seconds``, or at the release of ``name``."""

    seconds: float | None = None
    name: str = "slow_first_token"

    @property
    def at(self) -> str:
        return "first_event"


class Stall(_Fault, frozen=True, tag="stall"):
    """Hold the open stream until release, or ``max_seconds``; ``keepalive`` is the period of comments, in seconds."""

    at: Point = "event:1"
    name: str = "stall"
    max_seconds: float | None = None
    keepalive: float | None = None


class Disconnect(_Fault, frozen=True, tag="disconnect"):
    """End early: ``fin`` with a proper end of the body, ``truncate`` without one, ``rst`` with a TCP reset."""

    at: Point = "event:1"
    mode: Literal["fin", "truncate", "rst"] = "fin"


SseForm = Literal[
    "truncated_json",
    "not_json",
    "invalid_utf8",
    "no_blank_line",
    "crlf",
    "comment_only",
    "two_events_one_write",
    "split_codepoint",
    "oversized_line",
    "unknown_event_type",
    "null_choices",
    "missing_done",
    "duplicate_event",
]


class MalformedSse(_Fault, frozen=True, tag="malformed_sse"):
    """Spoil the stream's form at event ``event``; all else is sent as scripted, to the end.

    ``again``: the next request gets the reply once more, without the fault. It is off by default, because many forms
    are merely unusual and the client goes on.
    """

    form: SseForm
    event: int = 1
    again: bool = False


class HttpError(_Fault, frozen=True, tag="http_error"):
    """Answer with any status."""

    status: int
    body: BodyKind = "json"
    headers: dict[str, str] = {}
    message: str = "The server had an error while processing your request."
    code: str | None = None


class RateLimit(_Fault, frozen=True, tag="rate_limit"):
    """429. ``retry_after``: numbers and strings (a date, nonsense) as they stand, ``{"ms": n}`` as milliseconds."""

    retry_after: int | float | str | dict[str, int] | None = None


class ServerError(_Fault, frozen=True, tag="server_error"):
    """500, 502, 503 or 529."""

    status: Literal[500, 502, 503, 529] = 500
    body: BodyKind = "json"


class ErrorEvent(_Fault, frozen=True, tag="error_event"):
    """An error inside the open stream, which then ends; ``event`` is its form over Responses."""

    at: Point = "event:1"
    message: str = "The server had an error while processing your request."
    type: str = "server_error"
    event: Literal["response.failed", "response.incomplete", "error"] = "response.failed"
    code: str | int | None = None
    extra: dict[str, Any] = {}


class ContextOverflow(_Fault, frozen=True, tag="context_overflow"):
    """A refusal in one of the known wordings (an index into ``overflows.WORDINGS``).

    ``silent``: the reply comes all the same, and only its usage tells of an input above ``limit``.
    """

    wording: Annotated[int, Meta(ge=0, lt=len(WORDINGS))] = 0
    silent: bool = False
    limit: int = 128_000


class RejectCiphertext(_Fault, frozen=True, tag="reject_ciphertext"):
    """Refuse intact ciphertext, as after a change of keys upstream; a request without any is served."""


Fault = (
    SlowFirstToken
    | Stall
    | Disconnect
    | MalformedSse
    | HttpError
    | RateLimit
    | ServerError
    | ErrorEvent
    | ContextOverflow
    | RejectCiphertext
)
Timed = SlowFirstToken | Stall | Disconnect | ErrorEvent
Instead = HttpError | RateLimit | ServerError | ContextOverflow | RejectCiphertext
