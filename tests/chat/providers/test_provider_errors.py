"""Failures of a model service: our codes, reasons and parameters, whatever the envelope."""

import json
import socket
from collections.abc import Callable
from contextlib import nullcontext
from itertools import cycle
from typing import Any

import httpx2
import pytest

from chat.providers import OPENAI_URL
from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.connections import Connection, build_client
from chat.providers.errors import (
    WAITS,
    Endpoint,
    failure_from_object,
    failure_from_status,
    failure_from_transport,
    retry_after_s,
)
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.wordings import WORDINGS
from reasoning.deltas import RawEnd
from replay_contract_server.client import user
from replay_contract_server.fixture import ContractHandle
from replay_contract_server.script import WORDINGS as OVERFLOWS

KEY = "tiny-secret-0123456789"
ENDPOINT = Endpoint("models.example:8443", "kimi-k9", (KEY,))
KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"
# What a row of the wordings comes to under a status that blames the request: its code and reason.
MEANINGS = {
    "context_overflow": ("context_overflow", ""),
    "rate_limited": ("rate_limited", ""),
    "quota": ("rate_limited", "quota"),
    "authentication": ("authentication", ""),
    "server_error": ("server_error", ""),
    "loading": ("server_error", "loading"),
}
EXAMPLES = [(row, text) for row in WORDINGS for text in row.examples]
ENVELOPES: tuple[Callable[[str, str], Any], ...] = (
    lambda text, code: {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": code}},
    lambda text, code: {
        "error": {"type": "<nil>", "message": f"{text} (request id: X)", "code": code},
        "type": "error",
    },
    lambda text, code: {"code": 20015, "message": text, "data": None, "type": code},
    lambda text, code: {"error": text, "code": code},
    lambda text, code: [{"error": {"message": text, "status": code}}],
    lambda text, code: {"detail": [{"type": code, "loc": ["body"], "msg": text}]},
    lambda text, code: {"success": False, "result": None, "errors": [{"message": text, "code": code}]},
    lambda text, code: {"errorCode": code, "errorMessage": text},
    lambda text, code: {"error_code": "X", "message": json.dumps({"own_model_error": {"message": text, "code": code}})},
    lambda text, code: {
        "error": {
            "message": "Provider returned error",
            "metadata": {"raw": json.dumps({"error": {"message": text, "code": code}})},
        }
    },
)


def failure(
    status: int, body: Any, endpoint: Endpoint = ENDPOINT, *, replays: bool = False, **headers: str
) -> ProviderError:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure_from_status(status, content, named, endpoint, replays_thinking=replays)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": text, **more}}


STATUSES = {
    "refused": (400, 404, 422),
    "authentication": (401,),
    "context_overflow": (413,),
    "rate_limited": (429, 498),
    "timeout": (408, 504),
    "server_error": (409, 423, 425, 499, 500, 502, 503, 529),
}


@pytest.mark.parametrize(("code", "status"), [(code, status) for code, found in STATUSES.items() for status in found])
def test_status_decides_whatever_the_body(status, code):
    for body in (b"", b"<html><body>Oops</body></html>", b'{"error":{"message":"Oops"}}', b"null", b"[1"):
        error = failure(status, body)

        assert (error.code, error.retryable) == (code, code in ("rate_limited", "timeout", "server_error"))
        assert "<" not in error.detail


@pytest.mark.parametrize(
    ("row", "example", "envelope"),
    [(row, text, envelope) for (row, text), envelope in zip(EXAMPLES, cycle(ENVELOPES), strict=False)],
)
def test_each_example_is_read_as_its_row_says(row, example, envelope):
    text, _newline, code = example.partition("\n")

    error = failure(400, envelope(text, code))

    assert (error.code, error.reason) == MEANINGS.get(row.kind, ("refused", row.kind))
    assert error.retryable == (error.code in ("rate_limited", "server_error") and error.reason != "quota")
    assert not text or error.detail.startswith(text[:200])


@pytest.mark.parametrize(("row", "example"), [(row, text) for row, text in EXAMPLES if row.any_status])
def test_plain_words_count_under_any_status_and_inside_a_stream(row, example):
    text, _newline, code = example.partition("\n")
    found = [failure(404, said(text, code=code)), failure(500, said(text, code=code))]
    found.append(failure_from_object({"message": text, "code": code}, ENDPOINT))

    assert {(error.code, error.reason) for error in found} == {MEANINGS.get(row.kind, ("refused", row.kind))}
    assert not any(error.retryable for error in found)


@pytest.mark.parametrize("text", [wording for wording, _code in OVERFLOWS])
def test_overflow_is_recognised_under_any_status(text):
    assert {failure(status, said(text)).code for status in (400, 404, 413, 500)} == {"context_overflow"}


# Texts that are near to those of the table, and mean something else.
OTHERS: list[tuple[int, Any, str, str]] = [
    (400, said("Missing required parameter: 'input[1].summary'."), "refused", ""),
    (400, said("No tool output found for function call call_1."), "refused", ""),
    (400, said("Unsupported value: 'temperature' does not support 0.2 with this model."), "refused", ""),
    (400, said("max_tokens must be at least 1"), "refused", ""),
    (400, said("Unknown parameter: 'parallel_tool_calls'.", type="invalid_request_error"), "refused", ""),
    (400, said("With this model streaming is not supported"), "refused", ""),
    (400, said("tool description is too long"), "refused", ""),
    (400, said("Die Anfrage hat das Zeitlimit überschritten."), "refused", ""),
    (400, said("Das Token-Kontingent wurde überschritten."), "refused", ""),
    (429, said("Anzahl der Tokens pro Minute überschritten"), "rate_limited", ""),
    (429, said("Request too large for m on tokens per min (TPM): Limit 6000, Requested 9000"), "context_overflow", ""),
    (429, said("Rate limit reached for m on TPM: Limit 6000, Used 5000, Requested 2000"), "rate_limited", ""),
    (400, said("La requête a dépassé le délai imparti."), "refused", ""),
    (400, said("Le fichier joint au message est trop grand."), "refused", ""),
    (400, said("At most 128 stop sequences are allowed"), "refused", ""),
    (400, said("Invalid schema for response_format 'answer'"), "refused", ""),
    (400, said("max_tokens is too large: 5000. This model supports at most 4096"), "refused", ""),
    (
        400,
        said(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
            type="invalid_request_error",
        ),
        "refused",
        "results",
    ),
    (429, said("Too many requests for reasoning models, effort unsupported"), "rate_limited", ""),
    (401, said("Unknown parameter: 'reasoning'."), "authentication", ""),
    (500, said("Unexpected error in the reasoning parser"), "server_error", ""),
    (500, said("Unexpected error in the image service"), "server_error", ""),
    (502, said("Provider returned empty content"), "server_error", ""),
    (500, said("Internal error in the tool server"), "server_error", ""),
    (503, said("Loading model"), "server_error", "loading"),
    (403, said("Rate limit exceeded, retry later", code="rate_limit_exceeded"), "rate_limited", ""),
    (400, said("number of output tokens exceeds the maximum allowed 8192"), "refused", ""),
    (400, said("The requested number of messages exceeds the limit of 100"), "refused", ""),
    (400, said("Tool description length exceeds the maximum of 1024"), "refused", ""),
    (400, said("JSON mode cannot be combined with tool calling"), "refused", ""),
    (400, said("InternalError.Algo.InvalidParameter: the parameter is wrong"), "refused", ""),
    (403, said("Content violates usage guidelines. API key ID: k1, Model: kimi-k9"), "refused", "policy"),
    (424, said("ModelErrorException"), "server_error", ""),
    (400, said("reasoning unsupported: maximum context length is 10"), "context_overflow", ""),
    (400, said("input image is too large"), "refused", "images"),
    (400, said("Your input was flagged. Please try again later."), "refused", "policy"),
    (404, said("The model `kimi-k9` does not exist, try again later"), "refused", "unknown_model"),
    (404, said("The model `kimi-k9` is overloaded and not available"), "server_error", ""),
    (400, said("Invalid value: 'lots'.", param="reasoning.effort"), "refused", "effort"),
    (
        422,
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"]}]},
        "refused",
        "reasoning_refused",
    ),
]


@pytest.mark.parametrize(("status", "body", "code", "reason"), OTHERS)
def test_near_texts_are_told_apart(status, body, code, reason):
    error = failure(status, body)

    assert (error.code, error.reason) == (code, reason)


# How services answer: code and reason.
UNKNOWN = ("refused", "unknown_model")
QUOTA = ("rate_limited", "quota")
KEYS = ("authentication", "")
PATH = ("refused", "wrong_path")
OTHER = ("refused", "")
LOST = "The API deployment for this resource does not exist. If you created it just now, please wait a moment."
NO_ACCESS = "The model `kimi-k9` does not exist or you do not have access to it."
ANSWERS: dict[str, list[tuple[int, Any, tuple[str, str]]]] = {
    "OpenAI": [
        (404, said(NO_ACCESS, type="invalid_request_error", param=None, code="model_not_found"), UNKNOWN),
        (404, said("The model `gpt-4-32k` has been deprecated, learn more here: https://x.example"), UNKNOWN),
        (403, said("Project `proj_1` does not have access to model `kimi-k9`", code="model_not_found"), UNKNOWN),
        (403, said("Country, region, or territory not supported", code="unsupported_country_region"), OTHER),
        (403, said("You have insufficient permissions for this operation. Missing scopes: model.request"), KEYS),
        (429, said("You exceeded your current quota", code="insufficient_quota"), QUOTA),
        (404, said("Invalid URL (POST /v1/v1/chat/completions)"), PATH),
    ],
    "Azure": [
        (404, said(LOST, code="DeploymentNotFound"), UNKNOWN),
        (404, said("Resource not found", code="404"), PATH),
    ],
    "OpenRouter": [
        (400, said("kimi-k9 is not a valid model ID", code=400), UNKNOWN),
        (404, said("No endpoints found for vendor/kimi-k9.", code=404), UNKNOWN),
        (
            404,
            said("No endpoints found that support tool use. To learn more see https://x.example"),
            ("refused", "tools"),
        ),
        (404, said("No endpoints found matching your data policy (Free model publication)."), OTHER),
        (403, said("kimi-k9 requires moderation on X. Your input was flagged for “violence”."), ("refused", "policy")),
        (402, said("This request requires more credits, or fewer max_tokens.", code=402), QUOTA),
        (403, said("Key limit exceeded (total limit). Manage it in your settings.", code=403), QUOTA),
    ],
    "DeepSeek": [
        (400, said("Model Not Exist", code="invalid_request_error"), UNKNOWN),
        (402, said("Insufficient Balance", type="unknown_error", code="invalid_request_error"), QUOTA),
    ],
    "Anthropic's OpenAI address": [
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: kimi-k9"}}, UNKNOWN),
        (400, said("Your credit balance is too low to access the Anthropic API.", type="invalid_request"), QUOTA),
        (403, said("OAuth authentication is currently not allowed for this organization."), KEYS),
    ],
    "vLLM": [
        (404, {"object": "error", "message": "The model `kimi-k9` does not exist.", "code": 404}, UNKNOWN),
        (404, {"detail": "Not Found"}, PATH),
        (400, said('"auto" tool choice requires --enable-auto-tool-choice to be set'), ("refused", "tools")),
    ],
    "llama.cpp": [
        (404, said("File Not Found", type="not_found_error", code=404), PATH),
        (400, said("model 'kimi-k9' not found", type="invalid_request_error"), UNKNOWN),
        (401, said("Invalid API Key", type="authentication_error", code=401), KEYS),
    ],
    "Ollama": [
        (404, said("model 'kimi-k9' not found, try pulling it first", type="api_error"), UNKNOWN),
        (404, {"error": "model 'kimi-k9' not found"}, UNKNOWN),
        (400, said("registry.ollama.ai/library/gemma:2b does not support tools"), ("refused", "tools")),
        (404, b"404 page not found", PATH),
    ],
    "LiteLLM": [
        (
            400,
            said("Invalid model name passed in model=kimi-k9. Call `/v1/models`.", code="400"),
            UNKNOWN,
        ),
        (400, said("No connected db.", type="no_db_connection", code="400"), OTHER),
        (400, said("Budget has been exceeded! Current cost: 0.2, Max budget: 0.1", type="budget_exceeded"), QUOTA),
    ],
    "Gemini's OpenAI address": [
        (
            404,
            [{"error": {"code": 404, "message": "models/x is not found for API version v1", "status": "NOT_FOUND"}}],
            UNKNOWN,
        ),
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], KEYS),
        (403, [{"error": {"code": 403, "message": "Your project has been denied access."}}], OTHER),
    ],
    "Mistral": [
        (
            400,
            {"object": "error", "message": "Invalid model: kimi-k9", "type": "invalid_model", "code": "1500"},
            UNKNOWN,
        ),
        (404, {"message": "no Route matched with those values"}, OTHER),
        (401, {"message": "Unauthorized", "request_id": "x"}, KEYS),
    ],
    "Groq": [
        (404, said(NO_ACCESS, code="model_not_found"), UNKNOWN),
        (
            400,
            said("The model `x` has been decommissioned and is no longer supported.", code="model_decommissioned"),
            UNKNOWN,
        ),
        (403, said("Access denied. Please check your network settings."), OTHER),
    ],
    "aimock": [(404, said("No fixture matched", code="no_fixture_match"), OTHER)],
    "others": [
        (400, said("The model `kimi-k9` is not supported."), UNKNOWN),
        (400, said("Model kimi-k9 not supported"), UNKNOWN),
        (400, said("With this model streaming is not supported"), OTHER),
        (400, said("response_format is not supported with tools"), OTHER),
        (400, said("logprobs are not supported when tools are used"), OTHER),
        (400, said("Multiple system messages are not supported"), OTHER),
        (400, said("The model produced too many tokens"), OTHER),
        (400, said("For model `kimi-k9` the role system is not supported"), ("refused", "system_role")),
    ],
    "a proxy": [
        (403, b"<html><title>403 Forbidden</title></html>", KEYS),
        (403, b"", KEYS),
        (404, b"", PATH),
        (404, b"no healthy upstream", OTHER),
        (402, b"<html>pay</html>", QUOTA),
        (403, b'"only a string"', OTHER),
        (404, [], PATH),
    ],
}


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [pytest.param(*row, id=f"{name} {row[0]}") for name, rows in ANSWERS.items() for row in rows],
)
def test_answer_of_a_service_is_read_as_it_means(status, body, meaning):
    error = failure(status, body)

    assert (error.code, error.reason) == meaning
    assert not error.retryable


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ({"message": "Insufficient Balance", "code": "402"}, QUOTA),
        ({"message": "Nope", "type": "insufficient_balance"}, QUOTA),
        ("model 'kimi-k9' not found", ("server_error", "")),
        ({"message": NO_ACCESS, "code": "model_not_found"}, UNKNOWN),
        ({"message": "Your account is locked", "code": 403}, OTHER),
        (["odd", {"message": "Invalid model: x", "type": "invalid_model"}], UNKNOWN),
        (None, ("server_error", "")),
        ({"code": 1302, "msg": "Rate limit reached"}, ("rate_limited", "")),
        ({"message": "The model is at capacity", "type": "invalid_request_error"}, ("server_error", "")),
        ({"message": "Please try again later", "code": 400}, ("server_error", "")),
        ({"message": "Conflict", "code": 409}, ("server_error", "")),
        ({"code": 20015, "msg": "prompt is too long"}, ("context_overflow", "")),
        ({"success": False, "errors": [{"code": 7009, "message": "Upstream unavailable"}]}, ("server_error", "")),
        ({"success": False, "errors": [{"code": 10000, "message": "Authentication error"}]}, KEYS),
        ({"message": "Output data may contain inappropriate content."}, ("refused", "policy")),
        ({"status_code": 1027, "status_msg": "output new_sensitive"}, ("refused", "policy")),
        ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, ("rate_limited", "")),
    ],
)
def test_error_inside_a_stream_is_read_as_it_means(error, meaning):
    found = failure_from_object(error, ENDPOINT)

    assert (found.code, found.reason) == meaning
    assert "status" not in found.params


@pytest.mark.parametrize(
    ("status", "body", "api", "reason", "other_api"),
    [
        (404, said("The model `kimi-k9` does not exist", code="model_not_found"), "chat", "unknown_model", None),
        (404, b"404 page not found", "chat", "wrong_path", None),
        (404, b"<html>no</html>", "chat", "wrong_path", None),
        (404, b"404 page not found", "responses", "wrong_path", "chat"),
        (404, said("Invalid URL (POST /v1/responses)"), "responses", "wrong_path", "chat"),
        (404, said("This model is only served at /v1/chat/completions."), "responses", "other_api", "chat"),
        (
            404,
            said("This model is only supported in v1/responses and not in v1/chat/completions."),
            "chat",
            "other_api",
            "responses",
        ),
        (
            400,
            said(
                "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "
                "Please use /v1/responses instead."
            ),
            "chat",
            "effort",
            "responses",
        ),
    ],
)
def test_wrong_address_model_or_api_is_recognised(status, body, api, reason, other_api):
    error = failure(status, body, Endpoint("models.example", "kimi-k9", (), api))

    assert (error.code, error.reason, error.params.get("other_api")) == ("refused", reason, other_api)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_key_is_never_echoed(status):
    error = failure(status, said(f"Incorrect thing {KEY} provided: {KEY}"))

    assert KEY not in error.detail + str(error) + str(error.params)
    assert "[redacted]" in error.detail


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after-ms": "nonsense", "retry-after": "2"}, 2.0),
        ({}, None),
    ],
)
def test_wait_is_read_in_every_form(headers, expected):
    assert retry_after_s(headers) == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *((example, seconds) for _pattern, example, seconds in WAITS),
        ("Rate limit reached on tokens per minute (TPM): Limit 6000. Please try again in 850ms.", 0.85),
        ("Please retry in 26.660853464s.", 26.660853464),
        ("please try again after 1 seconds", 1.0),
        ("Your quota will reset after 2h7m23s.", 7643.0),
        ("Please wait 10 seconds before the next request", 10.0),
        ("Try again in 2 minutes.", 120.0),
        ("try again later", None),
        ("Retry in a few seconds", None),
        ("The wait for model 7 s2 is long", None),
    ],
)
def test_wait_is_read_from_the_words_where_no_header_says_it(text, seconds):
    body = f"{{{text}}}" if text.startswith('"') else json.dumps(said(text))

    assert failure(429, body.encode()).retry_after_s == seconds
    assert failure(429, body.encode(), retry_after="4").retry_after_s == 4.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x_ratelimit_reset_after": "3"}, 3.0),
        ({"ratelimit_reset": "12"}, 12.0),
        ({"x_ratelimit_reset": "1792567730"}, 50.0),
        ({"x_ratelimit_reset": "1792567730000"}, 50.0),
        ({"x_ratelimit_reset": "1692567730"}, None),
        ({"x_ratelimit_reset_tokens": "2m59.5s", "x_ratelimit_remaining_tokens": "0"}, 179.5),
        ({"x_ratelimit_reset_tokens": "2m59.5s", "x_ratelimit_remaining_tokens": "7"}, None),
        ({"x_ratelimit_reset_requests": "850ms", "x_ratelimit_remaining_requests": "0"}, 0.85),
        ({"x_ratelimit_reset_after": "3", "retry_after": "4"}, 4.0),
        ({"x_ratelimit_reset_after": "soon"}, None),
        ({"x_ratelimit_timeremaining": "30"}, 30.0),
        (
            {
                "anthropic_ratelimit_tokens_reset": "2026-10-21T07:29:00Z",
                "anthropic_ratelimit_tokens_remaining": "0",
            },
            60.0,
        ),
        ({"anthropic_ratelimit_tokens_reset": "2026-10-21T07:29:00Z"}, 60.0),
        ({"x_ratelimit_reset": "2026-10-21T07:29:00Z"}, 60.0),
        ({"x_ratelimit_reset": "2026-99-21T07:29:00Z"}, None),
    ],
)
def test_wait_is_read_from_when_a_limit_is_renewed(headers, seconds):
    date = "Wed, 21 Oct 2026 07:28:00 GMT"  # 1792567680
    quoted = said("slow down", metadata={"headers": {"X-RateLimit-Reset": "1792567730000"}})

    assert failure(429, said("slow down"), date=date, **headers).retry_after_s == seconds
    assert failure(429, quoted, date=date).retry_after_s == 50.0
    assert failure(400, quoted, date=date).retry_after_s is None


@pytest.mark.parametrize(
    "text",
    [
        "Limit resets at: 2026-10-21 07:29:00 UTC",
        '{"reset_at": "2026-10-21T07:29:00Z"}',
        "It resets 2026-10-21T09:29:00+02:00",
    ],
)
def test_wait_is_read_from_the_moment_that_the_words_state(text):
    date = "Wed, 21 Oct 2026 07:28:00 GMT"

    assert failure(429, text.encode(), date=date).retry_after_s == 60.0


def test_quota_that_is_renewed_in_seconds_is_a_rate():
    words = "You exceeded your current quota, please check your plan and billing details."

    assert failure(429, said(words)).reason == "quota"
    assert failure(429, said(f"{words} Please retry in 26.5s.")).reason == ""
    assert failure(402, said(f"{words} Please retry in 26.5s.")).reason == "quota"


class ConnectTimeout(Exception):
    """Named as the transport's."""


class ServerDisconnectedError(Exception):
    """Named as the transport's."""


class ReadTimeout(Exception):
    """Named as the transport's."""


@pytest.mark.parametrize(
    ("outer", "inner", "code"),
    [
        (ConnectTimeout(), None, "unreachable"),
        (ConnectTimeout(), ServerDisconnectedError(), "disconnected"),
        (ReadTimeout(), None, "timeout"),
        (RuntimeError(), ConnectionRefusedError(), "unreachable"),
        (RuntimeError(), ConnectionResetError(), "disconnected"),
        (RuntimeError(), socket.gaierror(), "unreachable"),
        (RuntimeError(), None, "disconnected"),
    ],
)
def test_transport_failure_is_judged_by_its_innermost_cause(outer, inner, code):
    outer.__cause__ = inner

    error = failure_from_transport(outer, ENDPOINT, connect_s=10, idle_s=60)

    assert (error.code, error.retryable) == (code, True)
    assert error.params["host"] == "models.example:8443"


async def test_refusal_without_a_word_is_put_down_to_thinking_that_was_sent(upstream):
    fault = {"kind": "http_error", "status": 400, "body": "empty", "times": 2}
    upstream.script([{"content": "x", "faults": [fault]}])

    error = await refused(
        upstream, user(), {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}, user()
    )
    plain = await refused(upstream, user())

    assert (error.code, error.reason, plain.reason) == ("refused", "reasoning_refused", "")


async def refused(upstream: ContractHandle, *messages: dict[str, Any]) -> ProviderError:
    provider = OpenAIChatProvider(Connection(upstream.base_url, "test-key"), "plain-model")
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(ProviderRequest({"messages": list(messages)}, "", (), "")):
            pass
    return caught.value


@pytest.mark.parametrize("status", [422, 404, 500])
async def test_optional_parameters_are_left_out_one_by_one_from_then_on(status):
    seen = []

    def handle(sent):
        seen.append({"stream_options", "prompt_cache_key"} & set(json.loads(sent.content)))
        if seen[-1]:
            return httpx2.Response(status, json={"error": {"message": f"Unknown parameter: '{min(seen[-1])}'."}})
        return httpx2.Response(200, json={"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})

    client = build_client(Connection(OPENAI_URL, "k"), transport=httpx2.MockTransport(handle))
    provider = OpenAIChatProvider(Connection(OPENAI_URL, "k"), "m", client=client)
    request = ProviderRequest({"messages": [user()]}, "", (), "conversation-1")
    for _ in range(2):
        assert isinstance([delta async for delta in provider.stream(request)][-1], RawEnd)

    assert seen == [{"stream_options", "prompt_cache_key"}, {"stream_options"}, set(), set()]
    await client.close()


@pytest.mark.spec("product 40")
@pytest.mark.parametrize(
    ("said", "tries"),
    [
        ("Unsupported value: 'high' is not supported with this model.", [True, False]),
        ('Invalid enum value. Expected one of "low" | "medium", received "high"', [True, False]),
        ("This word is not supported: high", [True]),
        ("A part of the request was called 'high'.", [True]),
    ],
)
async def test_optional_parameter_is_left_out_where_only_its_value_is_quoted(said, tries):
    seen = []

    def handle(sent):
        seen.append("reasoning_effort" in json.loads(sent.content))
        if seen[-1]:
            return httpx2.Response(400, json={"error": {"message": said}})
        return httpx2.Response(200, json={"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})

    client = build_client(Connection(OPENAI_URL, "k"), transport=httpx2.MockTransport(handle))
    provider = OpenAIChatProvider(Connection(OPENAI_URL, "k"), "m", client=client)
    body = {"messages": [user()], "reasoning_effort": "high"}
    with nullcontext() if len(tries) > 1 else pytest.raises(ProviderError):
        _ = [
            delta async for delta in provider.stream(ProviderRequest(body, "", (), "", optional=("reasoning_effort",)))
        ]

    assert seen == tries
    await client.close()


@pytest.mark.parametrize("is_stream", [True, False])
async def test_optional_parameter_that_is_refused_inside_an_answer_is_left_out(is_stream):
    seen = []

    def handle(sent):
        seen.append("stream_options" in json.loads(sent.content))
        if seen[-1]:
            error = {"error": {"message": "stream_options: Extra inputs are not permitted", "code": 400}}
            text = f"data: {json.dumps(error)}\n\n" if is_stream else json.dumps(error)
            return httpx2.Response(200, content=text)
        return httpx2.Response(200, json={"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})

    client = build_client(Connection(OPENAI_URL, "k"), transport=httpx2.MockTransport(handle))
    provider = OpenAIChatProvider(Connection(OPENAI_URL, "k"), "m", client=client)
    request = ProviderRequest({"messages": [user()]}, "", (), "")
    for _ in range(2):
        assert isinstance([delta async for delta in provider.stream(request)][-1], RawEnd)

    assert seen == [True, False, False]
    await client.close()


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ({"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 2228, "n_ctx": 2048}}, 2048),
        ({"error": '{"error": {"code": 400, "message": "exceed_context_size_error", "n_ctx": 2048}}'}, 2048),
        ("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", 4096),
        ("This model's maximum context length is 4,096 tokens. Please reduce the length of the messages.", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Input validation error: inputs tokens + max_new_tokens must be <= 4096", 4096),
        ("Range of input length should be [1, 129024]", 129_024),
        ("Your request exceeded model token limit: 262144 (requested: 300000)", 262_144),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131_072),
        ("prompt token count of 70000 exceeds the limit of 64000", 64_000),
        ("the request exceeds the available context size (8192 tokens), try increasing it", 8192),
        ("'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens", 4096),
        ("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131_040),
        ("Input length (265330) exceeds model's maximum context length (262144).", 262_144),
        ("Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)", 2048),
        ("Please reduce the length of the messages. Current length is 140000 while limit is 131072", 131_072),
        ("the input token count is 2097152 but model only supports up to 1048576", 1_048_576),
        ("the prompt contains 140000 tokens, which is over the limit of 131072", 131_072),
        ("the number of tokens in your request (9000) exceeds the model's limit (8192)", 8192),
        ("The request's total tokens (9000) exceeds the limit (8192)", 8192),
        ("Request body too large for kimi-k9 model. Max size: 8000 tokens.", 8000),
        ("prompt tokens 9000 exceeds n_ctx 4096", 4096),
        ("Exceeded maximum context: 8192", 8192),
        ("too many tokens: size limit exceeded by 1500. The limit for this model is 128000 tokens.", 128_000),
        ("invalid params, context window exceeds limit (2013)", None),  # MiniMax's code of the error
        ("prompt too long; exceeded max context length by 5000 tokens", None),
        ("the request exceeds the available context size, try increasing it", None),
        ("Please reduce the length of the messages or completion.", None),
        ("prompt is too long: 9 tokens > 8 maximum", None),
    ],
)
def test_limit_that_an_overflow_states_is_read(said, limit):
    body = said if isinstance(said, dict) else {"error": {"message": said, "code": "context_length_exceeded"}}

    whole = failure_from_status(400, json.dumps(body).encode(), {}, ENDPOINT)
    inside = failure_from_object(body["error"], ENDPOINT)

    assert [(error.code, error.context_limit) for error in (whole, inside)] == [("context_overflow", limit)] * 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("failed to load /home/op/models/a b.gguf now", "failed to load …/a b.gguf now"),
        ("no file '/srv/models/hf/x.json'", "no file '…/x.json'"),
        ("error in C:\\Users\\Ann\\x.gguf.", "error in …/x.gguf."),
        (r"open \\server\share\x.gguf failed", "open …/x.gguf failed"),
        ("~/models/x is missing", "…/x is missing"),
        ("POST /v1/chat/completions is not served", "POST /v1/chat/completions is not served"),
        (
            "see https://example.com/home/op/keys and openrouter.ai/data/x",
            "see https://example.com/home/op/keys and openrouter.ai/data/x",
        ),
        ("Qwen/Qwen3-8B and vendor/models/x are unknown here", "Qwen/Qwen3-8B and vendor/models/x are unknown here"),
        ("/" * 3000 + "home" + "/a" * 3000, None),
    ],
)
def test_folders_of_the_services_machine_are_not_quoted(text, shown):
    detail = failure(400, said(text)).detail

    assert shown is None or detail == shown
    assert len(detail) <= 301


@pytest.mark.spec("product 36")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bad message: '<scratchpad>PRIVATE</scratchpad>Yes.'", "Bad message: 'Yes.'"),
        ("Bad message: '<think>PRIVATE</think>Yes.'", "Bad message: '[redacted]Yes.'"),
        ("Bad message:\nScratchpad: PRIVATE", "Bad message:"),
        (r'Invalid arguments {"q": "\u003cscratchpad\u003ePRIVATE"}', 'Invalid arguments {"q": "'),
    ],
)
def test_private_text_of_a_refused_request_is_not_quoted(text, shown):
    assert failure(400, said(text)).detail == shown


def test_words_of_a_refusal_are_read_up_to_a_limit():
    within, beyond = ("Try again in 7s. ".rjust(size) for size in (15_000, 17_000))

    waits = [failure(429, said(text + "x" * 100_000)).retry_after_s for text in (within, beyond)]

    assert waits == [7.0, None]
