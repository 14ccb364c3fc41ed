"""Which model a conversation's next request goes to, and how it is reached. Product, out of the box; replay D4."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from chat.conversations import model_choice
from chat.conversations.model_choice import chosen_model
from chat.models import Conversation
from chat.providers.base import ProviderError
from tests.factories import make_profile

make_soon = database_sync_to_async(make_profile)
LOCAL = "http://127.0.0.1:9/v1"


@pytest.fixture
def connected(settings: LazySettings) -> LazySettings:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = LOCAL, "k", "house-model"
    return settings


def test_environment_answers_where_there_is_no_default(conversation: Conversation, connected: LazySettings) -> None:
    make_profile("kimi")

    assert chosen_model(conversation).name == "house-model"


def test_conversations_own_profile_comes_before_the_default(conversation: Conversation) -> None:
    make_profile("kimi", is_default=True)
    conversation.profile = make_profile("vllm")

    assert chosen_model(conversation).name == "vllm"


@pytest.mark.parametrize("change", ["disabled", "deleted"])
def test_unavailable_profile_falls_back_to_the_site(conversation: Conversation, change: str) -> None:
    conversation.profile = profile = make_profile("kimi")
    conversation.save()
    profile.is_enabled = False
    profile.save() if change == "disabled" else profile.delete()
    conversation.refresh_from_db()

    assert chosen_model(conversation).name == "offline-analyst"


def test_profile_carries_its_whole_configuration(conversation: Conversation, settings: LazySettings) -> None:
    layer = {"reasoning.includeInContext": True}
    conversation.profile = make_profile("m", context_limit=1234, reasoning=layer, starts_in_reasoning=True)
    settings.CONNECT_TIMEOUT_S, settings.UPSTREAM_IDLE_TIMEOUT_S = 3, 7

    chosen = chosen_model(conversation)

    assert (chosen.config.base_url, chosen.config.model, chosen.config.api) == (LOCAL, "m-model", "chat")
    assert (chosen.config.starts_in_reasoning, chosen.config.connect_s, chosen.config.idle_s) == (True, 3, 7)
    assert (chosen.context_limit, chosen.reasoning) == (1234, layer)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "dialect"),
    [
        ({"base_url": "https://api.moonshot.ai/v1", "model": "kimi-k2.6"}, "kimi"),
        ({"base_url": "https://user:word@api.deepseek.com/v1", "model": "deepseek-v4-flash"}, "deepseek-v4"),
        ({"model": "vendor/deepseek-r1"}, "deepseek-r1"),
        ({"model": "unknown"}, "openai-chat"),
        ({"model": "gpt-5-mini", "api": "responses"}, "responses-strict"),
        ({"model": "kimi-k2.6", "dialect": "strict-chat"}, "strict-chat"),
    ],
)
def test_dialect_left_open_is_found_by_address_and_model(fields: dict[str, str], dialect: str) -> None:
    assert model_choice.of_profile(make_profile("m", **fields)).dialect == dialect


@pytest.mark.parametrize(("api", "dialect"), [("chat", "deepseek-v4"), ("responses", "responses-strict")])
def test_environments_endpoint_has_a_dialect(connected: LazySettings, api: str, dialect: str) -> None:
    connected.OPENAI_BASE_URL, connected.OPENAI_API = "https://api.deepseek.com/v1", api

    found = model_choice.of_environment()

    assert (found.dialect, found.config.api) == (dialect, api)


@pytest.mark.django_db(transaction=True)
async def test_missing_key_is_reported_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSENT_API_KEY", raising=False)
    profile = await make_soon("kimi", api_key_env="ABSENT_API_KEY")

    with pytest.raises(ProviderError, match="ABSENT_API_KEY") as missing:
        await model_choice.provider(model_choice.of_profile(profile))

    assert missing.value.code == "authentication"


@pytest.mark.django_db(transaction=True)
async def test_key_is_read_from_its_variable_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESENT_API_KEY", "canary-key-1")

    chosen = model_choice.of_profile(await make_soon("kimi", api_key_env="PRESENT_API_KEY"))
    found = await model_choice.provider(chosen)

    assert chosen.config.api_key == "canary-key-1"
    assert "canary-key-1" not in f"{chosen!r} {found.identity} {found.name}"


@pytest.mark.django_db
@pytest.mark.parametrize("variable", ["SECRET_KEY", "CONTENT_KEYS", "DATABASE_URL", "PATH"])
def test_our_own_secrets_are_sent_to_nobody_as_a_key(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "canary-secret-1")

    chosen = model_choice.of_profile(make_profile("thief", api_key_env=variable))

    assert chosen.config.api_key is None
    assert chosen.missing_key == variable
