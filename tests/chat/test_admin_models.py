"""Staff describe models in the admin: presets, named errors, one default, and never a key."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accounts.demo import ensure_users
from accounts.models import User
from chat.models import ModelProfile
from reasoning.replay.dialects import PRESETS
from tests.factories import make_profile, make_user

ADD, LIST = "/admin/chat/modelprofile/add/", "/admin/chat/modelprofile/"
FORM = {
    "name": "kimi",
    "label": "",
    "base_url": "https://api.moonshot.ai/v1",
    "api": "chat",
    "model": "kimi-k2.6",
    "api_key_env": "",
    "dialect": "",
    "context_limit": "",
    "reasoning": "{}",
    "is_enabled": "on",
}


@pytest.fixture(autouse=True)
def _root(client: Client, db: None) -> User:
    user = make_user("root", is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def refused(client: Client, **fields: str) -> dict[str, Any]:
    """Post the form with these fields and return its errors."""
    answer = client.post(ADD, FORM | fields)
    assert answer.status_code == 200
    return {name: list(errors) for name, errors in answer.context["adminform"].form.errors.items()}


def test_model_is_saved_and_listed(client: Client) -> None:
    assert client.post(ADD, FORM | {"reasoning": '{"reasoning.effort": "low"}'}).status_code == 302

    saved = ModelProfile.objects.get()
    listed = client.get(LIST).content.decode()

    assert (saved.name, saved.dialect, saved.reasoning) == ("kimi", "", {"reasoning.effort": "low"})
    assert '<td class="field-effective_dialect">kimi</td>' in listed
    assert '<td class="field-key">none needed</td>' in listed


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_preset_fills_the_form_and_what_it_fills_is_accepted(client: Client, name: str) -> None:
    preset = PRESETS[name]
    assert f'href="{ADD}?preset={name}"' in client.get(LIST).content.decode()

    form = client.get(f"{ADD}?preset={name}").context["adminform"].form
    filled = {field: form[field].value() for field in form.fields}
    posted = {field: value for field, value in filled.items() if value not in (None, False)}
    assert client.post(ADD, posted).status_code == 302

    saved = ModelProfile.objects.get()
    assert (saved.name, saved.model, saved.dialect, saved.api) == (name, preset.model, preset.dialect, preset.api)
    assert saved.reasoning == dict(preset.reasoning)
    assert saved.api_key_env == preset.api_key_env


def test_preset_with_a_used_name_gets_another(client: Client) -> None:
    make_profile("kimi")

    form = client.get(f"{ADD}?preset=kimi").context["adminform"].form

    assert form["name"].value() == "kimi-2"


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("layer", "named"),
    [
        ('{"reasoning.format": "xml"}', ["reasoning.format", "'field' or 'native' only"]),
        ('{"reasoning.nonsense": 1}', ["reasoning.nonsense", "reasoning.stripFromContext"]),
        ('{"reasoning.maxTokens": 0}', ["reasoning.maxTokens", "whole number"]),
        ("[1]", ["object"]),
        ("{", ["JSON"]),
    ],
)
def test_setting_that_is_not_allowed_is_named_with_what_is(client: Client, layer: str, named: list[str]) -> None:
    [message] = refused(client, reasoning=layer)["reasoning"]

    assert all(word in message for word in named)
    assert not ModelProfile.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "api.example.com"),
        ("base_url", "ftp://example.com/v1"),
        ("base_url", "https://user:word@example.com/v1"),
        ("base_url", "https://example.com/v1?key=1"),
        ("api_key_env", "SECRET_KEY"),
        ("api_key_env", "CONTENT_KEYS"),
        ("api_key_env", "DATABASE_URL"),
        ("api_key_env", "sk-123"),
        ("dialect", "nonsense"),
        ("name", "two words"),
        ("is_enabled", ""),
    ],
)
def test_what_could_not_work_is_refused(client: Client, field: str, value: str) -> None:
    errors = refused(client, **{"is_default": "on", field: value})

    assert list(errors) == ["is_default" if field == "is_enabled" else field]


def test_new_default_replaces_the_previous_one(client: Client) -> None:
    before = make_profile("before", is_default=True)

    assert client.post(ADD, FORM | {"is_default": "on"}).status_code == 302

    before.refresh_from_db()
    assert not before.is_default
    assert ModelProfile.objects.get(is_default=True).name == "kimi"


def test_key_is_reported_as_set_and_never_shown(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOONSHOT_API_KEY", "canary-key-77")
    monkeypatch.delenv("ZAI_API_KEY", raising=False)
    kimi = make_profile("kimi", api_key_env="MOONSHOT_API_KEY")
    make_profile("glm", api_key_env="ZAI_API_KEY")

    listed = client.get(LIST).content.decode()
    page = client.get(reverse("admin:chat_modelprofile_change", args=[kimi.pk])).content.decode()

    assert "MOONSHOT_API_KEY is set" in listed
    assert "ZAI_API_KEY is empty" in listed
    assert "canary-key-77" not in listed + page
    assert "<code>python manage.py check_model kimi</code>" in page


def test_demo_staff_run_the_models(client: Client, settings: LazySettings) -> None:
    settings.DEMO_PASSWORD = "demo-password-1"
    people = ensure_users()
    client.force_login(people["sam"])
    assert client.post(ADD, FORM).status_code == 302
    client.force_login(people["demo"])

    assert client.get(LIST).status_code == 302
