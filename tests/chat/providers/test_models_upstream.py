"""Which model a conversation's next request goes to, and how it is reached. Product, out of the box; replay D4."""

import pytest
from channels.db import database_sync_to_async

from chat.conversations import model_choice
from chat.conversations.model_choice import chosen_model
from chat.providers.base import ProviderError
from chat.providers.connections import NO_KEY
from tests.chat.addresses import BAD_ADDRESSES
from tests.chat.asking import ask
from tests.factories import bind_keys, make_profile

make_soon = database_sync_to_async(make_profile)
LOCAL = "http://127.0.0.1:9/v1"


@pytest.fixture
def connected(settings):
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = LOCAL, "k", "house-model"
    return settings


def test_environment_answers_where_there_is_no_default(conversation, connected):
    make_profile("kimi")

    assert chosen_model(conversation).name == "house-model"


def test_conversations_own_profile_comes_before_the_default(conversation):
    make_profile("kimi", is_default=True)
    conversation.profile = make_profile("vllm")

    assert chosen_model(conversation).name == "vllm"


@pytest.mark.parametrize("change", ["disabled", "deleted"])
def test_unavailable_profile_falls_back_to_the_site(conversation, change):
    conversation.profile = profile = make_profile("kimi")
    conversation.save()
    profile.is_enabled = False
    profile.save() if change == "disabled" else profile.delete()
    conversation.refresh_from_db()

    assert chosen_model(conversation).name == "offline-analyst"


def test_profile_carries_its_whole_configuration(conversation, settings):
    layer = {"reasoning.includeInContext": True}
    conversation.profile = make_profile("m", context_limit=1234, reasoning=layer, starts_in_reasoning=True)
    settings.CONNECT_TIMEOUT_S, settings.UPSTREAM_IDLE_TIMEOUT_S = 3, 7

    chosen = chosen_model(conversation)

    assert (chosen.config.connection.base_url, chosen.config.model, chosen.config.api) == (LOCAL, "m-model", "chat")
    assert (chosen.config.starts_in_reasoning, chosen.config.connection.connect_s) == (True, 3)
    assert chosen.config.connection.idle_s == 7
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
def test_dialect_left_open_is_found_by_address_and_model(fields, dialect):
    assert model_choice.of_profile(make_profile("m", **fields)).dialect == dialect


@pytest.mark.parametrize(("api", "dialect"), [("chat", "deepseek-v4"), ("responses", "responses-strict")])
def test_environments_endpoint_has_a_dialect(connected, api, dialect):
    connected.OPENAI_BASE_URL, connected.OPENAI_API = "https://api.deepseek.com/v1", api

    found = model_choice.of_environment()

    assert (found.dialect, found.config.api) == (dialect, api)


@pytest.mark.django_db(transaction=True)
async def test_missing_key_is_reported_by_the_name_of_its_variable(settings, monkeypatch):
    bind_keys(settings, "ABSENT_API_KEY@127.0.0.1")
    monkeypatch.delenv("ABSENT_API_KEY", raising=False)
    profile = await make_soon("kimi", api_key_env="ABSENT_API_KEY")

    with pytest.raises(ProviderError, match="key_missing") as missing:
        await model_choice.provider(model_choice.of_profile(profile))

    assert (missing.value.code, missing.value.params["variable"]) == ("authentication", "ABSENT_API_KEY")


@pytest.mark.django_db(transaction=True)
async def test_key_is_read_from_its_variable_and_shown_nowhere(settings, monkeypatch):
    bind_keys(settings, "PRESENT_API_KEY@127.0.0.1:9")
    monkeypatch.setenv("PRESENT_API_KEY", "canary-key-1")

    chosen = model_choice.of_profile(await make_soon("kimi", api_key_env="PRESENT_API_KEY"))
    found = await model_choice.provider(chosen)

    assert chosen.config.connection.api_key == "canary-key-1"
    assert "canary-key-1" not in f"{chosen!r} {found.identity} {found.name}"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("variable", "address"),
    [
        *((name, LOCAL) for name in ("SECRET_KEY", "CONTENT_KEYS", "DATABASE_URL", "PATH", "GITHUB_TOKEN")),
        ("OPENAI_API_KEY", LOCAL),
        ("OPENAI_API_KEY", "http://api.openai.com/v1"),
        ("OPENAI_API_KEY", "https://api.openai.com.evil.example/v1"),
        ("OPENAI_API_KEY", "https://evil.example/api.openai.com"),
        ("OPENAI_API_KEY", "https://api.openai.com@evil.example/v1"),
        ("TEAM_KEY", "https://models.example:8444/v1"),
        ("TEAM_KEY", "https://sub.models.example:8443/v1"),
        ("OTHER_KEY", "https://models.example:8443/v1"),
    ],
)
def test_stored_profile_gets_no_key_that_is_not_bound_to_its_host(settings, monkeypatch, variable, address):
    bind_keys(settings, "TEAM_KEY@models.example:8443,OTHER_KEY@[::1]")
    monkeypatch.setenv(variable, "canary-secret-1")

    chosen = model_choice.of_profile(make_profile("thief", api_key_env=variable, base_url=address))

    assert chosen.config.connection.api_key == NO_KEY
    assert chosen.problem
    assert "canary" not in str(chosen.problem)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("variable", "address"),
    [
        ("OPENAI_API_KEY", "https://API.openai.com/v1"),
        ("TEAM_KEY", "https://models.example:8443/v1"),
        ("TEAM_KEY", "http://10.0.0.7:11434/v1"),
        ("OTHER_KEY", "http://[::1]:8080/v1"),
    ],
)
def test_key_is_sent_to_the_hosts_that_it_is_bound_to(settings, monkeypatch, variable, address):
    bind_keys(settings, "TEAM_KEY@Models.example:8443, TEAM_KEY@10.0.0.7,OTHER_KEY@[::1]")
    monkeypatch.setenv(variable, "key-1")

    chosen = model_choice.of_profile(make_profile("own", api_key_env=variable, base_url=address))

    assert (chosen.config.connection.api_key, chosen.problem) == ("key-1", None)


@pytest.mark.django_db
def test_stored_address_that_cannot_be_used_is_a_problem_of_its_model_alone(client, conversation):
    conversation.profile = profile = make_profile("odd", is_default=True)
    conversation.save()
    client.force_login(conversation.owner)

    for profile.base_url in BAD_ADDRESSES:
        problem = model_choice.of_profile(profile).problem
        assert getattr(problem, "reason", "") == "bad_address", profile.base_url
    profile.save()

    page = client.get(f"/chats/{conversation.pk}/")
    assert "odd (not usable)" in page.content.decode()
    for path in ("/api/models/", f"/api/chats/{conversation.pk}/settings/"):
        assert client.get(path).status_code == 200


@pytest.mark.django_db(transaction=True)
async def test_question_to_a_model_that_cannot_be_used_is_answered_with_its_problem(conversation):
    conversation.profile = await make_soon("odd", base_url="http://127.0.0.1:99999/v1")
    await conversation.asave()

    turn = await ask(conversation)

    assert (turn.status, turn.error_code) == ("errored", "unreachable")
    assert (turn.error_reason, turn.error_params) == ("bad_address", {"problem": "port", "profile": "odd"})
