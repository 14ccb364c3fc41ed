"""What the tests of the Responses adapter share: a step with items of every kind, asking, and reading what came."""

from __future__ import annotations

from typing import Any

import pytest

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.openai_responses import OpenAIResponsesProvider
from reasoning.deltas import RawDelta, RawFields, RawItem
from tests.contract_server.fixture import ContractHandle

ASK = {"role": "user", "content": "How much?"}
PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look it up.", "parameters": PARAMETERS}}
SUMMARY = ["**Looking**", "It rose."]
STEP = {
    "items": [
        {"type": "reasoning", "summary": SUMMARY},
        {"type": "function_call", "name": "look", "arguments": '{ "query" : "x" }', "call_id": "call_a"},
        {"type": "reasoning"},
        {"type": "message", "text": "One moment, ü."},
        {"type": "function_call", "name": "look", "arguments": {"query": "y"}, "call_id": "call_b"},
    ],
    "chunk": 3,
}
PLACES = [("item", "rs_1"), ("call", "call_a"), ("item", "rs_2"), ("message", ""), ("call", "call_b")]
EVENTS = 30  # of a stream of STEP in pieces of 16 characters


def provider(upstream: ContractHandle, model: str = "gpt-5-mini", **options: Any) -> OpenAIResponsesProvider:
    return OpenAIResponsesProvider(upstream.base_url, "test-key", model, **options)


def request(*items: dict[str, Any], tools: tuple[dict[str, Any], ...] = (TOOL,), **body: Any) -> ProviderRequest:
    stateless = {"store": False, "include": ["reasoning.encrypted_content"]}
    return ProviderRequest({"input": [ASK, *items], **stateless, **body}, "Be brief.", tools, "conversation-1")


async def answer(asked: OpenAIResponsesProvider, sent: ProviderRequest | None = None) -> list[RawDelta]:
    return [delta async for delta in asked.stream(sent or request())]


async def failure(
    asked: OpenAIResponsesProvider, sent: ProviderRequest | None = None
) -> tuple[list[RawDelta], ProviderError]:
    """Return what came before the failure, and the failure."""
    came: list[RawDelta] = []
    with pytest.raises(ProviderError) as caught:
        await _collect(asked, sent or request(), came)
    return came, caught.value


async def _collect(asked: OpenAIResponsesProvider, sent: ProviderRequest, came: list[RawDelta]) -> None:
    async for delta in asked.stream(sent):
        came.append(delta)


def text(deltas: list[RawDelta], field: str = "content") -> str:
    return "".join(delta.fields.get(field, "") for delta in deltas if isinstance(delta, RawFields))


def items(deltas: list[RawDelta]) -> list[dict[str, Any]]:
    """Return the reasoning items."""
    return [dict(one.item) for one in deltas if isinstance(one, RawItem) and one.item["type"] == "reasoning"]


def places(deltas: list[RawDelta]) -> list[tuple[str, str]]:
    """Return what stands where among the items."""
    found = []
    for delta in deltas:
        if isinstance(delta, RawItem):
            is_message = delta.item == {"type": "message"}
            found.append(("message", "") if is_message else ("item", delta.item["id"]))
        elif isinstance(delta, RawFields):
            found += [("call", call["id"]) for call in delta.fields.get("tool_calls", ())]
    return found


def replayed(deltas: list[RawDelta]) -> list[dict[str, Any]]:
    """Return the items of the next request: as they came, calls and message without ids, then the outputs."""
    back, outputs = [], []
    for delta in deltas:
        if isinstance(delta, RawItem) and delta.item["type"] == "message":
            back.append({"role": "assistant", "content": text(deltas)})
        elif isinstance(delta, RawItem):
            back.append(dict(delta.item))
        elif isinstance(delta, RawFields):
            for call in delta.fields.get("tool_calls", ()):
                back.append({"type": "function_call", "call_id": call["id"], **call["function"]})
                outputs.append({"type": "function_call_output", "call_id": call["id"], "output": "12"})
    return [*back, *outputs]
