"""What a user may see now, and the reading again of a socket's user and session."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.backends.db import SessionStore

from accounts import preferences
from accounts.access.visibility import SHOW_REASONING, SHOW_TRACE, reread, visibility
from accounts.models import User
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
def test_session_overrides_profile_and_profile_overrides_site(alice, settings, in_session, in_profile, site, is_shown):
    settings.REASONING_SHOW_SUMMARY_DEFAULT = site
    alice.show_reasoning = in_profile
    session = {} if in_session is None else {SHOW_REASONING: in_session}

    assert visibility(alice, session).summary is is_shown


@pytest.mark.spec("004 flags")
def test_trace_is_shown_on_request_where_the_site_leaves_it_out(alice, settings):
    settings.REASONING_TOOL_TRACE_DEFAULT = False

    assert visibility(alice, {}).trace_on_request
    assert visibility(alice, {SHOW_TRACE: True}).trace


@pytest.mark.spec("product 13")
def test_site_without_reasoning_shows_none_and_asks_for_none(ada, settings):
    settings.REASONING_ENABLED = False

    sees = visibility(ada, {SHOW_REASONING: True, SHOW_TRACE: True})

    assert (sees.reasoning_possible, sees.summary, sees.trace, sees.thinking) == (False, False, False, "none")
    assert not preferences.reasoning_settings(ada).enabled


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(
    ("for_users", "user_sees"), [("excerpt", "excerpt"), ("full", "whole"), ("hidden", "withheld")]
)
def test_site_decides_how_much_thinking_users_see(alice, ada, sam, settings, for_users, user_sees):
    settings.REASONING_THINKING_FOR_USERS = for_users

    # Staff are not administrators.
    assert [visibility(user, {}).thinking for user in (alice, sam, ada)] == [user_sees, user_sees, "whole"]


@pytest.mark.spec("001 BR-003")
def test_user_may_turn_thinking_off(alice):
    alice.reasoning = {"reasoning.includeInResponse": False}

    assert visibility(alice, {}).thinking == "none"


@pytest.mark.parametrize("by_group", [False, True])
def test_administrators_hold_the_permission_themselves_or_by_a_group(alice, bob, by_group):
    permission = Permission.objects.get(codename="view_scratchpad")
    if by_group:
        group = Group.objects.create(name="Administrators")
        group.permissions.add(permission)
        alice.groups.add(group)
    else:
        alice.user_permissions.add(permission)

    assert (alice.is_administrator, bob.is_administrator) == (True, False)


def test_reread_returns_what_changed_since_the_socket_opened(client, alice):
    client.force_login(alice)
    client.post("/accounts/toggles/show-reasoning/", {"on": "false"})
    User.objects.update(show_reasoning=True)

    current = reread(alice, client.session.session_key)

    assert current is not None
    user, session = current
    assert (user.pk, user.show_reasoning, session[SHOW_REASONING]) == (alice.pk, True, False)


def test_reread_finds_no_foreign_or_missing_session(alice, bob):
    key = client_of(alice).session.session_key

    assert reread(bob, key) is None
    assert reread(alice, None) is None
    SessionStore(key).delete()
    assert reread(alice, key) is None


@pytest.mark.parametrize("reason", ["inactive", "password changed"])
def test_reread_finds_no_user_whose_session_has_ended(alice, reason):
    key = client_of(alice).session.session_key
    if reason == "inactive":
        alice.is_active = False
    else:
        alice.set_password("another horse battery staple")
    alice.save()

    assert reread(alice, key) is None


# The switches above a conversation. The scratchpad's is in test_scratchpad.


TOGGLES = {"/accounts/toggles/show-reasoning/": "show_reasoning", "/accounts/toggles/show-trace/": "show_trace"}


@pytest.fixture
def alices(alice):
    return client_of(alice)


@pytest.mark.parametrize(("url", "key"), TOGGLES.items())
def test_choice_is_stored_in_the_session(alices, url, key):
    for on in (True, False):
        assert alices.post(url, {"on": str(on).lower()}).status_code == 204
        assert alices.session[key] is on
    assert alices.get(url).status_code == 405


@pytest.mark.parametrize("on", ["", "1", "TRUE", "maybe"])
def test_invalid_value_changes_nothing(alices, on):
    for url, key in TOGGLES.items():
        assert alices.post(url, {"on": on}).status_code == 400
        assert key not in alices.session


@pytest.mark.parametrize(
    ("target", "headers", "status", "location"),
    [
        ("/chats/", {}, 303, "/chats/"),
        ("/chats/", {"HX-Request": "true"}, 204, None),
        ("https://elsewhere.example/", {}, 204, None),
        ("//elsewhere.example/", {}, 204, None),
        ("", {}, 204, None),
    ],
)
def test_form_without_script_redirects_within_the_site(alices, target, headers, status, location):
    response = alices.post("/accounts/toggles/show-reasoning/", {"on": "false", "next": target}, headers=headers)

    assert (response.status_code, response.headers.get("Location")) == (status, location)
