"""The settings pages: theme, language, reasoning settings, saved profiles; and the layers behind them."""

import re
from typing import Any

import pytest
from django import forms

from accounts import preferences
from accounts.models import User
from reasoning.errors import SettingError
from tests.factories import PASSWORD, client_of

PAGE = "/accounts/settings/"
REASONING = "/accounts/settings/reasoning/"


@pytest.fixture
def alices(alice):
    return client_of(alice)


def posted_by(form: forms.Form) -> dict[str, Any]:
    """Return what a browser sends for a form that nobody has changed."""
    return {field.name: value for field in form if (value := field.value()) not in (None, False)}


def saved_layer(user: User) -> object:
    user.refresh_from_db()
    return user.reasoning


@pytest.mark.spec("001 ERR-001")
def test_stored_value_that_is_no_longer_allowed_is_named(alice):
    alice.reasoning = {"reasoning.format": "xml"}

    with pytest.raises(SettingError, match=r"reasoning\.format: 'xml' is not allowed; 'field' or 'native' only"):
        preferences.reasoning_settings(alice)


@pytest.mark.spec("001 BR-008")
def test_form_shows_defaults_and_saves_what_is_set(alices, alice, settings):
    settings.REASONING_DEFAULTS = {"reasoning.effort": "xhigh"}
    page = alices.get(REASONING)
    assert {"Default (Very high)", "Default (No limit)"} <= set(re.findall(r"Default \([^)]*\)", page.text))
    untouched = posted_by(page.context["form"])

    alices.post(REASONING, untouched)
    assert (saved_layer(alice), alice.show_reasoning) == ({}, None)
    alices.post(REASONING, untouched | {"reasoning.effort": "high", "reasoning.maxTokens": "2000"})
    assert saved_layer(alice) == {"reasoning.effort": "high", "reasoning.maxTokens": 2000}
    alices.post(REASONING, {"reasoning.effort": "", "reasoning.maxTokens": "2000"})
    assert saved_layer(alice) == {"reasoning.maxTokens": 2000, "reasoning.includeInResponse": False}
    assert alice.show_reasoning is False

    alices.post(REASONING, posted_by(alices.get(REASONING).context["form"]))
    assert saved_layer(alice) == {"reasoning.maxTokens": 2000, "reasoning.includeInResponse": False}
    alices.post(REASONING, {"reset": "1"})
    assert (saved_layer(alice), alice.show_reasoning) == ({}, None)


def test_check_boxes_say_what_the_site_shows(alices, ada, settings):
    settings.REASONING_THINKING_FOR_USERS, settings.REASONING_SCRATCHPAD_ENABLED = "hidden", True
    settings.REASONING_TOOL_TRACE_DEFAULT = False

    users, administrators = alices.get(REASONING), client_of(ada).get(REASONING)

    assert users.context["form"].fields["reasoning.includeInResponse"].disabled
    assert "Hidden for your account." in users.text
    assert "left out until you ask for it" in users.text
    assert "Scratchpad" not in users.text
    assert not administrators.context["form"].fields["reasoning.includeInResponse"].disabled
    assert "Off. The switch is above a conversation." in administrators.text


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("reasoning.format", "xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only."),
        ("reasoning.maxTokens", "-1", "a whole number from 1 to"),
    ],
)
def test_invalid_value_is_reported_at_its_field(alices, alice, key, value, error):
    errors = alices.post(REASONING, {"reasoning.effort": "high", key: value}).context["form"].errors

    assert list(errors) == [key]
    assert error in errors[key][0]
    assert saved_layer(alice) == {}


def test_saving_clears_the_switch_of_the_session(alices, alice):
    alices.post("/accounts/toggles/show-reasoning/", {"on": "true"})

    alices.post(REASONING, {"reasoning.includeInResponse": "on"})

    assert (saved_layer(alice), alice.show_reasoning) == ({}, False)
    assert not alices.get(REASONING).context["sees"].show_reasoning


@pytest.mark.spec("product 13")
def test_site_without_reasoning_hides_the_settings(alices, settings):
    settings.REASONING_ENABLED = False

    assert "This site shows no reasoning." in (page := alices.get(REASONING).text)
    assert "reasoning.effort" not in page


def test_theme_and_language_are_saved_apart_and_hold_on_every_page(alices, alice):
    assert "data-theme" not in alices.get(PAGE).text

    alices.post(PAGE, {"theme": "dark"})
    saved = alices.post(PAGE, {"language": "de"}, follow=True)

    alice.refresh_from_db()
    assert (alice.theme, alice.language) == ("dark", "de")
    for page in (saved, alices.get("/", follow=True), alices.get("/nowhere/")):
        assert '<html lang="de" dir="ltr" data-theme="dark">' in page.text
    assert alices.post(PAGE, {"theme": "pink"}).context["form"].has_error("theme")
    alices.post(PAGE, {"language": ""})
    assert '<html lang="en"' in alices.get(PAGE).text


def test_sign_in_brings_the_language_of_the_user(client, alice, bob):
    User.objects.filter(pk=alice.pk).update(language="de")
    languages = []
    for name in ("alice", "bob"):
        client.post("/accounts/login/", {"username": name, "password": PASSWORD})
        languages.append(client.get(PAGE)["Content-Language"])
        client.post("/accounts/logout/")

    assert languages == ["de", "en"]


def test_profile_replaces_the_settings_and_can_be_deleted(alices, alice):
    User.objects.update(reasoning={"reasoning.summary": "auto"})
    preferences.save_profile(alice, "quiet", {"reasoning.includeInResponse": False})
    profile = alice.reasoning_profiles.get()
    assert "Show thinking: Off" in alices.get(REASONING).text

    alices.post(f"/accounts/profiles/{profile.pk}/use/")
    assert saved_layer(alice) == {"reasoning.includeInResponse": False}

    alices.post(f"/accounts/profiles/{profile.pk}/delete/")
    assert not alice.reasoning_profiles.exists()


@pytest.mark.spec("001 ERR-001")
def test_profile_with_a_value_that_is_no_longer_allowed_is_not_used(alices, alice):
    profile = alice.reasoning_profiles.create(name="old", values={"reasoning.format": "xml"})

    response = alices.post(f"/accounts/profiles/{profile.pk}/use/", follow=True)

    assert "&#x27;field&#x27; or &#x27;native&#x27; only" in response.text
    assert saved_layer(alice) == {}


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("action", ["use", "delete"])
def test_profile_of_another_user_is_not_found(alices, alice, bob, action):
    preferences.save_profile(bob, "quiet", {"reasoning.effort": "low"})

    assert alices.post(f"/accounts/profiles/{bob.reasoning_profiles.get().pk}/{action}/").status_code == 404
    assert saved_layer(alice) == {}
    assert bob.reasoning_profiles.exists()


def test_profiles_are_replaced_by_name_and_limited(alice, monkeypatch):
    monkeypatch.setattr(preferences, "MAX_PROFILES", 1)
    preferences.save_profile(alice, "mine", {"reasoning.effort": "low"})
    preferences.save_profile(alice, "mine", {"reasoning.effort": "high"})

    assert preferences.load_profile(alice, "mine") == {"reasoning.effort": "high"}
    with pytest.raises(preferences.InvalidProfileError, match="You have 1 profiles already"):
        preferences.save_profile(alice, "two", {})
