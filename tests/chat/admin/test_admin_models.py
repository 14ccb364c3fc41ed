"""Staff describe models in the admin: presets, named errors, one default, and never a key."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.demo import ensure_users
from chat.models import ModelProfile
from reasoning.replay.dialects import PRESETS
from reasoning.services.thinking_formats import THINKING_FORMATS
from reasoning.settings import SETTINGS
from tests.chat.addresses import BAD_ADDRESSES
from tests.factories import bind_keys, make_profile, make_user

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
    "is_enabled": "on",
}


@pytest.fixture(autouse=True)
def _root(client, db):
    user = make_user("root", is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def reasoning(layer: Mapping[str, Any]) -> dict[str, str]:
    """Return what the form posts for these settings."""
    values = (layer.get(key, "") for key in SETTINGS)
    return {f"reasoning_{at}": str(value).lower() if value is True else str(value) for at, value in enumerate(values)}


def refused(client: Client, **fields: str) -> dict[str, Any]:
    """Post the form with these fields and return its errors."""
    answer = client.post(ADD, FORM | fields)
    assert answer.status_code == 200
    return {name: list(errors) for name, errors in answer.context["adminform"].form.errors.items()}


def test_model_is_saved_and_listed(client):
    assert client.post(ADD, FORM | reasoning({"reasoning.effort": "low"})).status_code == 302

    saved = ModelProfile.objects.get()
    listed = client.get(LIST).content.decode()

    assert (saved.name, saved.dialect, saved.reasoning) == ("kimi", "", {"reasoning.effort": "low"})
    assert '<td class="field-effective_dialect">kimi</td>' in listed
    assert '<td class="field-key">none needed</td>' in listed


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_preset_fills_the_form_and_what_it_fills_is_accepted(client, name):
    preset = PRESETS[name]
    assert f'href="{ADD}?preset={name}"' in client.get(LIST).content.decode()

    form = client.get(f"{ADD}?preset={name}").context["adminform"].form
    filled = {field: form[field].value() for field in form.fields}
    posted = {field: value for field, value in filled.items() if value not in (None, False)}
    assert client.post(ADD, posted | reasoning(posted.pop("reasoning"))).status_code == 302

    saved = ModelProfile.objects.get()
    assert (saved.name, saved.model, saved.dialect, saved.api) == (name, preset.model, preset.dialect, preset.api)
    assert saved.reasoning == dict(preset.reasoning)
    assert saved.api_key_env == preset.api_key_env


def test_preset_with_a_used_name_gets_another(client):
    make_profile("kimi")

    form = client.get(f"{ADD}?preset=kimi").context["adminform"].form

    assert form["name"].value() == "kimi-2"


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [("reasoning.format", "xml", ["'field'", "'native'"]), ("reasoning.maxTokens", "0", ["whole number"])],
)
def test_setting_that_is_not_allowed_is_named_with_what_is(client, setting, value, named):
    [message] = refused(client, **reasoning({setting: value}))["reasoning"]

    assert all(word in message for word in (setting, *named))
    assert not ModelProfile.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "api.example.com"),
        ("base_url", "ftp://example.com/v1"),
        ("base_url", "https://user:word@example.com/v1"),
        ("base_url", "https://example.com/v1?key=1"),
        *(("base_url", address) for address in BAD_ADDRESSES),
        ("api_key_env", "SECRET_KEY"),
        ("api_key_env", "CONTENT_KEYS"),
        ("api_key_env", "DATABASE_URL"),
        ("api_key_env", "sk-123"),
        ("api_key_env", "OPENAI_API_KEY"),
        ("api_key_env", "GITHUB_TOKEN"),
        ("api_key_env", "DEEPSEEK_API_KEY"),
        ("dialect", "nonsense"),
        ("thinking_format", "nonsense"),
        *(("context_limit", text) for text in ("999", "-5", "1e6", "9" * 20, "1000.5")),
        ("name", "two words"),
        ("is_enabled", ""),
    ],
)
def test_what_could_not_work_is_refused(client, field, value):
    errors = refused(client, **{"is_default": "on", field: value})

    assert list(errors) == ["is_default" if field == "is_enabled" else field]


def test_new_default_replaces_the_previous_one(client):
    before = make_profile("before", is_default=True)

    assert client.post(ADD, FORM | {"is_default": "on"}).status_code == 302

    before.refresh_from_db()
    assert not before.is_default
    assert ModelProfile.objects.get(is_default=True).name == "kimi"


def test_key_of_another_host_is_refused_with_what_would_be_allowed(client, settings):
    bind_keys(settings, "TEAM_KEY@10.0.0.7:8000,KIMI_KEY@api.moonshot.ai")

    bound_elsewhere = refused(client, api_key_env="TEAM_KEY")["api_key_env"]
    unlisted = refused(client, api_key_env="GITHUB_TOKEN")["api_key_env"]
    client.cookies["django_language"] = "de"
    german = refused(client, api_key_env="TEAM_KEY")["api_key_env"]

    assert bound_elsewhere == [
        "TEAM_KEY may not be sent to api.moonshot.ai: it is for 10.0.0.7:8000. Variables for this host: KIMI_KEY."
    ]
    assert unlisted == [
        "GITHUB_TOKEN may not be sent to api.moonshot.ai: MODEL_KEYS does not list it. "
        "Variables for this host: KIMI_KEY."
    ]
    assert german[0].startswith("TEAM_KEY darf nicht an api.moonshot.ai gesendet werden")
    assert client.post(ADD, FORM | {"api_key_env": "KIMI_KEY"}).status_code == 302


@pytest.mark.parametrize(
    ("typed", "saved"),
    [
        ("  https://api.example.com/v1/ ", "https://api.example.com/v1"),
        ("http://[0:0::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://bücher.example/v1", "https://xn--bcher-kva.example/v1"),
        ("http://model_server:8000", "http://model_server:8000"),
        ("HTTP://10.0.0.7/v1", "http://10.0.0.7/v1"),
    ],
)
def test_address_is_saved_in_one_form(client, typed, saved):
    assert client.post(ADD, FORM | {"base_url": typed}).status_code == 302

    assert ModelProfile.objects.get().base_url == saved


@pytest.mark.spec("product 33")
def test_thinking_format_is_chosen_from_the_families(client):
    form = client.get(ADD).context["adminform"].form

    choices = dict(form.fields["thinking_format"].choices)
    assert list(choices) == ["", *THINKING_FORMATS]
    assert choices[""].startswith("automatic")
    assert choices["mistral"] == "mistral (Magistral, Ministral, Devstral, Mistral Medium 3.5)"
    assert client.post(ADD, FORM | {"thinking_format": "mistral"}).status_code == 302
    assert ModelProfile.objects.get().thinking_format == "mistral"


# product 28
@pytest.mark.parametrize("field", ["takes_tools", "takes_images"])
@pytest.mark.parametrize(("typed", "saved"), [("unknown", None), ("true", True), ("false", False)])
def test_abilities_are_automatic_yes_or_no(client, field, typed, saved):
    form = client.get(ADD).context["adminform"].form

    assert [word for _value, word in form.fields[field].widget.choices] == ["automatic", "yes", "no"]
    assert client.post(ADD, FORM | {field: typed}).status_code == 302
    assert getattr(ModelProfile.objects.get(), field) is saved


def test_problem_of_a_stored_model_is_listed(client):
    make_profile("odd", base_url="http://127.0.0.1:99999/v1")
    make_profile("thief", api_key_env="OPENAI_API_KEY")

    listed = client.get(LIST).content.decode()

    assert "The port of the address must be a number from 1 to 65535." in listed
    assert "OPENAI_API_KEY is not for 127.0.0.1:9" in listed


def test_key_is_reported_as_set_and_never_shown(client, settings, monkeypatch):
    bind_keys(settings, "MOONSHOT_API_KEY@127.0.0.1,ZAI_API_KEY@127.0.0.1")
    monkeypatch.setenv("MOONSHOT_API_KEY", "canary-key-77")
    monkeypatch.delenv("ZAI_API_KEY", raising=False)
    kimi = make_profile("kimi", api_key_env="MOONSHOT_API_KEY")
    make_profile("glm", api_key_env="ZAI_API_KEY")

    listed = client.get(LIST).content.decode()
    page = client.get(reverse("admin:chat_modelprofile_change", args=[kimi.pk])).content.decode()

    assert "MOONSHOT_API_KEY is set" in listed
    assert "ZAI_API_KEY is empty" in listed
    assert "canary-key-77" not in listed + page


def test_demo_staff_run_the_models(client, settings):
    settings.DEMO_PASSWORD = "demo-password-1"
    people = ensure_users()
    client.force_login(people["sam"])
    assert client.post(ADD, FORM).status_code == 302
    client.force_login(people["demo"])

    assert client.get(LIST).status_code == 302
