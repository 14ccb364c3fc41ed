"""The one-line set-up: the model is the first that the endpoint lists, and every failure says what else to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from chat.providers.base import ProviderError
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_http import Connection, build_client

LOCAL = "http://127.0.0.1:9/v1"
Answer = Callable[[httpx2.Request], httpx2.Response]


async def found_model(answer: Answer) -> str:
    client = build_client(Connection(LOCAL, "none"), transport=httpx2.MockTransport(answer))
    try:
        return await OpenAIChatProvider(LOCAL, "none", "", client=client).find_model()
    finally:
        await client.close()


def unreachable(_sent: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("no route")


@pytest.mark.parametrize(
    "answer",
    [
        lambda _sent: httpx2.Response(500, json={"error": {"message": "HF_HOME is not set"}}),
        lambda _sent: httpx2.Response(503, text="<html>starting</html>"),
        lambda _sent: httpx2.Response(404, json={"detail": "Not Found"}),
        lambda _sent: httpx2.Response(400, json={"error": {"message": "No connected db."}}),
        lambda _sent: httpx2.Response(401),
        lambda _sent: httpx2.Response(200, text="<html>hello</html>"),
        lambda _sent: httpx2.Response(200, json={"data": []}),
        lambda _sent: httpx2.Response(200, json={"data": [{"id": ""}, {"id": 7}, None]}),
        lambda _sent: httpx2.Response(200, json=None),
        unreachable,
    ],
)
async def test_listing_that_fails_is_no_dead_end(answer: Answer) -> None:  # review U D5
    with pytest.raises(ProviderError) as failed:
        await found_model(answer)

    assert failed.value.message.endswith("ame the model in OPENAI_MODEL.")


@pytest.mark.parametrize(
    ("listing", "name"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, "a"),
        ([{"id": "a"}], "a"),
        ({"models": [{"name": "a", "model": "a"}], "object": "list"}, "a"),
        ({"data": ["a", "b"]}, "a"),
        ({"data": None, "models": [{"id": "a"}]}, "a"),
        ({"data": [{"id": "text-embedding-nomic-embed-text-v1.5"}, {"id": "qwen3"}]}, "qwen3"),
        ({"data": [{"id": "whisper-large-v3"}, {"id": "bge-reranker"}, {"id": "llama"}]}, "llama"),
        ({"data": [{"id": "nomic-embed-text"}]}, "nomic-embed-text"),
    ],
)
async def test_first_model_that_can_chat_is_found_in_any_listing(listing: Any, name: str) -> None:
    assert await found_model(lambda _sent: httpx2.Response(200, json=listing)) == name
