"""Settings that a model service does not take: what is sent, and what people are told. Product 24."""

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chat.conversations import commands
from chat.models import Conversation
from replay_contract_server.fixture import ContractHandle
from tests.chat.asking import ask, owner_of
from tests.factories import make_profile

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 24")]
offer = database_sync_to_async(make_profile)
REFUSED = "The model does not support the effort that was set, so this answer was generated without it."


async def patch(conversation: Conversation, **changes: Any) -> dict[str, Any]:
    client = await owner_of(conversation)
    path = f"/api/chats/{conversation.pk}/settings/"
    form = {f"reasoning.{name}": value for name, value in changes.items()}
    answer = await client.patch(path, json.dumps(form), content_type="application/json")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def said(text: str, conversation: Conversation) -> str:
    command = commands.parse(text)
    assert command
    return commands.execute(command, conversation.owner, conversation.pk).text


def efforts(upstream: ContractHandle) -> list[str | None]:
    return [request["body"].get("reasoning_effort") for request in upstream.requests()]


@pytest.fixture
def conversation(conversation, settings, request):
    # Each test has an endpoint of its own, which has refused nothing yet.
    settings.CONNECT_TIMEOUT_S = 20 + sum(map(ord, request.node.name)) % 500
    return conversation


@pytest.mark.parametrize(
    "message",
    [
        "Unrecognized request argument: reasoning_effort",
        'think value "high" is not supported for this model',
        '"llama3.2:latest" does not support thinking',
    ],
)
async def test_effort_that_a_generic_service_refuses_is_left_out_once_and_then(upstream, conversation, message):
    refusal = {"kind": "http_error", "status": 400, "message": message}
    upstream.script([{"content": "One.", "faults": [refusal]}, {"content": "Two."}, {"content": "Three."}])
    before = await patch(conversation, effort="high")

    first = await ask(conversation)
    page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()
    second = await ask(conversation)
    after = await patch(conversation)
    other = await patch(conversation, effort="low")
    await ask(conversation)

    assert [first.status, second.status] == ["completed", "completed"]
    assert efforts(upstream) == ["high", None, None, "low"]
    assert first.error_reason == "effort"
    assert REFUSED in page
    assert second.error_reason == ""
    assert before["notes"] == other["notes"] == []
    assert after["notes"] == ["reasoning.effort has no effect: the service of this model has refused it."]


@pytest.mark.parametrize(
    ("message", "sent", "reason"),
    [
        (
            "Unsupported parameter: 'reasoning.mode' is not supported with this model.",
            {"summary": "auto", "context": "all_turns"},
            "mode",
        ),
        ("Unknown parameter: 'reasoning.context'.", {"summary": "auto", "mode": "pro"}, "context"),
        ("This model supports no such reasoning.", None, "context"),
    ],
)
async def test_rare_setting_that_a_model_refuses_is_left_out_once_and_then(
    upstream, conversation, message, sent, reason
):
    refusal = {"kind": "http_error", "status": 400, "message": message}
    upstream.script([{"content": "One.", "faults": [refusal]}, {"content": "Two."}])
    profile = {"base_url": upstream.base_url, "api": "responses", "dialect": "responses-strict"}
    conversation.profile = await offer("r", model="gpt-5-mini", **profile)
    await conversation.asave()
    form = await patch(conversation, mode="pro", context="all_turns")

    first = await ask(conversation)
    second = await ask(conversation)
    after = await patch(conversation)

    assert form["notes"] == []
    assert [first.status, second.status] == ["completed", "completed"]
    asked = {"summary": "auto", "context": "all_turns", "mode": "pro"}
    assert [request["body"].get("reasoning") for request in upstream.requests()] == [asked, sent, sent]
    assert (first.error_reason, second.error_reason) == (reason, "")
    assert f"reasoning.{reason} has no effect: the service of this model has refused it." in after["notes"]


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {"summary": "auto"}),
        ("Unsupported value: 'high' is not supported. Supported efforts are: 'low'.", {"summary": "auto"}),
        ("This model supports no reasoning.", None),
    ],
)
async def test_effort_that_a_model_refuses_over_responses_is_left_out_once_and_then(
    upstream, conversation, message, sent
):
    refusal = {"kind": "http_error", "status": 400, "message": message}
    upstream.script([{"content": "One.", "faults": [refusal]}, {"content": "Two."}])
    profile = {"base_url": upstream.base_url, "api": "responses", "dialect": "responses-strict"}
    conversation.profile = await offer("r", model="gpt-5-mini", **profile)
    await conversation.asave()
    await patch(conversation, effort="high")

    first = await ask(conversation)
    page = (await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")).content.decode()
    second = await ask(conversation)

    assert [first.status, second.status] == ["completed", "completed"]
    asked = {"summary": "auto", "effort": "high"}
    assert [request["body"].get("reasoning") for request in upstream.requests()] == [asked, sent, sent]
    assert (first.error_reason, second.error_reason) == ("effort", "")
    assert REFUSED in page


@pytest.mark.parametrize(
    ("message", "chosen", "sent", "status"),
    [
        (
            "Your organization must be verified to generate reasoning summaries.",
            {},
            [{"summary": "auto"}, None],
            "completed",
        ),
        (
            "Your organization must be verified to generate reasoning summaries.",
            {"effort": "high"},
            [{"effort": "high", "summary": "auto"}, {"effort": "high"}],
            "completed",
        ),
        (
            "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
            {"effort": "high"},
            [{"effort": "high", "summary": "auto"}, {"effort": "high"}],
            "completed",
        ),
        (
            "Your organization must be verified to generate reasoning summaries.",
            {"summary": "detailed"},
            [{"summary": "detailed"}],
            "errored",
        ),
    ],
)
async def test_summary_that_a_model_refuses_is_left_out_unless_it_was_chosen(
    upstream, conversation, message, chosen, sent, status
):
    refusal = {"kind": "http_error", "status": 400, "message": message}
    upstream.script([{"content": "One.", "faults": [refusal]}])
    profile = {"base_url": upstream.base_url, "api": "responses", "dialect": "responses-strict"}
    conversation.profile = await offer("r", model="gpt-5-mini", **profile)
    await conversation.asave()
    await patch(conversation, **chosen)

    turn = await ask(conversation)
    notes = (await patch(conversation))["notes"]

    assert (turn.status, turn.error_reason) == (status, "summary" if status == "errored" else "")
    assert [request["body"].get("reasoning") for request in upstream.requests()] == sent
    assert notes == []


async def test_other_refusal_is_no_reason_to_leave_out_the_effort(upstream, conversation):
    refusal = {"kind": "http_error", "status": 400, "message": "temperature is too high", "times": 9}
    upstream.script([{"content": "One.", "faults": [refusal]}])
    await patch(conversation, effort="high")

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("errored", "refused")
    assert efforts(upstream) == ["high"]


async def test_refusal_that_lasts_is_reported_and_not_remembered(upstream, conversation):
    refusal = {"kind": "http_error", "status": 400, "message": "this reasoning_effort is odd", "times": 2}
    upstream.script([{"content": "One.", "faults": [refusal]}, {"content": "Two."}])
    await patch(conversation, effort="high")

    failed = await ask(conversation)
    after = await patch(conversation)
    await ask(conversation)

    assert failed.status == "errored"
    assert efforts(upstream) == ["high", None, "high"]
    assert after["notes"] == []


async def test_model_that_always_reasons_is_asked_again_without_switching_it_off(upstream, conversation):
    refusal = {"kind": "http_error", "status": 400, "message": "Reasoning is mandatory and cannot be disabled."}
    upstream.script([{"content": "One.", "faults": [refusal]}])
    conversation.profile = await offer("g", base_url=upstream.base_url, model="plain-model", dialect="groq")
    await conversation.asave()
    await patch(conversation, enabled=False)

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert efforts(upstream) == ["none", None]
    assert turn.error_reason == "enabled"


@pytest.mark.spec("product 13")
async def test_site_without_reasoning_sends_no_parameter_about_it(upstream, conversation, settings):
    settings.REASONING_ENABLED = False
    upstream.script([{"content": "One."}])
    conversation.profile = await offer("g", base_url=upstream.base_url, model="plain-model", dialect="groq")
    await conversation.asave()
    await patch(conversation, effort="high")

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert efforts(upstream) == [None]


@pytest.mark.parametrize(
    ("dialect", "change", "note"),
    [
        ("openai-chat", {"maxTokens": 9}, "reasoning.maxTokens has no effect: the service of this model has no param"),
        ("mistral", {"effort": "high"}, "reasoning.effort has no effect: the service of this model has no parameter"),
        ("mistral", {"enabled": False}, "reasoning.enabled has no effect: the service of this model has no parameter"),
        ("vllm", {"effort": "high"}, "reasoning.effort: this model’s service can only turn reasoning on or off."),
        (
            "mistral",
            {"includeInContext": True},
            "reasoning.includeInContext has no effect: the service of this model t",
        ),
        ("kimi", {"summary": "auto"}, "reasoning.summary has no effect"),
        ("openai", {"mode": "pro"}, "reasoning.mode has no effect: the service of this model has no parameter for it."),
        ("kimi", {"context": "all_turns"}, "reasoning.context has no effect"),
        ("details", {"mode": "pro"}, ""),
        ("kimi", {"enabled": False}, ""),
    ],
)
async def test_what_reaches_nothing_is_said_where_it_is_set(conversation, dialect, change, note):
    conversation.profile = await offer("m", dialect=dialect)
    await conversation.asave()
    [(name, value)] = change.items()

    form = await patch(conversation, **change)
    answer = await database_sync_to_async(said)(f"/set {name} {str(value).lower()}", conversation)
    table = await database_sync_to_async(said)("/set", conversation)
    unset = await database_sync_to_async(said)(f"/set {name} unset", conversation)

    assert [one[: len(note)] for one in form["notes"]] == ([note] if note else [])
    assert note in answer
    assert note in table
    assert "has no effect" not in unset
    assert "can only turn" not in unset


async def test_offline_analyst_takes_no_effort(conversation):
    form = await patch(conversation, effort="high")

    assert form["notes"] == ["reasoning.effort has no effect: the service of this model has no parameter for it."]


@pytest.mark.parametrize(
    ("profile", "is_offered"),
    [
        ({}, False),
        ({"dialect": "kimi"}, False),
        ({"dialect": "details"}, True),
        ({"api": "responses", "dialect": "responses-strict"}, True),
    ],
)
async def test_rare_setting_is_offered_where_the_service_has_it(conversation, profile, is_offered):
    conversation.profile = await offer("m", **profile) if profile else None
    await conversation.asave()

    form = await patch(conversation)
    table = await database_sync_to_async(
        lambda: commands.execute(commands.Command("settings"), conversation.owner, conversation.pk).rows
    )()
    chosen = await patch(conversation, mode="pro")

    assert ("reasoning.mode" in form) is ("reasoning.mode" in form["allowed"]) is is_offered
    assert ("reasoning.mode" in [row[0] for row in table]) is is_offered
    assert chosen["reasoning.mode"] == "pro"
    assert chosen["allowed"]["reasoning.mode"] == ["standard", "pro"]
    assert bool(chosen["notes"]) is not is_offered


async def test_defaults_are_shown_as_they_act(conversation):
    form = await patch(conversation)
    rows = await database_sync_to_async(
        lambda: commands.execute(commands.Command("settings"), conversation.owner, conversation.pk).rows
    )()

    assert (form["reasoning.includeInContext"], form["layers"]["reasoning.includeInContext"]) == (False, "default")
    label = "Include earlier thinking in requests"
    assert ("reasoning.includeInContext", ("Off", "default", "true, false"), label) in rows


@pytest.mark.parametrize("value", ["1_000", "١٢", "1e3", 5.5, True])
async def test_odd_number_is_refused_over_the_api(conversation, value):
    client = await owner_of(conversation)
    path = f"/api/chats/{conversation.pk}/settings/"

    answer = await client.patch(path, json.dumps({"reasoning.maxTokens": value}), content_type="application/json")

    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "reasoning.maxTokens"
    assert "a whole number from 1 to 1000000000" in answer.json()["error"]["message"]
