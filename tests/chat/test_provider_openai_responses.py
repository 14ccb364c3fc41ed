"""The Responses API over real HTTP, against the strict upstream."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from chat.providers import ProviderConfig, build_provider
from chat.providers.openai_client import Connection, build_client
from chat.providers.openai_responses import OpenAIResponsesProvider
from reasoning.deltas import RawEnd, RawFields, RawUsage
from tests.chat.responses_talk import (
    ASK,
    PARAMETERS,
    PLACES,
    STEP,
    answer,
    failure,
    places,
    provider,
    replayed,
    request,
    text,
)
from tests.contract_server.fixture import ContractHandle


async def test_answer_streams_and_items_follow_in_their_order(upstream: ContractHandle) -> None:
    upstream.script([STEP])

    deltas = await answer(provider(upstream))

    assert text(deltas) == "One moment, ü."
    assert text(deltas, "reasoning_summary") == "**Looking**\n\nIt rose.\n\n"
    assert places(deltas) == PLACES
    calls = [call for one in deltas if isinstance(one, RawFields) for call in one.fields.get("tool_calls", ())]
    assert [call["function"]["arguments"] for call in calls] == ['{ "query" : "x" }', '{"query":"y"}']
    assert [type(delta) for delta in deltas[-2:]] == [RawUsage, RawEnd]
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["tool_calls"]


async def test_request_is_stateless_and_in_this_api_s_form(upstream: ContractHandle) -> None:
    upstream.script([{"content": "Yes."}])

    await answer(provider(upstream), request(reasoning={"effort": "low", "summary": "auto"}))

    flat = {"type": "function", "name": "look", "description": "Look it up.", "parameters": PARAMETERS}
    assert upstream.requests()[0]["body"] == {
        "input": [ASK],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "model": "gpt-5-mini",
        "stream": True,
        "instructions": "Be brief.",
        "tools": [{**flat, "strict": False}],
        "prompt_cache_key": "conversation-1",
    }


@pytest.mark.spec("002 decision 1")
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"done_order": "reversed"},
        {"omit_reasoning_done": True},
        {"omit_completed_output": True},
        {"done_order": "reversed", "omit_completed_output": True},
        {"empty_summary": True},
        {"extra_item_keys": {"content": None, "phase": "new", "nested": {"b": [1, None], "a": 1.5}}},
    ],
)
async def test_what_was_captured_is_taken_back_verbatim(upstream: ContractHandle, knobs: dict[str, Any]) -> None:
    upstream.script([STEP, {"content": "It is 12."}], knobs={"pairing": "strict", **knobs})
    asked = provider(upstream)

    deltas = await answer(asked)

    assert places(deltas) == PLACES
    assert text(await answer(asked, request(*replayed(deltas)))) == "It is 12."
    assert [one["verdict"] for one in upstream.requests()] == ["accepted", "accepted"]


async def test_answer_that_is_not_streamed_is_read_whole(upstream: ContractHandle) -> None:
    upstream.script([STEP])

    deltas = await answer(provider(upstream), request(stream=False))

    assert text(deltas) == "One moment, ü."
    assert places(deltas) == PLACES


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("incomplete:max_output_tokens", "length"), ("incomplete:content_filter", "content_filter")],
)
async def test_incomplete_response_ends_with_its_reason(upstream: ContractHandle, finish: str, reason: str) -> None:
    upstream.script([{"reasoning": "Hm.", "content": "It ro", "finish": finish}])

    deltas = await answer(provider(upstream))

    assert text(deltas) == "It ro"
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == [reason]


async def test_rejected_ciphertext_says_so(upstream: ContractHandle) -> None:
    upstream.script([STEP, {"content": "x", "faults": [{"kind": "reject_ciphertext"}]}])
    asked = provider(upstream)
    back = replayed(await answer(asked))

    _, error = await failure(asked, request(*back))

    assert (error.code, error.reason, error.retryable) == ("refused", "ciphertext", False)
    assert len(upstream.requests()) == 2


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda back: [{**back[0], "encrypted_content": None}, *back[1:]], "not_found_item"),
        (lambda back: [{**back[0], "encrypted_content": back[0]["encrypted_content"] + "x"}, *back[1:]], "ciphertext"),
        (lambda back: [{**back[0], "id": "rs_9"}, *back[1:]], "ciphertext"),
        (lambda back: [back[0]], "unpaired_item"),
    ],
)
async def test_bad_replay_has_a_reason(upstream: ContractHandle, spoil: Any, reason: str) -> None:
    upstream.script([STEP, {"content": "x"}])
    asked = provider(upstream)
    back = replayed(await answer(asked))

    _, error = await failure(asked, request(*spoil(back)))

    assert (error.code, error.reason) == ("refused", reason)
    assert "reasoning.includeInContext" in error.message


async def test_refused_effort_names_its_setting(upstream: ContractHandle) -> None:
    upstream.script([{"content": "x"}], knobs={"effort_values": ["low"]})

    _, error = await failure(provider(upstream), request(reasoning={"effort": "xhigh"}))

    assert error.reason == "effort"
    assert "reasoning.effort" in error.message
    assert len(upstream.requests()) == 1


@pytest.mark.parametrize(
    ("parameter", "tries"), [("prompt_cache_key", [True, False, False]), ("include", [True]), ("reasoning", [True])]
)
async def test_only_a_parameter_that_changes_nothing_is_left_out(parameter: str, tries: list[bool]) -> None:
    seen: list[bool] = []
    done = {"type": "response.completed", "response": {"status": "completed", "output": [], "object": "response"}}

    def handle(sent: httpx2.Request) -> httpx2.Response:
        seen.append(parameter in json.loads(sent.content))
        if seen[-1]:
            return httpx2.Response(400, json={"error": {"message": f"Unknown parameter: '{parameter}'."}})
        content = f"data: {json.dumps(done)}\n\n".encode()
        return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})

    client = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    asked = OpenAIResponsesProvider("http://models.example/v1", "k", "m", client=client)
    for _ in range(2 if len(tries) > 1 else 0):
        assert isinstance((await answer(asked, request(reasoning={})))[-1], RawEnd)
    if len(tries) == 1:
        _, error = await failure(asked, request(reasoning={}))
        assert error.code == "refused"

    assert seen == tries
    await client.close()


def test_setting_chooses_this_api() -> None:
    found = build_provider(ProviderConfig(api_key="k", api="responses"))

    assert isinstance(found, OpenAIResponsesProvider)
    assert found.identity == build_provider(ProviderConfig(api_key="k")).identity
