"""Scripts: the replies of the server and their faults, read from JSON and validated when they are loaded.

A script is a list of replies, or an object with ``replies`` and settings for all of them. Replies are used in order;
one with ``match`` waits for the first request that fits. Unknown keys are errors.
"""

import bisect
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

# How services say that a request is too long: (text, code). Shortened; some have no code.
WORDINGS: tuple[tuple[str, str | int | None], ...] = (
    ("This model's maximum context length is 8192 tokens. Please reduce the length.", "context_length_exceeded"),
    ("Your input exceeds the context window of this model.", "context_length_exceeded"),
    ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400),
    ("the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
    ("Input validation error: inputs tokens + max_new_tokens must be <= 4096", "validation"),
    ("Range of input length should be [1, 129024]", "invalid_parameter_error"),
    ("Your request exceeded model token limit: 262144 (requested: 300000)", "invalid_request_error"),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", None),
    ("Please reduce the length of the messages or completion.", "context_length_exceeded"),
    ("This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens.", 400),
    ("prompt token count of 70000 exceeds the limit of 64000", "model_max_prompt_tokens_exceeded"),
    ("invalid params, context window exceeds limit", 2013),
)

# `connect`: before any byte of the answer; `headers`: in the middle of the header block; `first_event`: after the
# headers; `event:<n>`: before event n, from 0; `inside_event:<n>:<byte>`; `before_done`: before the last event.
# An answer that is not streamed is one event.
Point = Annotated[str, Meta(pattern=r"^(connect|headers|first_event|before_done|event:\d+|inside_event:\d+:\d+)$")]
BodyKind = Literal["json", "html", "empty"]
Chunking = Literal["char", "word", "whole"] | Annotated[int, Meta(ge=1)]
SseForm = Literal[
    "truncated_json", "not_json", "invalid_utf8", "split_codepoint", "oversized_line", "missing_done", "duplicate_event"
]


class ScriptError(ValueError):
    """A script that cannot be played; the message names the place."""


class Fault(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """``times`` counts uses; after them the reply is served without the fault.

    A reply that a fault cut short, or that a client left while a fault held it, is queued again.
    """

    times: int = 1


class Stall(Fault, frozen=True, tag="stall"):
    """Hold the stream until the release of ``name``."""

    at: Point = "event:1"
    name: str = "stall"


class SlowFirstToken(Stall, frozen=True, tag="slow_first_token"):
    """Send the headers at once, the first event at the release of ``name``."""

    at: Point = "first_event"
    name: str = "slow_first_token"


class Disconnect(Fault, frozen=True, tag="disconnect"):
    """End early: ``fin`` with a proper end of the body, ``truncate`` without one, ``rst`` with a TCP reset."""

    at: Point = "event:1"
    mode: Literal["fin", "truncate", "rst"] = "fin"


class ErrorEvent(Fault, frozen=True, tag="error_event"):
    """Send an error inside the open stream and end it; ``event`` is its form over Responses."""

    at: Point = "event:1"
    message: str = "The server had an error while processing your request."
    event: Literal["response.failed", "response.incomplete", "error"] = "response.failed"
    code: str | int | None = None


class MalformedSse(Fault, frozen=True, tag="malformed_sse"):
    """Spoil the stream's form at event ``event``; all else is sent as scripted.

    ``again``: the next request gets the reply once more, without the fault.
    """

    form: SseForm
    event: int = 1
    again: bool = False


class HttpError(Fault, frozen=True, tag="http_error"):
    """Answer with any status."""

    status: int = 500
    body: BodyKind = "json"
    message: str = "The server had an error while processing your request."


class ServerError(HttpError, frozen=True, tag="server_error"):
    """Answer 500, or another ``status``."""


class RateLimit(Fault, frozen=True, tag="rate_limit"):
    """Answer 429. ``retry_after``: numbers and strings are sent unchanged, ``{"ms": n}`` as milliseconds."""

    retry_after: int | float | str | dict[str, int] | None = None


class ContextOverflow(Fault, frozen=True, tag="context_overflow"):
    """Refuse the request as too long, in one of the known wordings (an index into ``WORDINGS``)."""

    wording: Annotated[int, Meta(ge=0, lt=len(WORDINGS))] = 0


class RejectCiphertext(Fault, frozen=True, tag="reject_ciphertext"):
    """Refuse intact ciphertext, as after a change of keys upstream; a request without any is served."""


TimedFault = Stall | SlowFirstToken | Disconnect | ErrorEvent
ErrorAnswer = HttpError | ServerError | RateLimit | ContextOverflow | RejectCiphertext


class OutputItem(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """An item of a Responses reply, for replies whose order matters."""


class ReasoningOutput(OutputItem, frozen=True, tag="reasoning"):
    """``summary``: the provider's account, by parts; none leaves the encrypted content alone."""

    summary: list[str] = []


class MessageOutput(OutputItem, frozen=True, tag="message"):
    """``refusal`` is a part of its own, behind the text. ``phase``: what the service calls the message."""

    text: str = ""
    refusal: str = ""
    phase: str = ""


class CallOutput(OutputItem, frozen=True, tag="function_call"):
    """``arguments`` as in ``ScriptedCall``."""

    name: str
    arguments: str | dict[str, Any] = "{}"
    call_id: str | None = None


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """What a request must be for its reply; all that is given must hold."""

    last_user_contains: str = ""
    tool_outputs_at_least: int = 0  # counted since the last user message


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call; ``arguments`` as an object is written compactly, as a string it is sent byte for byte."""

    name: str
    arguments: str | dict[str, Any] = "{}"
    id: str | None = None


class Usage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Token counts to report; one that is not given is counted."""

    input: int | None = None
    output: int | None = None
    cached_tokens: int = 0
    reasoning_tokens: int | None = None


class Reply(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One scripted answer, for both APIs.

    Over Responses ``reasoning`` becomes an item with a summary (a list: its parts), ``content`` a message, each call an
    item. ``items`` gives them in any order, for Responses alone. ``finish`` is a chat API's reason, or ``completed``,
    ``incomplete:<reason>``, ``failed:<code>``, ``cancelled``; null leaves it out.

    With ``deltas`` the wire carries exactly those, and stops at each ``{"hold": name}`` until the release of that name.
    ``tags``: the reasoning is sent inside the content, in these tags. ``repeat``: the reply is never used up.
    """

    match: Match = Match()
    reasoning: str | list[str] | None = None
    content: str | None = None
    tool_calls: list[ScriptedCall] = []
    reasoning_details: list[dict[str, Any]] | None = None
    items: list[ReasoningOutput | MessageOutput | CallOutput] | None = None
    deltas: list[dict[str, Any]] | None = None
    chunk: Chunking = "word"
    tags: str | None = None
    finish: str | UnsetType | None = UNSET
    usage: Usage = Usage()
    faults: list[TimedFault | MalformedSse | ErrorAnswer] = []
    delay_ms: float = 0
    repeat: bool = False

    def reasoning_parts(self) -> list[str]:
        return [self.reasoning] if isinstance(self.reasoning, str) else list(self.reasoning or [])

    def reasoning_text(self) -> str:
        return "".join(self.reasoning_parts())

    def visible_text(self) -> str:
        """Return the content, with the reasoning inside it if the reply is tagged."""
        tagged = f"<{self.tags}>{self.reasoning_text()}</{self.tags}>" if self.tags else ""
        return tagged + (self.content or "")


class Knobs(Struct, frozen=True, forbid_unknown_fields=True):
    """Variations of the Responses API: how strictly items are paired, and the form of its events.

    ``context_limit``, in tokens of four bytes, is of both APIs: whether a refusal states it, and the list of models.
    So is what the model can't do; ``gives_no_reason``: its refusal doesn't say what was wrong.
    """

    context_limit: int | None = None
    states_limit: bool = False
    lists_limit: bool = False
    refuses_tools: bool = False
    refuses_system: bool = False
    must_alternate: bool = False
    refuses_user_after_tool: bool = False
    refuses_images: bool = False
    gives_no_reason: bool = False

    pairing: Literal["position", "strict"] = "position"
    extra_item_keys: dict[str, Any] = {}
    done_order: Literal["index", "reversed"] = "index"
    interleaved: bool = False  # the text events of all items in turn
    omit_reasoning_done: bool = False
    omit_completed_output: bool = False
    empty_summary: bool = False


class ScriptFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A script with settings for all replies. ``models`` adds names to the model table, in front of it."""

    replies: list[Reply] = []
    knobs: Knobs = Knobs()
    models: dict[str, str] = {}


class Pending:
    """A reply in the queue and the rest of its faults."""

    def __init__(self, index: int, reply: Reply) -> None:
        self.index = index
        self.reply = reply
        self._uses_left = [fault.times for fault in reply.faults]

    def faults(self) -> list[Fault]:
        """Return the faults that are still to happen."""
        return [fault for fault, left in zip(self.reply.faults, self._uses_left, strict=True) if left]

    def spend(self, fault: Fault) -> None:
        """Count one use of a fault."""
        place = next(n for n, known in enumerate(self.reply.faults) if known is fault)
        self._uses_left[place] -= 1


class Script:
    """The queue of replies and the settings that came with them."""

    def __init__(self, source: ScriptFile | None = None) -> None:
        self.source = source or ScriptFile()
        self._queue = [Pending(n, reply) for n, reply in enumerate(self.source.replies)]

    def next_for(self, messages: Any) -> Pending | None:
        """Return the reply for this request and leave it in the queue."""
        text, outputs = newest_question(messages)
        return next(
            (
                one
                for one in self._queue
                if one.reply.match.last_user_contains in text and one.reply.match.tool_outputs_at_least <= outputs
            ),
            None,
        )

    def remove(self, pending: Pending) -> None:
        if not pending.reply.repeat:
            self._queue.remove(pending)

    def put_back(self, pending: Pending) -> None:
        """Return a reply that never reached its end to its old place."""
        if pending not in self._queue:
            bisect.insort(self._queue, pending, key=lambda one: one.index)


def parse_script(source: Any) -> Script:
    """Return a script from JSON values. Raises ScriptError naming the place."""
    try:
        return Script(msgspec.convert({"replies": source} if isinstance(source, list) else source, ScriptFile))
    except (msgspec.ValidationError, ValueError) as error:
        raise ScriptError(str(error)) from error


def arguments_text(arguments: str | Mapping[str, Any]) -> str:
    """Return scripted arguments in the form that is sent."""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def newest_question(messages: Any) -> tuple[str, int]:
    """Return the text of the last user message and the number of tool results after it."""
    if isinstance(messages, str):
        return messages, 0
    outputs = 0
    listed = messages if isinstance(messages, list) else []
    for message in reversed([one for one in listed if isinstance(one, Mapping)]):
        if message.get("role") == "user":
            return text_of(message.get("content")), outputs
        outputs += message.get("role") == "tool" or message.get("type") == "function_call_output"
    return "", outputs


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
