"""``check_model``: what one call finds, in plain words."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from tests.contract_server.fixture import ContractHandle


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


def test_no_endpoint_says_what_to_set(settings: LazySettings) -> None:
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = settings.OPENAI_MODEL = None

    with pytest.raises(CommandError, match="OPENAI_BASE_URL"):
        call_command("check_model", "x")
