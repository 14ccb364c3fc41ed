"""Chat completions over real HTTP, against the strict upstream."""

import asyncio
import json
import socket
from typing import Any

import httpx2
import pytest

from chat.providers import ProviderConfig, openai_http, provider_for
from chat.providers.base import ProviderRequest
from chat.providers.connections import NO_KEY, Connection, build_client
from chat.providers.openai_chat import OpenAIChatProvider
from chat.texts.error_texts import failure_text
from reasoning.deltas import RawEnd, RawFields, RawUsage
from replay_contract_server.fixture import ContractHandle
from tests.chat.streams import answer, failure, text

QUESTION = {"role": "user", "content": "How much?"}
TOOL = {"type": "function", "function": {"name": "searchFilings", "parameters": {"type": "object", "properties": {}}}}
REQUEST = ProviderRequest({"messages": [QUESTION]}, "", (), "conversation-1")


def provider(upstream: ContractHandle, model: str = "plain-model", **options: Any) -> OpenAIChatProvider:
    return OpenAIChatProvider(Connection(upstream.base_url, "test-key"), model, **options)


def sse(delta: dict[str, Any]) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()


async def test_address_alone_uses_the_first_listed_model(upstream):
    upstream.script([{"content": "Hello."}])
    found = await provider_for(ProviderConfig(Connection(upstream.base_url, NO_KEY)))

    assert found.model == found.name == "plain-model"
    assert text(await answer(found, REQUEST)) == "Hello."
    assert upstream.requests()[-1]["headers"]["authorization"] == "Bearer none"


def test_identity_separates_endpoints_and_keys_and_shows_neither_key_nor_password():
    one = Connection("https://me:pw@Models.Example/v1/", "key-1")
    other = Connection("https://models.example/v1", "key-2")

    assert one.identity.split("#")[0] == other.identity.split("#")[0] == "https://models.example/v1"
    assert one.identity != other.identity
    assert "pw" not in one.identity
    assert "key-1" not in one.identity + repr(one)


async def test_answer_streams_with_thinking_end_and_counts(upstream):
    upstream.script([{"reasoning": "Let me see.", "content": "Umsätze stiegen.", "chunk": 3}])

    deltas = await answer(provider(upstream), REQUEST)

    assert text(deltas) == "Umsätze stiegen."
    assert text(deltas, "reasoning_content") == "Let me see."
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["stop"]
    assert isinstance(deltas[-1], RawUsage)


async def test_instructions_come_first_and_tools_are_offered(upstream):
    upstream.script([{"tool_calls": [{"name": "searchFilings", "arguments": {"query": "x"}}], "chunk": 2}])

    deltas = await answer(provider(upstream), ProviderRequest(REQUEST.body, "Be brief.", (TOOL,), ""))

    body = upstream.requests()[0]["body"]
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, QUESTION]
    assert (body["tools"], body["model"]) == ([TOOL], "plain-model")
    pieces = [call for delta in deltas if isinstance(delta, RawFields) for call in delta.fields.get("tool_calls", ())]
    assert "".join(piece["function"].get("arguments") or "" for piece in pieces) == '{"query":"x"}'


async def test_texts_that_arrive_together_are_one_delta():
    """Also where a failure follows them in the same read."""
    pieces = [
        f'data: {{"choices":[{{"delta":{{"{name}":"x"}}}}]}}\n\n' for name in ("reasoning",) * 3 + ("content",) * 2
    ]
    stream = "".join(pieces) + "data: {broken\n\n"
    client = _client(httpx2.Response(200, content=stream.encode(), headers={"content-type": "text/event-stream"}))

    received, error = await failure(
        OpenAIChatProvider(Connection("http://models.example", "k"), "m", client=client), REQUEST
    )

    assert received == [RawFields({"reasoning": "xxx"}), RawFields({"content": "xx"})]
    assert error.code == "malformed"
    await client.close()


@pytest.mark.parametrize(
    "form", ["split_codepoint", "missing_done", "invalid_utf8", "oversized_line", "duplicate_event"]
)
async def test_unusual_stream_is_read_to_its_end(upstream, form):
    upstream.script(
        [{"content": "Umsätze ü stiegen.", "chunk": "word", "faults": [{"kind": "malformed_sse", "form": form}]}]
    )

    deltas = await answer(provider(upstream), REQUEST)

    assert "stiegen." in text(deltas) or form == "invalid_utf8"
    assert any(isinstance(delta, RawEnd) for delta in deltas)


@pytest.mark.parametrize("form", ["truncated_json", "not_json"])
async def test_stream_that_is_no_json_is_malformed(upstream, form):
    upstream.script(
        [{"content": "So it is.", "chunk": "word", "faults": [{"kind": "malformed_sse", "form": form, "event": 2}]}]
    )

    received, error = await failure(provider(upstream), REQUEST)

    assert error.code == "malformed"
    assert received


@pytest.mark.parametrize("mode", ["fin", "truncate", "rst"])
@pytest.mark.parametrize("at", ["first_event", "event:2", "inside_event:2:20"])
async def test_stream_that_breaks_off_is_disconnected(upstream, mode, at):
    fault = {"kind": "disconnect", "at": at, "mode": mode}
    upstream.script([{"content": "So it is, in a few words.", "chunk": "word", "faults": [fault]}])

    _, error = await failure(provider(upstream), REQUEST)

    assert (error.code, error.retryable) == ("disconnected", True)


async def test_silence_ends_after_the_idle_time(upstream):
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])

    received, error = await failure(
        OpenAIChatProvider(Connection(upstream.base_url, "test-key", idle_s=0.3), "plain-model"), REQUEST
    )

    assert (error.code, error.retryable) == ("timeout", True)
    assert received


@pytest.mark.spec("product 25")
@pytest.mark.parametrize(
    ("first_s", "idle_s", "begins", "setting"),
    [(0.3, 60, False, "FIRST_WORD_TIMEOUT_S"), (60, 0.3, True, "UPSTREAM_IDLE_TIMEOUT_S")],
)
@pytest.mark.parametrize(
    "empty",
    [b": keep-alive\n\n", sse({"content": ""}), sse({"tool_calls": [{"index": 0}]})],
    ids=["comment", "empty text", "empty call"],
)
async def test_only_words_are_signs_of_life(first_s, idle_s, begins, setting, empty):
    async def drip():
        if begins:
            yield sse({"content": "Well"})
        while True:
            yield empty
            await asyncio.sleep(0.01)

    client = _client(httpx2.Response(200, content=drip(), headers={"content-type": "text/event-stream"}))
    one = OpenAIChatProvider(
        Connection("http://models.example", "k", first_s=first_s, idle_s=idle_s), "m", client=client
    )

    received, error = await failure(one, REQUEST)

    assert (error.code, text(received)) == ("timeout", "Well" if begins else "")
    assert setting in failure_text(error, for_staff=True)
    await client.close()


async def test_answer_ends_though_comments_follow_it_for_ever(monkeypatch):
    monkeypatch.setattr(openai_http, "_USAGE_S", 0.3)

    async def drip():
        yield sse({"content": "So it is."}) + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
        while True:
            yield b": keep-alive\n\n"
            await asyncio.sleep(0.01)

    client = _client(httpx2.Response(200, content=drip(), headers={"content-type": "text/event-stream"}))
    async with asyncio.timeout(30):
        received = await answer(
            OpenAIChatProvider(Connection("http://models.example", "k"), "m", client=client), REQUEST
        )

    assert text(received) == "So it is."
    await client.close()


async def test_first_word_may_take_longer_than_the_next():
    async def late():
        await asyncio.sleep(0.3)
        yield sse({"content": "So it is."}) + b"data: [DONE]\n\n"

    client = _client(httpx2.Response(200, content=late(), headers={"content-type": "text/event-stream"}))
    one = OpenAIChatProvider(Connection("http://models.example", "k", first_s=60, idle_s=0.1), "m", client=client)

    assert text(await answer(one, REQUEST)) == "So it is."
    await client.close()


@pytest.mark.parametrize("is_joined", [False, True])
async def test_nothing_is_read_behind_the_end_mark(is_joined):
    pieces = [sse({"content": "So."}), b"data: [DONE]\n\n", sse({"content": "So."})]

    async def body():
        for piece in [b"".join(pieces)] if is_joined else pieces:
            yield piece

    client = _client(httpx2.Response(200, content=body(), headers={"content-type": "text/event-stream"}))

    assert (
        text(await answer(OpenAIChatProvider(Connection("http://models.example", "k"), "m", client=client), REQUEST))
        == "So."
    )
    await client.close()


async def test_closing_the_stream_closes_the_upstream(upstream):
    upstream.script([{"content": "So it is.", "chunk": "word", "faults": [{"kind": "stall", "at": "event:2"}]}])
    stream = provider(upstream).stream(REQUEST)
    await anext(stream)

    await stream.aclose()

    await asyncio.to_thread(upstream.wait_for, closed=upstream.requests()[0]["serial"])


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"kind": "http_error", "status": 401, "body": "html"}, "authentication"),
        ({"kind": "server_error", "status": 503}, "server_error"),
        ({"kind": "error_event"}, "server_error"),
    ],
)
async def test_failure_has_our_code_and_is_not_retried(upstream, fault, code):
    upstream.script([{"content": "x", "faults": [fault]}])

    _, error = await failure(provider(upstream), REQUEST)

    assert error.code == code
    assert "test-key" not in f"{error} {error.params} {error.detail}"
    assert len(upstream.requests()) == 1


async def test_web_page_instead_of_an_answer_is_malformed():
    client = _client(httpx2.Response(200, text="<html>Sign in</html>", headers={"content-type": "text/html"}))

    _, error = await failure(OpenAIChatProvider(Connection("http://models.example", "k"), "m", client=client), REQUEST)

    assert error.code == "malformed"
    assert error.reason == "web_page"
    await client.close()


def _client(response: httpx2.Response) -> Any:
    def respond(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(404) if request.url.path.endswith("/models") else response  # it lists no limits

    transport = httpx2.MockTransport(respond)
    return build_client(Connection("http://models.example", "k"), transport=transport)


async def test_address_without_a_server_is_unreachable():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        _, error = await failure(OpenAIChatProvider(Connection(f"http://127.0.0.1:{port}/v1", "k"), "m"), REQUEST)

    assert (error.code, error.retryable) == ("unreachable", True)
    assert error.params["host"] == f"127.0.0.1:{port}"
