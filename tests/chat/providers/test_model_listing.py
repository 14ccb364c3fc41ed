"""The one-line set-up: the model is the first that the endpoint lists, and every failure says what else to do."""

from collections.abc import Callable

import httpx2
import pytest

from chat.providers.base import ProviderError, ProviderRequest, shown_model
from chat.providers.connections import Connection, build_client
from chat.providers.openai_chat import OpenAIChatProvider
from chat.texts.error_texts import failure_text
from tests.chat.streams import failure

PATHS = {
    "/models/Tiny-Q4.gguf": "Tiny-Q4.gguf",
    "/models/Qwen3/": "Qwen3",
    "~/models/x.gguf": "x.gguf",
    "./x.gguf": "x.gguf",
    "..\\models\\x.gguf": "x.gguf",
    "C:\\Users\\Ann\\x.gguf": "x.gguf",
    "d:/models/x.gguf": "x.gguf",
    "\\\\server\\share\\x.gguf": "x.gguf",
    "file:///srv/models/x": "x",
    "/": "model",
    "/..": "model",
}
NAMES = ("Qwen/Qwen3-8B", "vendor/model:free", "accounts/a/models/b", "gpt-5-mini", "llama3.2:3b", "models/gemini", "")
REQUEST = ProviderRequest({"messages": [{"role": "user", "content": "Why?"}]}, "", (), "")
LOCAL = "http://127.0.0.1:9/v1"
Answer = Callable[[httpx2.Request], httpx2.Response]


async def found_model(answer: Answer) -> str:
    client = build_client(Connection(LOCAL, "none"), transport=httpx2.MockTransport(answer))
    try:
        return await OpenAIChatProvider(Connection(LOCAL, "none"), "", client=client).find_model()
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
async def test_listing_that_fails_is_no_dead_end(answer):
    with pytest.raises(ProviderError) as failed:
        await found_model(answer)

    assert failure_text(failed.value, for_staff=True).partition(" The service said")[0].endswith("et OPENAI_MODEL.")


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
async def test_first_model_that_can_chat_is_found_in_any_listing(listing, name):
    assert await found_model(lambda _sent: httpx2.Response(200, json=listing)) == name


@pytest.mark.parametrize(("model", "shown"), [*PATHS.items(), *zip(NAMES, NAMES, strict=True)])
def test_path_is_shown_by_its_last_part_and_a_name_whole(model, shown):
    assert shown_model(model) == shown


ANSWER = '{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("It works!\n", "malformed"),
        ('{"a": 1}', "malformed"),
        ('{"a": 1}\n{"b": 2}\n', "malformed"),
        ("[]", "malformed"),
        ('{"choices": [{"delta": {"content": "o"}}]}\n', "disconnected"),
        (ANSWER[:-2], "disconnected"),
        ("", "disconnected"),
        (": hello\n\n", "disconnected"),
        ("event: ping\n\n", "disconnected"),
        ('data: {"choices": [{"delta": {"content": "o"}}]}\n\n', "disconnected"),
    ],
)
async def test_body_that_is_no_stream_names_the_address_and_a_torn_one_does_not(body, code):
    headers = {"content-type": "text/plain"}
    answer = httpx2.MockTransport(lambda _sent: httpx2.Response(200, text=body, headers=headers))
    client = build_client(Connection(LOCAL, "none"), transport=answer)

    _received, error = await failure(OpenAIChatProvider(Connection(LOCAL, "none"), "m", client=client), REQUEST)
    await client.close()

    assert error.code == code
    assert ("OPENAI_BASE_URL" in failure_text(error, for_staff=True)) == (code == "malformed")


async def test_failure_beside_empty_choices_is_a_failure():
    body = {"id": "1", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    client = build_client(
        Connection(LOCAL, "none"), transport=httpx2.MockTransport(lambda _sent: httpx2.Response(200, json=body))
    )

    _received, error = await failure(OpenAIChatProvider(Connection(LOCAL, "none"), "m", client=client), REQUEST)
    await client.close()

    assert error.reason == "quota"
