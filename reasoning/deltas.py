"""The values of a running stream: what a provider yields (``RawDelta``), and pieces on a channel (``Delta``).

The normaliser turns the first into the second, each on exactly one ``Channel`` (product 1). None of them is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

# Scratchpad imports the token estimate of replay; at run time that would be a circle.
if TYPE_CHECKING:
    from reasoning.scratchpad import Scratchpad


class Channel(StrEnum):
    """Where a piece of model output belongs. ``VISIBLE`` exists only between normaliser and sections."""

    VISIBLE = "visible"
    ANSWER = "answer"
    SUMMARY = "summary"
    THINKING = "thinking"
    SCRATCHPAD = "scratchpad"
    TOOL = "tool"


class Delta(Struct, frozen=True):  # created twice per token, eight times as fast as a frozen dataclass
    """One piece on one channel.

    ``text`` is a ``Scratchpad`` on that channel and a str on every other. On ``TOOL`` it is a piece of the arguments,
    and ``index``, ``call_id`` and ``name`` say which call (as far as they came with this piece).
    """

    channel: Channel
    text: str | Scratchpad
    index: int | None = None
    call_id: str | None = None
    name: str | None = None


class RawFields(Struct, frozen=True):  # one for each token, like Delta
    """Text fields of one provider delta.

    Any of ``content``, ``reasoning_content``, ``reasoning``, ``thinking``, ``reasoning_details``, ``tool_calls``,
    ``signatures`` (opaque fields of the message by their names) and ``reasoning_summary`` (of the Responses API); the
    core ignores others. ``message`` numbers the message item that the
    content belongs to; over the chat API there is one only.
    """

    fields: Mapping[str, Any]
    message: int = 0


@dataclass(frozen=True, slots=True)
class RawItem:
    """A finished opaque item of the Responses API, as its done event carried it."""

    output_index: int
    item: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawMessage:
    """The place of a finished message item among the other items; its text came before, under this number.

    ``phase`` is what the service says of it (``commentary``, ``final_answer``), empty where it says nothing.
    """

    number: int
    phase: str = ""


@dataclass(frozen=True, slots=True)
class RawUsage:
    """Token counts of one response. Reasoning tokens are contained in ``output_tokens``. None: not reported."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RawEnd:
    """The end of the response: ``stop``, ``tool_calls``, ``length`` or ``content_filter``. Product 32.

    A stream that ends without one was cut off.
    """

    finish_reason: str
    model: str = field(default="")


RawDelta = RawFields | RawItem | RawMessage | RawUsage | RawEnd


MAX_SLICE_CHARS = 16_384


def split_long_text(raw: RawDelta) -> Sequence[RawDelta]:
    """Return ``raw``; if it is one very long text, that in pieces, so that none blocks the event loop for long.

    A delta of several fields stays whole, for a service may have put one text into two of them.
    """
    if isinstance(raw, RawFields) and len(raw.fields) == 1:
        ((name, text),) = raw.fields.items()
        if isinstance(text, str) and len(text) > MAX_SLICE_CHARS:
            starts = range(0, len(text), MAX_SLICE_CHARS)
            return [RawFields({name: text[start : start + MAX_SLICE_CHARS]}, raw.message) for start in starts]
    return (raw,)
