"""``preview_request``: the exact body, what was left out and why, and the figures; or one clear line. Contracts."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from chat.management.commands.preview_request import Command
from chat.models import Conversation
from tests.chat.test_preview import FOUND, SECRET, _looked_up, _thought, _told
from tests.factories import make_profile

ARGUMENTS = f'{{ "query" :  "{SECRET}"}}'


def _printed(conversation: Conversation, *options: str) -> dict[str, Any]:
    said = StringIO()
    call_command("preview_request", str(conversation.pk), *options, stdout=said)
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


@pytest.mark.spec("product 10")
def test_command_prints_the_exact_body(conversation: Conversation) -> None:
    _told(conversation, *_looked_up(ARGUMENTS))

    messages = _printed(conversation)["body"]["messages"]

    assert messages[2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert messages[3]["content"] == FOUND


def test_command_prints_what_is_left_out_and_the_figures(conversation: Conversation) -> None:
    conversation.reasoning = {"reasoning.effort": "high"}
    conversation.save()
    _told(conversation, _thought("Forty characters of thought, no more no."), *_looked_up())

    printed = _printed(conversation)

    assert printed["omissions"] == [
        {"seq": 2, "rule": "spec 001 BR-001", "reason": "reasoning.includeInContext is off"}
    ]
    assert printed["storedTokens"] - printed["effectiveTokens"] == 10
    assert (printed["limit"], printed["shouldCompact"]) == (32_000, False)
    assert printed["notes"] == ["reasoning.effort has no parameter for this service (openai-chat)"]


def test_command_previews_another_model(conversation: Conversation) -> None:
    make_profile("r", model="gpt-5-mini", api="responses")
    _told(conversation, *_looked_up())

    body = _printed(conversation, "--model", "r")["body"]

    assert (body["model"], body["store"], body["stream"]) == ("gpt-5-mini", False, True)
    assert [item["type"] for item in body["input"]] == ["message", "function_call", "function_call_output", "message"]


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "no id"])
@pytest.mark.django_db
def test_unknown_conversation_is_one_clear_line(name: str) -> None:
    with pytest.raises(CommandError, match=rf"^No conversation has the id {name}\.$") as refused:
        call_command("preview_request", name)

    assert refused.value.returncode == 1


def test_unknown_model_names_those_there_are(conversation: Conversation) -> None:
    make_profile("kimi")

    with pytest.raises(CommandError, match=r"^model: one of offline-analyst, kimi\.$"):
        call_command("preview_request", str(conversation.pk), "--model", "nobody")


def test_missing_key_is_named(conversation: Conversation) -> None:
    make_profile("kimi", api_key_env="ABSENT_API_KEY")

    with pytest.raises(CommandError, match="ABSENT_API_KEY"):
        call_command("preview_request", str(conversation.pk), "--model", "kimi")


def test_command_takes_an_id_without_hyphens(alice: User, conversation: Conversation) -> None:
    said = StringIO()

    call_command(Command(), conversation.pk.hex, stdout=said)

    assert json.loads(said.getvalue())["body"]["model"] == "offline-analyst"
