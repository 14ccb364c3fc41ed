"""Personal access tokens: authentication, settings page and ``manage.py create_token``."""

import io

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.access import tokens
from accounts.models import AccessToken, AuditEntry
from tests.factories import PASSWORD, client_of, make_administrator

PBKDF2 = "django.contrib.auth.hashers.PBKDF2PasswordHasher"


def test_token_authenticates_its_user_and_is_not_stored(alice):
    row, plaintext = tokens.create_token(alice, "laptop")

    assert plaintext.startswith("lgb_")
    assert tokens.authenticate(f"Bearer {plaintext}") == alice
    assert tokens.authenticate(f"bearer   {plaintext} ") == alice
    stored = [str(value) for value in AccessToken.objects.values().get().values()]
    assert row.digest in stored
    assert not any(plaintext[4:] in value for value in stored)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer lgb_", "Bearer lgb_nope", "Basic {token}", "Bearer lgb_{digest}", "\ud800"],
)
def test_other_headers_authenticate_nobody(alice, header):
    row, plaintext = tokens.create_token(alice)

    assert tokens.authenticate(header and header.format(token=plaintext, digest=row.digest)) is None


def test_last_use_is_written_at_most_once_a_minute(alice):
    row, plaintext = tokens.create_token(alice)

    uses = []
    for _ in range(2):
        tokens.authenticate(f"Bearer {plaintext}")
        row.refresh_from_db()
        uses.append(row.last_used_at)

    assert uses[0] is not None
    assert uses[0] == uses[1]


@pytest.mark.sqlite  # which refuses all writes by a switch
def test_token_reads_where_nothing_can_be_written(alice):
    plaintext = tokens.create_token(alice)[1]
    connection.connection.execute("PRAGMA query_only = ON")
    try:
        assert tokens.authenticate(f"Bearer {plaintext}") == alice, "never used before"
    finally:
        connection.connection.execute("PRAGMA query_only = OFF")

    tokens.authenticate(f"Bearer {plaintext}")
    with CaptureQueriesContext(connection) as queries:
        tokens.authenticate(f"Bearer {plaintext}")

    assert not [query for query in queries if "UPDATE" in query["sql"]], "SQLite locks for one that changes nothing"


@pytest.mark.parametrize("door", ["page", "admin", "command"])
def test_a_new_password_ends_tokens_by_every_door_and_is_audited(alice, bob, door, monkeypatch):
    _row, plaintext = tokens.create_token(alice)
    _other, of_bob = tokens.create_token(bob)
    new = "a quite different phrase"
    if door == "page":
        page, form = (
            reverse("accounts:password"),
            {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
        )
        assert "your API tokens end" in client_of(alice).get(page).text
        client_of(alice).post(page, form)
    elif door == "admin":
        admin, page = (
            make_administrator("root", is_staff=True, is_superuser=True),
            f"/admin/accounts/user/{alice.pk}/password/",
        )
        assert "ends all sessions and access tokens" in client_of(admin).get(page).text
        client_of(admin).post(page, {"usable_password": "true", "password1": new, "password2": new})
    else:
        monkeypatch.setattr("getpass.getpass", lambda **_prompt: new)
        call_command("changepassword", "alice", stdout=io.StringIO())

    alice.refresh_from_db()
    assert alice.check_password(new)
    assert tokens.authenticate(f"Bearer {plaintext}") is None
    assert tokens.authenticate(f"Bearer {of_bob}") == bob
    assert AuditEntry.objects.filter(user=alice, action="tokens_ended").count() == 1


def test_taking_the_password_away_ends_tokens(alice):
    _row, plaintext = tokens.create_token(alice)
    admin = make_administrator("root", is_staff=True, is_superuser=True)

    form = {"usable_password": "false", "unset-password": "1"}
    client_of(admin).post(f"/admin/accounts/user/{alice.pk}/password/", form)

    alice.refresh_from_db()
    assert not alice.has_usable_password()
    assert tokens.authenticate(f"Bearer {plaintext}") is None


def test_signing_in_keeps_tokens_though_an_old_hash_is_renewed(client, alice):
    _row, plaintext = tokens.create_token(alice)

    with override_settings(PASSWORD_HASHERS=[*settings.PASSWORD_HASHERS, PBKDF2]):
        alice.password = make_password(PASSWORD, hasher="pbkdf2_sha256")
        alice.save(update_fields=["password"])
        client.post(reverse("accounts:login"), {"username": "alice", "password": PASSWORD})

    alice.refresh_from_db()
    assert alice.password.startswith("md5$")
    assert tokens.authenticate(f"Bearer {plaintext}") == alice


def test_creating_and_revoking_are_audited(alice):
    row, plaintext = tokens.create_token(alice)
    tokens.revoke(row)

    assert tokens.authenticate(f"Bearer {plaintext}") is None
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {"token_created", "token_revoked"}


def test_settings_page_shows_a_new_token_once(alice):
    client = client_of(alice)

    shown = client.post(reverse("accounts:tokens"), {"name": "laptop"})
    later = client.get(reverse("accounts:tokens")).text

    plaintext = shown.context["new_token"]
    assert plaintext in shown.text
    assert "no-store" in shown["Cache-Control"]
    assert "laptop" in later
    assert plaintext not in later


def test_tokens_of_a_user_are_limited(client, alice, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 1)
    client.force_login(alice)

    answers = [client.post("/accounts/tokens/", {"name": name}).content.decode() for name in ("one", "two")]

    assert alice.access_tokens.get().name == "one"
    assert "revoke one first" in answers[1]


def test_only_the_owner_revokes_a_token(alice, bob):
    row, _plaintext = tokens.create_token(alice)
    url = reverse("accounts:token_revoke", args=[row.pk])

    assert client_of(bob).post(url).status_code == 404
    assert AccessToken.objects.exists()
    client_of(alice).post(url)
    assert not AccessToken.objects.exists()


def test_command_prints_a_valid_token(alice):
    out = io.StringIO()

    call_command("create_token", "alice", stdout=out)

    assert tokens.authenticate(f"Bearer {out.getvalue().strip()}") == alice
    with pytest.raises(CommandError, match="no active user 'nobody'"):
        call_command("create_token", "nobody")
