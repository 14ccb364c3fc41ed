"""Every refusal of the strict upstream, and each of its rate limits, as our errors."""

from __future__ import annotations

import json
from typing import Any, Literal

import httpx2
import pytest

from chat.providers import OPENAI_URL
from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.errors import Endpoint, failure_from_status
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_client import Connection, build_client
from reasoning.deltas import RawEnd
from tests.contract_server.cases_base import BASE_CASES
from tests.contract_server.cases_modes import MODE_CASES
from tests.contract_server.cases_responses import RESPONSES_CASES
from tests.contract_server.fixture import ContractHandle
from tests.contract_server.rule_case import Case
from tests.contract_server.talk import Heard, ask, respond, user

MODELS = {"vendor/model-b": "details"}
REASONS = {
    **dict.fromkeys(("K1", "K3", "E1", "F1", "F2", "H1", "Q1"), "missing_reasoning"),
    **dict.fromkeys(("X1", "D1"), "reasoning_refused"),
    **dict.fromkeys(("O2", "S7", "S8"), "ciphertext"),
    **dict.fromkeys(("S11", "S12", "S13", "S14", "S15", "S16"), "unpaired_item"),
    "S4": "not_found_item",
    "K0": "enabled",
}
# Rules with several kinds of refusal, by a part of the text.
REASONS_BY_TEXT = {
    ("K3", "contract_reasoning_altered"): "",
    ("S21", "reasoning_content"): "reasoning_refused",
}
PARAMETERS = {"effort": "effort", "summary": "summary", "max_tokens": "max_tokens"}


def reason_of(case: Case) -> str:
    if case.rule == "S22":
        return next((PARAMETERS[name] for name in case.bad_body["reasoning"] if name in PARAMETERS), "")
    by_text = (reason for (rule, text), reason in REASONS_BY_TEXT.items() if rule == case.rule and text in case.text)
    return next(by_text, REASONS.get(case.rule, ""))


def failure(heard: Heard, api: Literal["chat", "responses"]) -> ProviderError:
    return failure_from_status(heard.status, heard.body, heard.headers, Endpoint("models.example", "m", (), api))


@pytest.mark.parametrize("case", [*BASE_CASES, *MODE_CASES], ids=lambda case: case.rule)
def test_refusal_of_chat_completions_has_its_code_and_reason(upstream: ContractHandle, case: Case) -> None:
    upstream.script([*case.issued, {"content": "Fine."}], knobs=case.knobs, models=MODELS)
    for _ in case.issued:
        ask(upstream, [user("Begin.")], model=case.model)

    error = failure(ask(upstream, case.bad, **{"model": case.model, **case.body, **case.bad_body}), "chat")

    expected = "context_overflow" if case.rule == "G3" else "refused"
    assert (error.code, error.reason, error.retryable) == (expected, reason_of(case), False)


@pytest.mark.parametrize("case", RESPONSES_CASES, ids=lambda case: case.rule)
def test_refusal_of_responses_has_its_code_and_reason(upstream: ContractHandle, case: Case) -> None:
    upstream.script([*case.issued, {"content": "Fine."}], knobs=case.knobs)
    for _ in case.issued:
        respond(upstream, "Begin.", model=case.model)

    error = failure(respond(upstream, case.bad, **{"model": case.model, **case.body, **case.bad_body}), "responses")

    expected = "context_overflow" if case.rule == "G3" else "refused"
    assert (error.code, error.reason, error.retryable) == (expected, reason_of(case), False)


@pytest.mark.parametrize(
    ("given", "wait_s"),
    [
        (7, 7.0),
        (0.25, 0.25),
        ({"ms": 1500}, 1.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("soon", None),
        (None, None),
    ],
)
async def test_rate_limit_says_how_long_to_wait(upstream: ContractHandle, given: Any, wait_s: float | None) -> None:
    upstream.script([{"content": "x", "faults": [{"kind": "rate_limit", "retry_after": given}]}])

    error = await refused(upstream, "plain-model", user())

    assert (error.code, error.retryable, error.retry_after_s) == ("rate_limited", True, wait_s)


async def test_refusal_without_a_word_of_a_replay_names_the_setting(upstream: ContractHandle) -> None:
    fault = {"kind": "http_error", "status": 400, "body": "empty", "times": 2}
    upstream.script([{"content": "x", "faults": [fault]}])
    thought = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}

    error = await refused(upstream, "plain-model", user(), thought, user())
    plain = await refused(upstream, "plain-model", user())

    assert (error.code, error.reason, plain.reason) == ("refused", "reasoning_refused", "")
    assert "reasoning.includeInContext" in error.message


async def refused(upstream: ContractHandle, model: str, *messages: dict[str, Any]) -> ProviderError:
    asked = OpenAIChatProvider(upstream.base_url, "test-key", model)
    with pytest.raises(ProviderError) as caught:
        async for _ in asked.stream(ProviderRequest({"messages": list(messages)}, "", (), "")):
            pass
    return caught.value


async def test_parameters_that_can_be_spared_are_left_out_one_by_one() -> None:
    seen: list[set[str]] = []

    def handle(sent: httpx2.Request) -> httpx2.Response:
        seen.append({"stream_options", "prompt_cache_key"} & set(json.loads(sent.content)))
        if seen[-1]:
            return httpx2.Response(422, json={"error": {"message": f"Unknown parameter: '{min(seen[-1])}'."}})
        body = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
        return httpx2.Response(200, json=body)

    client = build_client(Connection(OPENAI_URL, "k"), transport=httpx2.MockTransport(handle))
    asked = OpenAIChatProvider(OPENAI_URL, "k", "m", client=client)
    came = [delta async for delta in asked.stream(ProviderRequest({"messages": [user()]}, "", (), "conversation-1"))]

    assert isinstance(came[-1], RawEnd)
    assert seen == [{"stream_options", "prompt_cache_key"}, {"stream_options"}, set()]
    await client.close()
