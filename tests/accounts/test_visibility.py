"""What a user may see now, and the reading again of a socket's user and session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from pytest_django import Settings

from accounts import preferences
from accounts.models import User
from accounts.visibility import SHOW_REASONING, SHOW_TRACE, reread, visibility
from tests.factories import client_of


@pytest.mark.spec("004 flags")
@pytest.mark.parametrize(
    ("in_session", "in_profile", "site", "is_shown"),
    [
        (None, None, True, True),
        (None, None, False, False),
        (None, False, True, False),
        (None, True, False, True),
        (True, False, False, True),
        (False, True, True, False),
        ("false", None, True, True),  # not a value that a switch stores
    ],
)
def test_session_overrides_profile_and_profile_overrides_site(
    alice: User, settings: Settings, in_session: object, in_profile: bool | None, site: bool, is_shown: bool
) -> None:
    settings.REASONING_SHOW_SUMMARY_DEFAULT = site
    alice.show_reasoning = in_profile
    session = {} if in_session is None else {SHOW_REASONING: in_session}

    assert visibility(alice, session).summary is is_shown


@pytest.mark.spec("004 flags")
def test_trace_is_shown_on_request_where_the_site_leaves_it_out(alice: User, settings: Settings) -> None:
    settings.REASONING_TOOL_TRACE_DEFAULT = False

    assert visibility(alice, {}).trace_on_request
    assert visibility(alice, {SHOW_TRACE: True}).trace


@pytest.mark.spec("product 13")
def test_site_without_reasoning_shows_none_and_asks_for_none(ada: User, settings: Settings) -> None:
    settings.REASONING_ENABLED = False

    sees = visibility(ada, {SHOW_REASONING: True, SHOW_TRACE: True})

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

    # Staff are not administrators.
    assert [visibility(user, {}).thinking for user in (alice, sam, ada)] == [user_sees, user_sees, "whole"]


@pytest.mark.spec("001 BR-003")
def test_user_may_turn_thinking_off(alice: User) -> None:
    alice.reasoning = {"reasoning.includeInResponse": False}

    assert visibility(alice, {}).thinking == "none"


@pytest.mark.parametrize("by_group", [False, True])
def test_administrators_hold_the_permission_themselves_or_by_a_group(alice: User, bob: User, by_group: bool) -> None:
    permission = Permission.objects.get(codename="view_scratchpad")
    if by_group:
        group = Group.objects.create(name="Administrators")
        group.permissions.add(permission)
        alice.groups.add(group)
    else:
        alice.user_permissions.add(permission)

    assert (alice.is_administrator, bob.is_administrator) == (True, False)


def test_reread_returns_what_changed_since_the_socket_opened(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "false"})
    User.objects.update(show_reasoning=True)

    current = reread(alice, client.session.session_key)

    assert current is not None
    user, session = current
    assert (user.pk, user.show_reasoning, session[SHOW_REASONING]) == (alice.pk, True, False)


def test_reread_finds_no_foreign_or_missing_session(alice: User, bob: User) -> None:
    key = client_of(alice).session.session_key

    assert reread(bob, key) is None
    assert reread(alice, None) is None
    SessionStore(key).delete()
    assert reread(alice, key) is None


@pytest.mark.parametrize("reason", ["inactive", "password changed"])
def test_reread_finds_no_user_whose_session_has_ended(alice: User, reason: str) -> None:
    key = client_of(alice).session.session_key
    if reason == "inactive":
        alice.is_active = False
    else:
        alice.set_password("another horse battery staple")
    alice.save()

    assert reread(alice, key) is None
