"""``manage.py check_model``: what one call finds, beside what the profile says."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chat.providers.model_listing import listed_limit
from tests.contract_server.fixture import ContractHandle
from tests.factories import bind_keys, make_profile, make_user

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]}
ROUND_TRIP = {"reasoning.includeInContext": True, "reasoning.stripFromContext": "none"}


@pytest.fixture
def endpoint(server, settings):
    server.reset()
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = server.base_url, "test-key", None
    return server


def checked(endpoint: ContractHandle, *replies: dict[str, Any], model: str = "plain-model") -> str:
    endpoint.script(list(replies))
    out = StringIO()
    call_command("check_model", model, stdout=out)
    return out.getvalue()


def rows(said: str) -> dict[str, str]:
    """Return what was found, by name."""
    return {line[2:28].strip(): line[30:66].strip() for line in said.splitlines()[2:-1]}


def test_report_of_a_thinking_model_with_tools(endpoint):
    said = rows(checked(endpoint, {"reasoning": "Add them.", **CALL}))

    assert said["streaming"].endswith("pieces")
    assert said["key"] == "accepted"
    assert said["thinking"] == "field reasoning_content"
    assert said["tools"].startswith("called")
    assert said["token counts"] == "reported"
    assert len(endpoint.requests()) == 1


@pytest.mark.parametrize(
    ("reply", "thinking"),
    [({"reasoning": "Hm.", "content": "Five.", "tags": "think"}, "tags inside the answer"), ({"content": "5"}, "none")],
)
def test_report_of_a_model_without_native_thinking(endpoint, reply, thinking):
    said = rows(checked(endpoint, reply))

    assert said["thinking"].startswith(thinking)
    assert said["tools"].startswith("accepted, none called")


def test_report_of_a_profile_that_fits(endpoint):
    make_profile("k", base_url=endpoint.base_url, model="kimi-k2.6", reasoning=ROUND_TRIP, is_enabled=False)

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert f"Model: kimi-k2.6 at 127.0.0.1:{endpoint.port}" in said
    assert rows(said)["key"] == "none is sent"
    assert said.rstrip().endswith("The profile fits.")


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({}, "reasoning.includeInContext"),
        (
            {"reasoning": {"reasoning.includeInContext": True, "reasoning.stripFromContext": "all"}},
            "reasoning.stripFromContext",
        ),
        ({"reasoning": ROUND_TRIP, "dialect": "deepseek-v4"}, "dialect"),
        ({"reasoning": {**ROUND_TRIP, "reasoning.maxTokens": 9}}, "note"),
        ({"reasoning": ROUND_TRIP, "starts_in_reasoning": True}, "starts in reasoning"),
    ],
)
def test_difference_is_marked(endpoint, fields, row):
    make_profile("k", base_url=endpoint.base_url, model="kimi-k2.6", **fields)

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert f"! {row} " in said
    assert "marked with !." in said


def test_responses_are_asked_in_their_own_form(endpoint):
    make_profile("o", base_url=endpoint.base_url, model="gpt-5-mini", api="responses")

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="o")

    assert rows(said)["thinking"] == "opaque items (1, encrypted 1)"
    assert "The profile fits." in said


def test_unknown_model_fails_with_its_name(endpoint):
    with pytest.raises(CommandError, match="no-such-model"):
        checked(endpoint, model="no-such-model")


def test_missing_key_is_named_by_its_variable(endpoint, settings, monkeypatch):
    bind_keys(settings, "ABSENT_API_KEY@127.0.0.1")
    monkeypatch.delenv("ABSENT_API_KEY", raising=False)
    make_profile("k", base_url=endpoint.base_url, api_key_env="ABSENT_API_KEY")

    with pytest.raises(CommandError, match="ABSENT_API_KEY is empty"):
        checked(endpoint, model="k")
    assert endpoint.requests() == []


def test_refused_key_is_named_by_its_variable_and_never_printed(endpoint, settings, monkeypatch):
    bind_keys(settings, "PRESENT_API_KEY@127.0.0.1")
    monkeypatch.setenv("PRESENT_API_KEY", "canary-key-4")
    make_profile("k", base_url=endpoint.base_url, model="plain-model", api_key_env="PRESENT_API_KEY")
    refusal = {"kind": "http_error", "status": 401, "message": "bad key canary-key-4", "times": 9}

    with pytest.raises(CommandError) as failed:
        checked(endpoint, {"content": "Five.", "faults": [refusal]}, model="k")

    assert "Check PRESENT_API_KEY" in str(failed.value)
    assert "canary-key-4" not in str(failed.value)


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ({"id": "m", "context_length": 128_000}, 128_000),
        ({"id": "m", "max_model_len": 32_768}, 32_768),
        ({"model_name": "m", "model_info": {"max_input_tokens": 128_000}}, 128_000),  # review U D8
        ({"id": "m", "max_input_tokens": 128_000}, 128_000),
        ({"id": "m", "context_length": True}, None),
        ({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131_072}}, 4096),
        ({"id": "m", "context_length": None, "context_window": 8192}, 8192),
        ({"id": "m"}, None),
        ({"id": "m", "context_length": "many", "meta": None}, None),
    ],
)
def test_limit_is_read_under_every_name(row, limit):
    assert listed_limit(row) == limit


# review U D4
def test_words_of_the_service_are_printed(endpoint):
    broken = {"kind": "server_error", "message": "model requires more system memory", "times": 9}

    with pytest.raises(CommandError, match="The service said: model requires more system"):
        checked(endpoint, {"content": "Five.", "faults": [broken]})


# review U D3
def test_request_is_made_without_tools_where_the_service_has_no_place_for_them(endpoint):
    refusal = {"kind": "http_error", "status": 404, "message": "No endpoints found that support tool use."}

    said = rows(checked(endpoint, {"content": "Five.", "faults": [refusal]}))

    assert said["tools"].startswith("refused")


# review U D10
def test_name_may_be_left_out(endpoint):
    endpoint.script([{"content": "5"}], models={"first-model": "openai-chat"})
    out = StringIO()

    call_command("check_model", stdout=out)

    assert out.getvalue().startswith(f"Model: first-model at 127.0.0.1:{endpoint.port}")


def test_name_may_be_left_out_where_a_profile_is_the_default(endpoint):
    make_profile("k", base_url=endpoint.base_url, model="plain-model", is_default=True)
    endpoint.script([{"content": "5"}])
    out = StringIO()

    call_command("check_model", stdout=out)

    assert out.getvalue().startswith("Model: plain-model at ")


def test_without_a_model_there_is_nothing_to_check():
    with pytest.raises(CommandError, match="OPENAI_BASE_URL"):
        call_command("check_model")


def test_staff_test_a_profile_in_the_admin(endpoint, client):
    profile = make_profile("local", base_url=endpoint.base_url, model="plain-model")
    address = f"/admin/chat/modelprofile/{profile.pk}/test/"
    endpoint.script([{"reasoning": "Add them.", **CALL}, {"faults": [{"kind": "http_error", "status": 401}]}])
    client.force_login(make_user("root", is_staff=True, is_superuser=True))

    assert "Test connection" in client.get(f"/admin/chat/modelprofile/{profile.pk}/change/").content.decode()
    assert client.get(address).status_code == 405
    found = client.post(address).content.decode()
    refused = client.post(address).content.decode()
    client.force_login(make_user("sam", is_staff=True))

    assert "field reasoning_content" in found
    assert "errornote" in refused
    assert client.post(address).status_code == 403
