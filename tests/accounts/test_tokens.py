"""Personal access tokens: authentication, settings page and ``manage.py create_token``."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.access import tokens
from accounts.models import AccessToken, AuditEntry
from tests.factories import client_of


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
