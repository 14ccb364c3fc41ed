"""What services say when they fail, as our codes and as words that name what to do."""

from __future__ import annotations

import json
import socket
import ssl
from typing import Any

import pytest

from chat.providers.base import ProviderError
from chat.providers.errors import MAX_QUOTED_CHARS, Endpoint, failure_from_object, failure_from_status, retry_after_s
from chat.providers.transport_errors import failure_from_transport
from tests.contract_server.overflows import WORDINGS

KEY = "tiny-secret-0123456789"
ENDPOINT = Endpoint("models.example:8443", "kimi-k9", (KEY,))
MISSING = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"
OVERFLOWS = [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "The input (40123 tokens) is longer than the model's context length (32768 tokens).",
    "the request exceeds the available context size, try increasing it",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    "Please reduce the length of the messages or completion.",
    "Input is too long for requested model.",
    "Your request exceeded model token limit: 262144",
    "Range of input length should be [1, 129024]",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "tokens to keep from the initial prompt is greater than the context length",
    "The model is loaded with context length of only 4096 tokens, which is not enough",
    "prompt token count of 130000 exceeds the limit of 128000",
    "invalid params, context window exceeds limit",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Prompt exceeds max length",
    "Requested token count exceeds the model's maximum context length of 8192 tokens.",
    "too many tokens: size limit exceeded",
    *(wording for wording, _ in WORDINGS),
]


def failure(status: int, body: Any, **headers: str) -> ProviderError:
    said = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure_from_status(status, said, named, ENDPOINT)


@pytest.mark.parametrize(
    ("status", "code", "is_retryable"),
    [
        (400, "refused", False),
        (401, "authentication", False),
        (402, "refused", False),
        (403, "authentication", False),
        (404, "refused", False),
        (408, "timeout", True),
        (413, "context_overflow", False),
        (422, "refused", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (502, "server_error", True),
        (503, "server_error", True),
        (504, "timeout", True),
        (529, "server_error", True),
    ],
)
@pytest.mark.parametrize(
    "body", [b"", b"<html><body>Oops</body></html>", b'{"error":{"message":"Oops"}}', b"null", b"[1"]
)
def test_status_decides_whatever_the_body(status: int, code: str, is_retryable: bool, body: bytes) -> None:
    error = failure(status, body)

    assert (error.code, error.retryable) == (code, is_retryable)
    assert "<" not in error.message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": MISSING, "type": "invalid_request_error"}},
        {"error": MISSING},
        {"message": MISSING, "code": 40001},
        {"code": 20015, "message": MISSING, "data": None},
        {"error": {"type": "<nil>", "message": f"{MISSING} (request id: X)"}, "type": "error"},
        [{"error": {"message": MISSING}}],
        {"detail": [{"msg": MISSING, "loc": ["body"]}]},
        {
            "error": {
                "message": "Provider returned error",
                "metadata": {"raw": json.dumps({"error": {"message": MISSING}})},
            }
        },
        MISSING,
    ],
)
def test_refusal_quotes_the_service_and_names_the_setting(body: Any) -> None:
    error = failure(400, body)

    assert error.code == "refused"
    assert MISSING in error.message
    assert "reasoning.includeInContext" in error.message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "property 'messages.1.assistant.reasoning_content' is unsupported"}},
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "messages", 1, "assistant", "reasoning_content"],
                    "msg": "x",
                }
            ]
        },
    ],
)
def test_refused_thinking_names_the_setting_that_stops_it(body: Any) -> None:
    assert "reasoning.includeInContext to false" in failure(422, body).message


@pytest.mark.parametrize("wording", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 500])
def test_context_overflow_is_known_by_its_words(wording: str, status: int) -> None:
    assert failure(status, {"error": {"message": wording}}).code == "context_overflow"


def test_context_overflow_is_known_by_its_code() -> None:
    assert failure(400, {"error": {"message": "no", "code": "context_length_exceeded"}}).code == "context_overflow"


@pytest.mark.parametrize(
    "wording",
    [
        "Invalid value for 'content': expected a string, got null.",
        "The prompt is missing.",
        "Unknown parameter: 'context'.",
        "max_tokens must be at least 1",
        "The model `x` does not support tools.",
    ],
)
def test_other_refusals_are_no_overflow(wording: str) -> None:
    assert failure(400, {"error": {"message": wording}}).code == "refused"


def test_request_too_large_for_a_minute_is_a_rate_limit() -> None:
    wording = "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000"

    assert failure(413, {"error": {"message": wording}}).code == "rate_limited"


def test_used_up_quota_is_not_tried_again() -> None:
    error = failure(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})

    assert (error.code, error.retryable) == ("rate_limited", False)


def test_bad_key_is_known_under_a_wrong_status() -> None:
    assert (
        failure(400, {"error": {"message": "API key not valid. Please pass a valid API key."}}).code == "authentication"
    )


@pytest.mark.parametrize(
    "body", [{"error": {"message": "The model `kimi-k9` does not exist", "code": "model_not_found"}}]
)
def test_unknown_model_is_named(body: Any) -> None:
    message = failure(404, body).message

    assert "kimi-k9" in message
    assert "OPENAI_MODEL" in message


@pytest.mark.parametrize(
    "body", [b"404 page not found", b"404: Not Found", b'{"detail":"Not Found"}', b"<html>no</html>"]
)
def test_wrong_address_is_told_from_an_unknown_model(body: bytes) -> None:
    assert "OPENAI_BASE_URL" in failure(404, body).message


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_key_is_never_echoed(status: int) -> None:
    error = failure(status, {"error": {"message": f"Incorrect thing {KEY} provided: {KEY}"}})

    assert KEY not in error.message
    assert KEY not in str(error)


def test_words_of_a_service_are_cut() -> None:
    error = failure(400, {"error": {"message": "so many words " * 10_000}})

    assert len(error.message) < MAX_QUOTED_CHARS + 100


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after-ms": "nonsense", "retry-after": "2"}, 2.0),
        ({}, None),
    ],
)
def test_wait_is_read_in_every_form(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers) == expected


def test_wait_is_told_to_people_and_to_the_turn() -> None:
    error = failure(429, {"error": {"message": "slow down"}}, retry_after="7")

    assert error.retry_after_s == 7.0
    assert "7 s" in error.message


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("overloaded_error", "server_error"),
        ("invalid_api_key", "authentication"),
        ("rate_limit_exceeded", "rate_limited"),
        ("context_length_exceeded", "context_overflow"),
        ("invalid_prompt", "refused"),
        ("something_else", "server_error"),
    ],
)
def test_error_without_status_is_known_by_its_name(name: str, code: str) -> None:
    assert failure_from_object({"code": name, "message": "words"}, ENDPOINT).code == code


class ConnectTimeout(Exception):
    """Stands for the transport's, which this name is taken from."""


class ServerDisconnectedError(Exception):
    """Stands for the transport's."""


class ReadTimeout(Exception):
    """Stands for the transport's."""


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
def test_transport_failure_is_judged_by_its_innermost_cause(
    outer: Exception, inner: Exception | None, code: str
) -> None:
    outer.__cause__ = inner

    error = failure_from_transport(outer, ENDPOINT, connect_s=10, idle_s=60)

    assert (error.code, error.retryable) == (code, True)
    assert "models.example:8443" in error.message


def test_untrusted_certificate_is_not_tried_again() -> None:
    outer = ConnectTimeout()
    outer.__cause__ = ssl.SSLError("self-signed")

    error = failure_from_transport(outer, ENDPOINT, connect_s=10, idle_s=60)

    assert "certificate" in error.message
    assert not error.retryable
