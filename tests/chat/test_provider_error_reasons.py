"""Refusals that have to do with thinking: what they are, whatever the envelope, and the setting that lifts them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pytest

from chat.providers.base import ProviderError
from chat.providers.errors import Endpoint, failure_from_object, failure_from_status

ENDPOINT = Endpoint("models.example", "kimi-k9", ("tiny-secret-0123456789",))
KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"
VERIFIED = "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content"
SAID = {
    "ciphertext": [
        f"{VERIFIED} could not be decrypted or parsed.",
        f"{VERIFIED} item_id did not match the target item id.",
        "The encrypted content gAAA...x9Q= could not be verified.",
        "messages.3.content.0: Invalid `signature` in `thinking` block",
        "Thought signature is not valid.",
    ],
    "not_found_item": [
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
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
TEXTS = [(reason, text) for reason, texts in SAID.items() for text in texts]
SETTING = {
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
ENVELOPES: dict[str, Callable[[str], Any]] = {
    "openai": lambda text: {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}},
    "nested": lambda text: {"error": {"type": "<nil>", "message": f"{text} (request id: X)"}, "type": "error"},
    "gateway": lambda text: {"code": 20015, "message": text, "data": None},
    "bare": lambda text: {"error": text},
    "detail": lambda text: {"detail": [{"type": "value_error", "loc": ["body"], "msg": text}]},
    "router": lambda text: {
        "error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": {"message": text}})}}
    },
    "plain": lambda text: text,
}


def failure(status: int, body: Any, endpoint: Endpoint = ENDPOINT, *, replays: bool = False) -> ProviderError:
    said = body if isinstance(body, bytes) else json.dumps(body).encode()
    return failure_from_status(status, said, {}, endpoint, replays_thinking=replays)


@pytest.mark.parametrize(("reason", "text"), TEXTS)
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_reason_is_known_in_any_envelope(envelope: str, reason: str, text: str) -> None:
    error = failure(400, ENVELOPES[envelope](text))

    assert (error.code, error.reason, error.retryable) == ("refused", reason, False)
    assert SETTING[reason] in error.message
    assert "model service refused the request: " in error.message


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (400, {"error": {"message": "No.", "code": "invalid_encrypted_content"}}, "ciphertext"),
        (
            422,
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"]}]},
            "reasoning_refused",
        ),
        (400, {"error": {"message": "Invalid value: 'lots'.", "param": "reasoning.effort"}}, "effort"),
        (400, {"error": {"message": "Invalid value: 'long'.", "param": "reasoning.summary"}}, "summary"),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning"], "msg": "Extra"}]}, "effort"),
        (404, {"error": {"message": SAID["not_found_item"][0]}}, "not_found_item"),
    ],
)
def test_reason_is_known_by_codes_and_places(status: int, body: Any, reason: str) -> None:
    assert failure(status, body).reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "Missing required parameter: 'input[1].summary'.",
        "Input[3] missing required field summary",
        "No tool output found for function call call_1.",
        "No tool call found for function call output with call_id call_1.",
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
        "Unknown parameter: 'input[2].status'.",
        "Invalid value for 'content': expected a string, got null.",
        "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2]).",
        "The reasoning of messages[1] is altered.",
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
    ],
)
def test_other_refusals_have_no_reason(text: str) -> None:
    error = failure(400, {"error": {"message": text, "type": "invalid_request_error"}})

    assert (error.code, error.reason) == ("refused", "")
    assert "reasoning." not in error.message.removeprefix(text)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, {"error": {"message": "Too many requests for reasoning models, effort unsupported"}}, "rate_limited"),
        (401, {"error": {"message": "Unknown parameter: 'reasoning'."}}, "authentication"),
        (500, {"error": {"message": "Unexpected error in the reasoning parser"}}, "server_error"),
        (502, {"error": {"message": "reasoning worker missing"}}, "server_error"),
        (400, {"error": {"message": "reasoning unsupported: maximum context length is 10"}}, "context_overflow"),
    ],
)
def test_other_kinds_of_failure_keep_their_code(status: int, body: Any, code: str) -> None:
    error = failure(status, body)

    assert (error.code, error.reason) == (code, "")


@pytest.mark.parametrize("text", [*SAID["ciphertext"][:2], *SAID["unpaired_item"], *SAID["missing_reasoning"][:4]])
@pytest.mark.parametrize("status", [500, 503])
def test_refusal_under_a_wrong_status_is_not_tried_again(status: int, text: str) -> None:
    error = failure(status, {"error": {"message": text}})

    assert (error.code, error.retryable) == ("refused", False)
    assert error.reason


@pytest.mark.parametrize("text", SAID["ciphertext"][:2])
def test_rejected_item_is_known_in_the_middle_of_an_answer(text: str) -> None:
    error = failure_from_object({"type": "error", "message": text, "code": None}, ENDPOINT)

    assert (error.code, error.reason) == ("refused", "ciphertext")


def test_refusal_without_a_word_is_put_down_to_thinking_that_was_sent() -> None:
    error = failure(400, b"", replays=True)

    assert error.reason == "reasoning_refused"
    assert "reasoning.includeInContext to false" in error.message
    assert failure(400, b"").reason == ""
    assert failure(400, b"<html>no</html>", replays=True).reason == ""


@pytest.mark.parametrize(
    "text",
    [
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. "
        "Please use /v1/responses instead.",
        "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    ],
)
def test_tools_with_effort_point_to_the_other_api(text: str) -> None:
    error = failure(400, {"error": {"message": text, "param": "reasoning_effort"}})

    assert error.reason == "effort"
    assert "OPENAI_API=responses" in error.message


@pytest.mark.parametrize(
    ("api", "text", "advice"),
    [
        (
            "chat",
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            "OPENAI_API=responses",
        ),
        ("responses", "This model is only served at /v1/chat/completions.", "OPENAI_API=chat"),
    ],
)
def test_model_of_the_other_api_points_to_it(api: Literal["chat", "responses"], text: str, advice: str) -> None:
    error = failure(404, {"error": {"message": text, "param": "model"}}, Endpoint("models.example", "m", (), api))

    assert f"{text} Set {advice}." in error.message


def test_advice_begins_a_new_sentence() -> None:
    assert "at index 3. This model needs" in failure(400, {"error": KIMI}).message


@pytest.mark.parametrize("body", [b"404 page not found", b'{"error":{"message":"Invalid URL (POST /v1/responses)"}}'])
def test_server_without_responses_points_to_chat_completions(body: bytes) -> None:
    endpoint = Endpoint("models.example", "m", (), "responses")

    assert "OPENAI_API=chat" in failure(404, body, endpoint).message


def test_server_without_chat_completions_is_not_sent_elsewhere() -> None:
    assert "OPENAI_API" not in failure(404, b"404 page not found").message
