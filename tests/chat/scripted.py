"""A model service that says byte for byte what a test wants said, odd JSON included; decoded as any other's."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from chat.providers.base import ProviderRequest
from chat.providers.openai_chat import ChatDecoder
from reasoning.deltas import RawDelta

Delta = dict[str, Any]


class ScriptedProvider:
    """Says one list of deltas for each request, in order, then ``After.`` for ever."""

    name = model = "scripted"
    identity = "scripted"
    starts_in_reasoning = False
    context_limit = None

    def __init__(self, *replies: Sequence[Delta]) -> None:
        self._replies = list(replies)

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield one response."""
        decoder = ChatDecoder()
        for delta in self._replies.pop(0) if self._replies else [{"content": "After."}]:
            for raw in decoder.feed(payload(delta)):
                yield raw
        for raw in (*decoder.feed(b"[DONE]"), *decoder.finish()):
            yield raw


def payload(delta: Delta) -> bytes:
    """Return a chunk as services send it: what is no text in UTF-8 goes out as an escape."""
    return json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()


def call(arguments: str, *, name: str = "searchFilings", id_: str = "call_1") -> Delta:
    """Return the delta of a whole tool call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]}
