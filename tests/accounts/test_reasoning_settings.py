"""The pane's reasoning settings and saved profiles."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from accounts import preferences, profiles
from accounts.models import User
from reasoning.policy import SETTINGS

PANE = "/accounts/settings/"
SAVE = "/accounts/settings/reasoning/"


@pytest.fixture
def hers(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def test_pane_shows_every_setting_with_nothing_chosen(hers: Client) -> None:
    form = hers.get(PANE).context["reasoning_form"]

    assert list(form.fields) == list(SETTINGS)
    assert {form[key].value() for key in SETTINGS} == {""}
    assert "As the site or the model has it" in hers.get(PANE).text


@pytest.mark.spec("001 BR-008")
def test_what_is_chosen_holds_from_now_on_and_the_rest_falls_through(
    hers: Client, alice: User, settings: Settings
) -> None:
    settings.REASONING_DEFAULTS = {"reasoning.effort": "minimal", "reasoning.summary": "auto"}

    hers.post(SAVE, {"reasoning.effort": "high", "reasoning.maxTokens": "2000", "reasoning.includeInResponse": "false"})

    alice.refresh_from_db()
    assert alice.reasoning == {
        "reasoning.effort": "high",
        "reasoning.maxTokens": 2000,
        "reasoning.includeInResponse": False,
    }
    joined = preferences.reasoning_settings(alice)
    assert (joined.effort, joined.summary) == ("high", "auto")
    assert hers.get(PANE).context["reasoning_form"]["reasoning.includeInResponse"].value() == "false"


def test_empty_choice_unsets(hers: Client, alice: User) -> None:
    alice.reasoning = {"reasoning.effort": "high", "reasoning.format": "native"}
    alice.save()

    hers.post(SAVE, {"reasoning.effort": "", "reasoning.format": "native"})

    alice.refresh_from_db()
    assert alice.reasoning == {"reasoning.format": "native"}


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("reasoning.format", "xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only."),
        ("reasoning.maxTokens", "-1", "a whole number from 1 to"),
    ],
)
def test_value_that_is_not_allowed_is_refused_beside_its_field(
    hers: Client, alice: User, key: str, value: str, said: str
) -> None:
    answer = hers.post(SAVE, {"reasoning.effort": "high", key: value})

    assert list(answer.context["reasoning_form"].errors) == [key]
    assert said in answer.context["reasoning_form"].errors[key][0]
    alice.refresh_from_db()
    assert alice.reasoning == {}


def test_saving_what_is_seen_leaves_these_settings_alone(hers: Client, alice: User) -> None:
    alice.reasoning = {"reasoning.effort": "high"}
    alice.save()

    hers.post(PANE, {"show_reasoning": "false"})

    alice.refresh_from_db()
    assert (alice.reasoning, alice.show_reasoning) == ({"reasoning.effort": "high"}, False)


@pytest.mark.spec("product 13")
def test_site_without_reasoning_has_no_such_settings(hers: Client, settings: Settings) -> None:
    settings.REASONING_ENABLED = False

    assert 'id="defaults"' not in hers.get(PANE).text


def test_saved_profile_becomes_the_default(hers: Client, alice: User) -> None:
    alice.reasoning = {"reasoning.summary": "auto"}
    alice.save()
    profiles.save(alice, "quiet", {"reasoning.includeInResponse": False})
    assert "reasoning.includeInResponse=false" in hers.get(PANE).text

    hers.post(f"/accounts/profiles/{alice.reasoning_profiles.get().pk}/use/")

    alice.refresh_from_db()
    assert alice.reasoning == {"reasoning.includeInResponse": False}


@pytest.mark.spec("001 ERR-001")
def test_profile_with_a_value_that_is_allowed_no_more_is_refused(hers: Client, alice: User) -> None:
    profile = alice.reasoning_profiles.create(name="old", values={"reasoning.format": "xml"})

    answer = hers.post(f"/accounts/profiles/{profile.pk}/use/", follow=True)

    assert "&#x27;field&#x27; or &#x27;native&#x27; only" in answer.text
    alice.refresh_from_db()
    assert alice.reasoning == {}


def test_saved_profile_is_deleted(hers: Client, alice: User) -> None:
    profiles.save(alice, "quiet", {})

    hers.post(f"/accounts/profiles/{alice.reasoning_profiles.get().pk}/delete/")

    assert not alice.reasoning_profiles.exists()


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("deed", ["use", "delete"])
def test_profile_of_somebody_else_is_not_found(hers: Client, alice: User, bob: User, deed: str) -> None:
    profiles.save(bob, "quiet", {"reasoning.effort": "low"})

    assert hers.post(f"/accounts/profiles/{bob.reasoning_profiles.get().pk}/{deed}/").status_code == 404
    alice.refresh_from_db()
    assert alice.reasoning == {}
    assert bob.reasoning_profiles.exists()


def test_profile_saved_again_replaces_what_it_held(alice: User) -> None:
    profiles.save(alice, "mine", {"reasoning.effort": "low"})
    profiles.save(alice, "mine", {"reasoning.effort": "high"})

    assert profiles.load(alice, "mine") == {"reasoning.effort": "high"}


def test_nobody_saves_profiles_without_end(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "MOST", 1)
    profiles.save(alice, "one", {})
    profiles.save(alice, "one", {})

    with pytest.raises(profiles.ProfileRefused, match="You have 1 profiles already"):
        profiles.save(alice, "two", {})
