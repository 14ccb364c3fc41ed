"""Failures of a model service: our codes, reasons and messages, whatever the envelope."""

import json
import socket
from collections.abc import Callable
from itertools import cycle
from typing import Any

import httpx2
import pytest

from chat.providers import OPENAI_URL
from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.connections import Connection, build_client
from chat.providers.errors import (
    Endpoint,
    failure_from_object,
    failure_from_status,
    failure_from_transport,
    retry_after_s,
)
from chat.providers.openai_chat import OpenAIChatProvider
from reasoning.deltas import RawEnd
from tests.contract_server.client import user
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.script import WORDINGS

KEY = "tiny-secret-0123456789"
ENDPOINT = Endpoint("models.example:8443", "kimi-k9", (KEY,))
KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"
VERIFIED = "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content"
REFUSALS = {  # texts of services by reason
    "ciphertext": [
        f"{VERIFIED} could not be decrypted or parsed.",
        f"{VERIFIED} item_id did not match the target item id.",
        "The encrypted content gAAA...x9Q= could not be verified.",
        "messages.3.content.0: Invalid `signature` in `thinking` block",
        "Thought signature is not valid.",
    ],
    "not_found_item": [
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    ],
    "unpaired_item": [
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
    ],
    "missing_reasoning": [
        KIMI,
        "Missing `reasoning_content` field in the assistant message at message index 2. "
        "For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Function call is missing a thought_signature in functionCall parts.",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ],
    "reasoning_refused": [
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
        "property 'messages.2.assistant.reasoning' is unsupported",
        "The reasoning_content is an intermediate result for display purposes only and will not be included in the "
        "context for inference. Please remove the reasoning_content from your message to reduce network traffic.",
        "Unknown parameter: 'input[4].reasoning_content'.",
        "Unknown name \"reasoning_content\" at 'messages[1]': Cannot find field.",
    ],
    "effort": [
        "Unsupported value: 'xhigh' is not supported with the 'gpt-5-mini' model. Use reasoning.effort low.",
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "Unrecognized request argument supplied: reasoning_effort",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort')}]",
        "Unsupported value: 'high'. Supported values of the effort are: 'none'",
        "Invalid value: 'max'.",
        "Unknown parameter: 'reasoning'.",
        "Unknown parameter: 'thinking'.",
    ],
    "max_tokens": ["Unknown parameter: 'reasoning.max_tokens'.", "Unexpected key thinking.budget_tokens"],
    "summary": ["Your organization must be verified to generate reasoning summaries."],
    "include": ["Encrypted content is not supported with this model."],
    "enabled": [
        "invalid thinking: this model does not support disabling it.",
        "Reasoning is mandatory for this endpoint and cannot be disabled.",
    ],
}
ADVICE = {
    "ciphertext": "reasoning.includeInContext to false",
    "not_found_item": "reasoning.includeInContext to false",
    "unpaired_item": "reasoning.includeInContext to false",
    "missing_reasoning": "reasoning.includeInContext to true",
    "reasoning_refused": "reasoning.includeInContext to false",
    "effort": "reasoning.effort",
    "max_tokens": "Unset reasoning.maxTokens",
    "summary": "reasoning.summary to none",
    "include": "OPENAI_API=chat",
    "enabled": "reasoning.enabled to true",
}
ENVELOPES: tuple[Callable[[str], Any], ...] = (
    lambda text: {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}},
    lambda text: {"error": {"type": "<nil>", "message": f"{text} (request id: X)"}, "type": "error"},
    lambda text: {"code": 20015, "message": text, "data": None},
    lambda text: {"error": text},
    lambda text: [{"error": {"message": text}}],
    lambda text: {"detail": [{"type": "value_error", "loc": ["body"], "msg": text}]},
    lambda text: {
        "error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": {"message": text}})}}
    },
    lambda text: text,
)
OVERFLOWS = [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    "Range of input length should be [1, 129024]",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "tokens to keep from the initial prompt is greater than the context length",
    "The model is loaded with context length of only 4096 tokens, which is not enough",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    *(wording for wording, _ in WORDINGS),
]


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
    "rate_limited": (429,),
    "timeout": (408, 504),
    "server_error": (500, 502, 503, 529),
}


@pytest.mark.parametrize(("code", "status"), [(code, status) for code, found in STATUSES.items() for status in found])
def test_status_decides_whatever_the_body(status, code):
    for body in (b"", b"<html><body>Oops</body></html>", b'{"error":{"message":"Oops"}}', b"null", b"[1"):
        error = failure(status, body)

        assert (error.code, error.retryable) == (code, code in ("rate_limited", "timeout", "server_error"))
        assert "<" not in error.message


@pytest.mark.parametrize("envelope", range(len(ENVELOPES)))
def test_refusal_quotes_the_service_and_names_the_setting(envelope):
    error = failure(400, ENVELOPES[envelope](KIMI))

    assert (error.code, error.reason) == ("refused", "missing_reasoning")
    assert f"The model service refused the request: {KIMI}" in error.message
    assert " This model needs its earlier thinking back: set reasoning.includeInContext to true" in error.message


@pytest.mark.parametrize(
    ("reason", "text", "envelope"),
    [
        (reason, text, envelope)
        for (reason, text), envelope in zip(
            [(reason, text) for reason, texts in REFUSALS.items() for text in texts], cycle(ENVELOPES), strict=False
        )
    ],
)
def test_reason_is_recognised_by_parts_of_the_text(reason, text, envelope):
    error = failure(400, envelope(text))

    assert (error.code, error.reason, error.retryable) == ("refused", reason, False)
    assert ADVICE[reason] in error.message


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, said("No.", code="invalid_encrypted_content"), "ciphertext"),
        (
            422,
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"]}]},
            "reasoning_refused",
        ),
        (400, said("Invalid value: 'lots'.", param="reasoning.effort"), "effort"),
        (400, said("Invalid value: 'long'.", param="reasoning.summary"), "summary"),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning"], "msg": "Extra"}]}, "effort"),
        (404, said(REFUSALS["not_found_item"][0]), "not_found_item"),
    ],
)
def test_reason_is_recognised_by_codes_and_parameters(status, body, reason):
    assert failure(status, body).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "Missing required parameter: 'input[1].summary'.",
        "No tool output found for function call call_1.",
        "Invalid value for 'content': expected a string, got null.",
        "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2]).",
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "max_tokens must be at least 1",
    ],
)
def test_other_refusals_have_no_reason(text):
    error = failure(400, said(text, type="invalid_request_error"))

    assert (error.code, error.reason) == ("refused", "")
    assert "reasoning." not in error.message.removeprefix(text)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, said("Too many requests for reasoning models, effort unsupported"), "rate_limited"),
        (401, said("Unknown parameter: 'reasoning'."), "authentication"),
        (500, said("Unexpected error in the reasoning parser"), "server_error"),
        (400, said("reasoning unsupported: maximum context length is 10"), "context_overflow"),
        (
            413,
            said("Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000"),
            "rate_limited",
        ),
        (400, said("API key not valid. Please pass a valid API key."), "authentication"),
        (400, said("no", code="context_length_exceeded"), "context_overflow"),
    ],
)
def test_other_kinds_of_failure_have_no_reason(status, body, code):
    error = failure(status, body)

    assert (error.code, error.reason) == (code, "")


@pytest.mark.parametrize(
    "text", [*REFUSALS["ciphertext"][:2], *REFUSALS["unpaired_item"], *REFUSALS["missing_reasoning"][:4]]
)
def test_refusal_under_a_server_error_status_is_not_retried(text):
    error = failure(503, said(text))

    assert (error.code, error.retryable) == ("refused", False)
    assert error.reason


@pytest.mark.parametrize("text", OVERFLOWS)
def test_context_overflow_is_recognised_by_its_text(text):
    assert {failure(status, said(text)).code for status in (400, 500)} == {"context_overflow"}


NO_MODEL = "The model service does not offer the model “kimi-k9”. Check OPENAI_MODEL."
NO_QUOTA = "The account at the model service has no quota left. Top it up, or use another key."
NO_KEY = "The model service did not accept the key, or the key may not use this model. Check OPENAI_API_KEY."
NOT_THERE = "Nothing is served at that address of models.example:8443 (HTTP 404)."
LOST = "The API deployment for this resource does not exist. If you created it just now, please wait a moment."
NO_ACCESS = "The model `kimi-k9` does not exist or you do not have access to it."
ANSWERS: dict[str, list[tuple[int, Any, str]]] = {  # by service: status, body, the words that people see
    "OpenAI": [
        (404, said(NO_ACCESS, type="invalid_request_error", param=None, code="model_not_found"), NO_MODEL),
        (404, said("The model `gpt-4-32k` has been deprecated, learn more here: https://x.example"), NO_MODEL),
        (403, said("Project `proj_1` does not have access to model `kimi-k9`", code="model_not_found"), "proj_1"),
        (403, said("Country, region, or territory not supported", code="unsupported_country_region"), "territory not"),
        (403, said("You have insufficient permissions for this operation. Missing scopes: model.request"), NO_KEY),
        (429, said("You exceeded your current quota", code="insufficient_quota"), NO_QUOTA),
        (404, said("Invalid URL (POST /v1/v1/chat/completions)"), NOT_THERE),
    ],
    "Azure": [
        (404, said(LOST, code="DeploymentNotFound"), NO_MODEL),
        (404, said("Resource not found", code="404"), NOT_THERE),
    ],
    "OpenRouter": [
        (400, said("kimi-k9 is not a valid model ID", code=400), "not a valid model ID. Check OPENAI_MODEL."),
        (404, said("No endpoints found for vendor/kimi-k9.", code=404), NO_MODEL),
        (
            404,
            said("No endpoints found that support tool use. To learn more see https://x.example"),
            "that support tool",
        ),
        (404, said("No endpoints found matching your data policy (Free model publication)."), "matching your data"),
        (403, said("kimi-k9 requires moderation on X. Your input was flagged for “violence”."), "requires moderation"),
        (402, said("This request requires more credits, or fewer max_tokens.", code=402), NO_QUOTA),
        (403, said("Key limit exceeded (total limit). Manage it in your settings.", code=403), NO_QUOTA),
    ],
    "DeepSeek": [
        (400, said("Model Not Exist", code="invalid_request_error"), "Model Not Exist. Check OPENAI_MODEL."),
        (402, said("Insufficient Balance", type="unknown_error", code="invalid_request_error"), NO_QUOTA),
    ],
    "Anthropic's OpenAI address": [
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: kimi-k9"}}, NO_MODEL),
        (400, said("Your credit balance is too low to access the Anthropic API.", type="invalid_request"), NO_QUOTA),
        (403, said("OAuth authentication is currently not allowed for this organization."), NO_KEY),
    ],
    "vLLM": [
        (404, {"object": "error", "message": "The model `kimi-k9` does not exist.", "code": 404}, NO_MODEL),
        (404, {"detail": "Not Found"}, NOT_THERE),
        (400, said('"auto" tool choice requires --enable-auto-tool-choice to be set'), "requires --enable-auto-tool"),
    ],
    "llama.cpp": [
        (404, said("File Not Found", type="not_found_error", code=404), NOT_THERE),
        (400, said("model 'kimi-k9' not found", type="invalid_request_error"), "not found. Check OPENAI_MODEL."),
        (401, said("Invalid API Key", type="authentication_error", code=401), NO_KEY),
    ],
    "Ollama": [
        (404, said("model 'kimi-k9' not found, try pulling it first", type="api_error"), NO_MODEL),
        (404, {"error": "model 'kimi-k9' not found"}, NO_MODEL),
        (400, said("registry.ollama.ai/library/gemma:2b does not support tools"), "does not support tools."),
        (404, b"404 page not found", NOT_THERE),
    ],
    "LiteLLM": [
        (
            400,
            said("Invalid model name passed in model=kimi-k9. Call `/v1/models`.", code="400"),
            "Check OPENAI_MODEL.",
        ),
        (400, said("No connected db.", type="no_db_connection", code="400"), "No connected db."),
        (400, said("Budget has been exceeded! Current cost: 0.2, Max budget: 0.1", type="budget_exceeded"), NO_QUOTA),
    ],
    "Gemini's OpenAI address": [
        (
            404,
            [{"error": {"code": 404, "message": "models/x is not found for API version v1", "status": "NOT_FOUND"}}],
            NO_MODEL,
        ),
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], NO_KEY),
        (403, [{"error": {"code": 403, "message": "Your project has been denied access."}}], "been denied access."),
    ],
    "Mistral": [
        (
            400,
            {"object": "error", "message": "Invalid model: kimi-k9", "type": "invalid_model", "code": "1500"},
            "Invalid model: kimi-k9. Check OPENAI_MODEL.",
        ),
        (404, {"message": "no Route matched with those values"}, "no Route matched"),
        (401, {"message": "Unauthorized", "request_id": "x"}, NO_KEY),
    ],
    "Groq": [
        (404, said(NO_ACCESS, code="model_not_found"), NO_MODEL),
        (
            400,
            said("The model `x` has been decommissioned and is no longer supported.", code="model_decommissioned"),
            "no longer supported. Check OPENAI_MODEL.",
        ),
        (403, said("Access denied. Please check your network settings."), "check your network settings."),
    ],
    "aimock": [(404, said("No fixture matched", code="no_fixture_match"), "the request: No fixture matched.")],
    "others": [
        (400, said("The model `kimi-k9` is not supported."), "not supported. Check OPENAI_MODEL."),
        (400, said("Model kimi-k9 not supported"), "not supported. Check OPENAI_MODEL."),
        (400, said("With this model streaming is not supported"), "streaming is not supported."),
        (400, said("For model `kimi-k9` the role system is not supported"), "role system is not supported."),
    ],
    "a proxy": [
        (403, b"<html><title>403 Forbidden</title></html>", NO_KEY),
        (403, b"", NO_KEY),
        (404, b"", NOT_THERE),
        (404, b"no healthy upstream", "no healthy upstream"),
        (402, b"<html>pay</html>", NO_QUOTA),
        (403, b'"only a string"', "only a string."),
        (404, [], NOT_THERE),
    ],
}


# review U D3
@pytest.mark.parametrize(
    ("status", "body", "words"),
    [pytest.param(*row, id=f"{name} {row[0]}") for name, rows in ANSWERS.items() for row in rows],
)
def test_answer_of_a_service_is_read_as_it_means(status, body, words):
    error = failure(status, body)

    assert words in error.message
    assert ("OPENAI_MODEL" in error.message) == ("OPENAI_MODEL" in words or words == "proj_1")
    assert not error.retryable
    assert len(error.message) < 500
    # Each sentence of ours is either the whole message or no part of it.
    assert all(error.message == whole for whole in (NO_MODEL, NO_QUOTA, NO_KEY) if whole in error.message)
    assert (error.code == "authentication") == (words == NO_KEY)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ({"message": "Insufficient Balance", "code": "402"}, "rate_limited", NO_QUOTA),
        ({"message": "Nope", "type": "insufficient_balance"}, "rate_limited", NO_QUOTA),
        ("model 'kimi-k9' not found", "server_error", "The model service failed (in the middle of its answer)."),
        ({"message": NO_ACCESS, "code": "model_not_found"}, "refused", NO_MODEL),
        ({"message": "Your input was flagged", "code": 403}, "refused", "Your input was flagged."),
        (["odd", {"message": "Invalid model: x", "type": "invalid_model"}], "refused", "Check OPENAI_MODEL."),
        (None, "server_error", "The model service failed (in the middle of its answer)."),
    ],
)
def test_error_inside_a_stream_is_read_as_it_means(error, code, words):
    found = failure_from_object(error, ENDPOINT)

    assert found.code == code
    assert words in found.message


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("0", "in a moment"),
        ("-5", "in a moment"),
        ("nan", "in a moment"),
        ("soon", "in a moment"),
        ("7.2", "in about 8 seconds"),
        ("90", "in about 90 seconds"),
        ("100", "in about 2 minutes"),
        ("7200", "in about 2 hours"),
        ("86400", "tomorrow"),
        ("8.64e7", "tomorrow"),
        ("9" * 300, "tomorrow"),
        ("9" * 400, "in a moment"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "tomorrow"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "in a moment"),
    ],
)
def test_time_of_the_next_try_is_said_in_plain_words(header, words):  # review S L8
    error = failure(429, said("Slow down"), retry_after=header)

    assert error.message == f"The model is rate-limited. Try again {words}."
    assert 0 <= (error.retry_after_s or 0) <= 86_400


@pytest.mark.parametrize(
    ("status", "body", "api", "advice"),
    [
        (404, said("The model `kimi-k9` does not exist", code="model_not_found"), "chat", "Check OPENAI_MODEL."),
        (404, b"404 page not found", "chat", "Check OPENAI_BASE_URL; it often ends in /v1."),
        (404, b"<html>no</html>", "chat", "OPENAI_BASE_URL"),
        (404, b"404 page not found", "responses", "OPENAI_API=chat is the other way."),
        (404, said("Invalid URL (POST /v1/responses)"), "responses", "OPENAI_API=chat"),
        (404, said("This model is only served at /v1/chat/completions."), "responses", "Set OPENAI_API=chat."),
        (
            404,
            said("This model is only supported in v1/responses and not in v1/chat/completions."),
            "chat",
            "Set OPENAI_API=responses.",
        ),
        (
            400,
            said(
                "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "
                "Please use /v1/responses instead."
            ),
            "chat",
            "Set OPENAI_API=responses, or reasoning.effort to none.",
        ),
    ],
)
def test_wrong_address_model_or_api_is_named(status, body, api, advice):
    message = failure(status, body, Endpoint("models.example", "kimi-k9", (), api)).message

    assert message.endswith(advice) or advice in message
    assert ("OPENAI_API=" in message) == ("OPENAI_API=" in advice)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_key_is_never_echoed(status):
    error = failure(status, said(f"Incorrect thing {KEY} provided: {KEY}"))

    assert KEY not in error.message + str(error)


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
    assert "models.example:8443" in error.message


async def test_refusal_without_a_word_names_the_setting_only_where_thinking_was_sent(upstream):
    fault = {"kind": "http_error", "status": 400, "body": "empty", "times": 2}
    upstream.script([{"content": "x", "faults": [fault]}])

    error = await refused(
        upstream, user(), {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}, user()
    )
    plain = await refused(upstream, user())

    assert (error.code, error.reason, plain.reason) == ("refused", "reasoning_refused", "")
    assert "reasoning.includeInContext" in error.message


async def refused(upstream: ContractHandle, *messages: dict[str, Any]) -> ProviderError:
    provider = OpenAIChatProvider(Connection(upstream.base_url, "test-key"), "plain-model")
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(ProviderRequest({"messages": list(messages)}, "", (), "")):
            pass
    return caught.value


async def test_optional_parameters_are_left_out_one_by_one_from_then_on():
    seen = []

    def handle(sent):
        seen.append({"stream_options", "prompt_cache_key"} & set(json.loads(sent.content)))
        if seen[-1]:
            return httpx2.Response(422, json={"error": {"message": f"Unknown parameter: '{min(seen[-1])}'."}})
        return httpx2.Response(200, json={"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})

    client = build_client(Connection(OPENAI_URL, "k"), transport=httpx2.MockTransport(handle))
    provider = OpenAIChatProvider(Connection(OPENAI_URL, "k"), "m", client=client)
    request = ProviderRequest({"messages": [user()]}, "", (), "conversation-1")
    for _ in range(2):
        assert isinstance([delta async for delta in provider.stream(request)][-1], RawEnd)

    assert seen == [{"stream_options", "prompt_cache_key"}, {"stream_options"}, set(), set()]
    await client.close()


# review U D2
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


# review U D7
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
    message = failure(400, said(text)).message

    assert shown is None or shown.rstrip(".") in message
    assert len(message) < 500
