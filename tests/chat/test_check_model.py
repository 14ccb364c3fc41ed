"""``check_model``: what one call finds, in plain words."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from chat.modeladvice import Checked
from chat.modelcheck import Findings, told_limit
from chat.upstream import of_profile
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_profile

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]}
ROUND_TRIP = {"reasoning.includeInContext": True, "reasoning.stripFromContext": "none"}


@pytest.fixture
def endpoint(server: ContractHandle, settings: LazySettings) -> ContractHandle:
    server.reset()
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = server.base_url, "test-key", None
    return server


def checked(endpoint: ContractHandle, *replies: dict[str, Any], model: str = "plain-model") -> str:
    endpoint.script(list(replies))
    out = StringIO()
    call_command("check_model", model, stdout=out)
    return out.getvalue()


def test_thinking_model_with_tools_is_described(endpoint: ContractHandle) -> None:
    said = checked(endpoint, {"reasoning": "Add them.", "tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]})

    assert "Reachable: yes" in said
    assert "Streams: yes" in said
    assert "Key: accepted" in said
    assert "in the field reasoning_content" in said
    assert "it called the one" in said
    assert "Token counts: reported" in said
    assert len(endpoint.requests()) == 1


def test_tags_in_the_answer_are_told(endpoint: ContractHandle) -> None:
    assert "in tags inside the answer" in checked(endpoint, {"reasoning": "Hm.", "content": "Five.", "tags": "think"})


def test_plain_model_is_described(endpoint: ContractHandle) -> None:
    said = checked(endpoint, {"content": "Five."})

    assert "none seen" in said
    assert "called none" in said


def test_model_that_refuses_tools_is_asked_again_without(endpoint: ContractHandle) -> None:
    said = checked(endpoint, {"content": "Five."}, {"content": "Five."}, model="deepseek-r1")

    assert "Tools: refused" in said


def test_unknown_model_fails_with_its_name(endpoint: ContractHandle) -> None:
    with pytest.raises(CommandError, match="no-such-model"):
        checked(endpoint, model="no-such-model")


def test_no_endpoint_says_what_to_set_and_which_models_there_are(settings: LazySettings) -> None:
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = settings.OPENAI_MODEL = None
    make_profile("kimi")

    with pytest.raises(CommandError, match=r"there: kimi.*OPENAI_BASE_URL"):
        call_command("check_model", "x")


def test_profile_whose_settings_fit_is_told_so(endpoint: ContractHandle) -> None:
    make_profile("k", base_url=endpoint.base_url, model="kimi-k2.6", reasoning=ROUND_TRIP, is_enabled=False)

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert f"Model: kimi-k2.6 at 127.0.0.1:{endpoint.port}" in said
    assert "Dialect: kimi, last checked" in said
    assert "Key: none is sent" in said
    assert said.rstrip().endswith("Its settings fit.")


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({}, "kimi needs reasoning.includeInContext=true; this profile has it off."),
        (
            {"reasoning": {"reasoning.includeInContext": True, "reasoning.stripFromContext": "all"}},
            "kimi needs reasoning.stripFromContext=none; this profile has all.",
        ),
        ({"reasoning": ROUND_TRIP, "dialect": "deepseek-v4"}, "it speaks kimi; this profile says deepseek-v4."),
        (
            {"reasoning": ROUND_TRIP, "dialect": "vllm"},
            "came as reasoning_content, and vllm sends it back as reasoning",
        ),
        ({"reasoning": ROUND_TRIP, "dialect": "responses-strict"}, "does not go with the API chat"),
        ({"reasoning": ROUND_TRIP, "dialect": "deepseek-r1"}, "It takes tools, and deepseek-r1 offers it none"),
        ({"reasoning": {**ROUND_TRIP, "reasoning.maxTokens": 9}}, "reasoning.maxTokens has no parameter"),
        ({"reasoning": ROUND_TRIP, "starts_in_reasoning": True}, "Switch off “starts in reasoning”"),
    ],
)
def test_settings_that_do_not_fit_are_named_with_what_would(
    endpoint: ContractHandle, fields: dict[str, Any], advice: str
) -> None:
    make_profile("k", base_url=endpoint.base_url, model="kimi-k2.6", **fields)

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert advice in said
    assert "To change: " in said
    assert "settings fit" not in said


def test_answer_that_begins_inside_a_thought_is_noticed(endpoint: ContractHandle) -> None:
    make_profile("local", base_url=endpoint.base_url, model="plain-model")

    said = checked(endpoint, {"deltas": [{"content": "Add them.</think>Five."}]}, model="local")

    assert "begins inside a thought, without the opening tag" in said
    assert "Switch on “starts in reasoning”" in said


def test_responses_are_asked_in_their_own_form(endpoint: ContractHandle) -> None:
    make_profile("o", base_url=endpoint.base_url, model="gpt-5-mini", api="responses")

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="o")

    assert "in opaque items (1, encrypted 1)" in said
    assert "it called the one" in said
    assert "Its settings fit." in said


def test_missing_key_is_named_by_its_variable(endpoint: ContractHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSENT_API_KEY", raising=False)
    make_profile("k", base_url=endpoint.base_url, api_key_env="ABSENT_API_KEY")

    with pytest.raises(CommandError, match="ABSENT_API_KEY is empty"):
        checked(endpoint, model="k")
    assert endpoint.requests() == []


def test_refused_key_is_named_by_its_variable_and_never_printed(
    endpoint: ContractHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESENT_API_KEY", "canary-key-4")
    make_profile("k", base_url=endpoint.base_url, model="plain-model", api_key_env="PRESENT_API_KEY")
    refusal = {"kind": "http_error", "status": 401, "message": "bad key canary-key-4", "times": 9}

    with pytest.raises(CommandError) as failed:
        checked(endpoint, {"content": "Five.", "faults": [refusal]}, model="k")

    assert "Check PRESENT_API_KEY" in str(failed.value)
    assert "canary-key-4" not in str(failed.value)


def test_address_of_nobody_is_one_line_of_advice_that_names_the_profile(endpoint: ContractHandle) -> None:
    make_profile("away", base_url="http://127.0.0.1:9/v1")

    with pytest.raises(CommandError) as failed:
        checked(endpoint, model="away")

    assert "is the address in the model “away” of the admin right?" in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ({"id": "m", "context_length": 128_000}, 128_000),
        ({"id": "m", "max_model_len": 32_768}, 32_768),
        ({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131_072}}, 4096),
        ({"id": "m", "context_length": None, "context_window": 8192}, 8192),
        ({"id": "m"}, None),
        ({"id": "m", "context_length": "many", "meta": None}, None),
    ],
)
def test_limit_is_read_where_services_tell_it(row: dict[str, Any], limit: int | None) -> None:
    assert told_limit(row) == limit


def test_limit_beyond_the_services_own_is_to_be_lowered() -> None:
    chosen = of_profile(make_profile("m", context_limit=200_000))

    too_much = Checked(chosen, Findings(context_limit=128_000))
    enough = Checked(chosen, Findings(context_limit=256_000))

    assert list(too_much.advice()) == ["Set the context limit to 128000 tokens or fewer."]
    assert "Context limit: 128000 tokens by its own account; 200000 are used here." in too_much.told()
    assert list(enough.advice()) == []
