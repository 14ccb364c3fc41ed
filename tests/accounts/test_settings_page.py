"""The settings page: default for "Show reasoning", reasoning settings, saved profiles; and the layers behind them."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from accounts import preferences
from accounts.models import User
from reasoning.errors import SettingError
from reasoning.settings import SETTINGS
from tests.factories import client_of

PAGE = "/accounts/settings/"
SAVE = "/accounts/settings/reasoning/"


@pytest.fixture
def alices(alice: User) -> Client:
    return client_of(alice)


def saved_layer(user: User) -> object:
    user.refresh_from_db()
    return user.reasoning


@pytest.mark.spec("001 BR-008")
def test_later_layer_wins_and_unset_values_fall_through(alice: User) -> None:
    alice.reasoning = {"reasoning.stripFromContext": "none", "reasoning.effort": "low"}

    joined = preferences.reasoning_settings(
        alice,
        model_layer={"reasoning.effort": "high", "reasoning.includeInContext": True},
        conversation_layer={"reasoning.stripFromContext": "allButLast"},
    )

    assert (joined.strip_from_context, joined.effort, joined.include_in_context) == ("allButLast", "low", True)


@pytest.mark.spec("001 BR-001")
def test_reasoning_stays_out_of_the_context_by_default(alice: User) -> None:
    assert not preferences.reasoning_settings(alice).include_in_context


@pytest.mark.spec("001 ERR-001")
def test_stored_value_that_is_no_longer_allowed_is_named(alice: User) -> None:
    alice.reasoning = {"reasoning.format": "xml"}

    with pytest.raises(SettingError, match=r"reasoning\.format: 'xml' is not allowed; 'field' or 'native' only"):
        preferences.reasoning_settings(alice)


@pytest.mark.spec("001 BR-008")
def test_form_saves_set_values_and_leaves_out_empty_ones(alices: Client, alice: User, settings: Settings) -> None:
    settings.REASONING_DEFAULTS = {"reasoning.effort": "minimal", "reasoning.summary": "auto"}
    form = alices.get(PAGE).context["reasoning_form"]
    assert {key: form[key].value() for key in form.fields} == dict.fromkeys(SETTINGS, "")

    values = {"reasoning.effort": "high", "reasoning.maxTokens": "2000", "reasoning.includeInResponse": "false"}
    alices.post(SAVE, values)

    assert saved_layer(alice) == {
        "reasoning.effort": "high",
        "reasoning.maxTokens": 2000,
        "reasoning.includeInResponse": False,
    }
    joined = preferences.reasoning_settings(alice)
    assert (joined.effort, joined.summary) == ("high", "auto")
    assert alices.get(PAGE).context["reasoning_form"]["reasoning.includeInResponse"].value() == "false"
    alices.post(SAVE, {"reasoning.effort": "", "reasoning.maxTokens": "2000"})
    assert saved_layer(alice) == {"reasoning.maxTokens": 2000}


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("reasoning.format", "xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only."),
        ("reasoning.maxTokens", "-1", "a whole number from 1 to"),
    ],
)
def test_invalid_value_is_reported_at_its_field(alices: Client, alice: User, key: str, value: str, error: str) -> None:
    errors = alices.post(SAVE, {"reasoning.effort": "high", key: value}).context["reasoning_form"].errors

    assert list(errors) == [key]
    assert error in errors[key][0]
    assert saved_layer(alice) == {}


def test_default_for_show_reasoning_clears_the_switch_of_the_session(alices: Client, alice: User) -> None:
    User.objects.update(reasoning={"reasoning.effort": "high"})
    alices.post("/accounts/toggles/show-reasoning/", {"on": "true"})

    alices.post(PAGE, {"show_reasoning": "false"})

    assert saved_layer(alice) == {"reasoning.effort": "high"}
    assert alice.show_reasoning is False
    assert not alices.get(PAGE).context["visibility"].show_reasoning


@pytest.mark.spec("product 13")
def test_site_without_reasoning_hides_the_settings(alices: Client, settings: Settings) -> None:
    settings.REASONING_ENABLED = False

    assert 'id="defaults"' not in alices.get(PAGE).text


def test_profile_replaces_the_settings_and_can_be_deleted(alices: Client, alice: User) -> None:
    User.objects.update(reasoning={"reasoning.summary": "auto"})
    preferences.save_profile(alice, "quiet", {"reasoning.includeInResponse": False})
    profile = alice.reasoning_profiles.get()
    assert "reasoning.includeInResponse=false" in alices.get(PAGE).text

    alices.post(f"/accounts/profiles/{profile.pk}/use/")
    assert saved_layer(alice) == {"reasoning.includeInResponse": False}

    alices.post(f"/accounts/profiles/{profile.pk}/delete/")
    assert not alice.reasoning_profiles.exists()


@pytest.mark.spec("001 ERR-001")
def test_profile_with_a_value_that_is_no_longer_allowed_is_not_used(alices: Client, alice: User) -> None:
    profile = alice.reasoning_profiles.create(name="old", values={"reasoning.format": "xml"})

    response = alices.post(f"/accounts/profiles/{profile.pk}/use/", follow=True)

    assert "&#x27;field&#x27; or &#x27;native&#x27; only" in response.text
    assert saved_layer(alice) == {}


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("action", ["use", "delete"])
def test_profile_of_another_user_is_not_found(alices: Client, alice: User, bob: User, action: str) -> None:
    preferences.save_profile(bob, "quiet", {"reasoning.effort": "low"})

    assert alices.post(f"/accounts/profiles/{bob.reasoning_profiles.get().pk}/{action}/").status_code == 404
    assert saved_layer(alice) == {}
    assert bob.reasoning_profiles.exists()


def test_profiles_are_replaced_by_name_and_limited(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferences, "MAX_PROFILES", 1)
    preferences.save_profile(alice, "mine", {"reasoning.effort": "low"})
    preferences.save_profile(alice, "mine", {"reasoning.effort": "high"})

    assert preferences.load_profile(alice, "mine") == {"reasoning.effort": "high"}
    with pytest.raises(preferences.InvalidProfileError, match="You have 1 profiles already"):
        preferences.save_profile(alice, "two", {})
