from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from pytest_django import Settings

from accounts import preferences
from accounts.models import User
from reasoning.errors import SettingError


@pytest.mark.spec("004 flags")
@pytest.mark.parametrize(
    ("chosen_now", "personal", "site", "shown"),
    [
        (None, None, True, True),
        (None, None, False, False),
        (None, False, True, False),
        (None, True, False, True),
        (True, False, False, True),
        (False, True, True, False),
        ("false", None, True, True),  # not a choice that a switch could have made
    ],
)
def test_nearest_choice_decides_what_is_shown(
    alice: User, settings: Settings, chosen_now: object, personal: bool | None, site: bool, shown: bool
) -> None:
    settings.REASONING_SHOW_SUMMARY_DEFAULT = site
    alice.show_reasoning = personal
    session = {} if chosen_now is None else {preferences.SHOW_REASONING: chosen_now}

    assert preferences.visibility(alice, session).summary is shown


@pytest.mark.spec("004 flags")
def test_trace_waits_to_be_asked_for_where_the_site_says_so(alice: User, settings: Settings) -> None:
    settings.REASONING_TOOL_TRACE_DEFAULT = False

    assert preferences.visibility(alice, {}).trace_on_request
    assert preferences.visibility(alice, {preferences.SHOW_TRACE: True}).trace


@pytest.mark.spec("product 13")
def test_site_without_reasoning_shows_and_asks_for_none(ada: User, settings: Settings) -> None:
    settings.REASONING_ENABLED = False
    session = {preferences.SHOW_REASONING: True, preferences.SHOW_TRACE: True}

    sees = preferences.visibility(ada, session)

    assert (sees.reasoning_possible, sees.summary, sees.trace, sees.thinking) == (False, False, False, "none")
    assert not preferences.reasoning_settings(ada).enabled


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(
    ("for_users", "user_sees"), [("excerpt", "excerpt"), ("full", "whole"), ("hidden", "withheld")]
)
def test_site_decides_how_much_thinking_users_see(
    alice: User, ada: User, sam: User, settings: Settings, for_users: str, user_sees: str
) -> None:
    settings.REASONING_THINKING_FOR_USERS = for_users

    assert preferences.visibility(alice, {}).thinking == user_sees
    assert preferences.visibility(sam, {}).thinking == user_sees  # staff are not administrators
    assert preferences.visibility(ada, {}).thinking == "whole"


@pytest.mark.spec("001 BR-003")
def test_thinking_is_left_out_for_whoever_does_not_want_it(alice: User) -> None:
    alice.reasoning = {"reasoning.includeInResponse": False}

    assert preferences.visibility(alice, {}).thinking == "none"


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
def test_reasoning_stays_out_of_the_context_unless_somebody_says_otherwise(alice: User) -> None:
    assert not preferences.reasoning_settings(alice).include_in_context


@pytest.mark.spec("001 ERR-001")
def test_stored_value_that_is_not_allowed_is_named(alice: User) -> None:
    alice.reasoning = {"reasoning.format": "xml"}

    with pytest.raises(SettingError, match=r"reasoning\.format: 'xml' is not allowed; 'field' or 'native' only"):
        preferences.reasoning_settings(alice)


def test_reread_sees_what_changed_since_a_socket_opened(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "false"})

    again = preferences.reread(alice, client.session.session_key)

    assert again is not None
    assert preferences.is_signed_in(alice, client.session.session_key)
    assert again[0] == alice
    assert again[1][preferences.SHOW_REASONING] is False


def test_reread_finds_nothing_after_sign_out_or_for_another_person(client: Client, alice: User, bob: User) -> None:
    client.force_login(alice)
    key = client.session.session_key

    assert preferences.reread(bob, key) is None
    assert not preferences.is_signed_in(bob, key)
    SessionStore(key).delete()
    assert preferences.reread(alice, key) is None
    assert not preferences.is_signed_in(alice, key)
    assert preferences.reread(alice, None) is None
    assert not preferences.is_signed_in(alice, None)


def test_reread_finds_nothing_once_the_person_is_shut_out(client: Client, alice: User) -> None:
    client.force_login(alice)
    User.objects.update(is_active=False)

    assert preferences.reread(alice, client.session.session_key) is None
    assert not preferences.is_signed_in(alice, client.session.session_key)


def test_reread_finds_nothing_once_the_password_was_changed_elsewhere(client: Client, alice: User) -> None:
    client.force_login(alice)
    key = client.session.session_key
    alice.set_password("another horse battery staple")
    alice.save()

    assert preferences.reread(alice, key) is None
    assert not preferences.is_signed_in(alice, key)


def test_settings_page_saves_the_default_and_drops_the_choice_of_the_session(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "true"})

    client.post("/accounts/settings/", {"show_reasoning": "false"})

    alice.refresh_from_db()
    assert alice.show_reasoning is False
    assert not client.get("/accounts/settings/").context["visibility"].show_reasoning


@pytest.mark.parametrize("by_group", [False, True])
def test_permission_is_read_with_the_person(
    client: Client, alice: User, bob: User, by_group: bool, django_assert_num_queries: Any
) -> None:
    permission = Permission.objects.get(codename="view_scratchpad")
    if by_group:
        group = Group.objects.create(name="Administrators")
        group.permissions.add(permission)
        alice.groups.add(group)
    else:
        alice.user_permissions.add(permission)

    for person, holds in ((alice, True), (bob, False)):
        client.force_login(person)
        read = preferences.reread(person, client.session.session_key)
        assert read is not None
        with django_assert_num_queries(0):
            assert preferences.is_administrator(read[0]) is holds
