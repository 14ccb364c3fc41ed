from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts import tokens
from accounts.models import AccessToken, AuditEntry, User


def test_token_stands_for_its_person(alice: User) -> None:
    _row, plaintext = tokens.create_token(alice, "laptop")

    assert plaintext.startswith("lgb_")
    assert tokens.authenticate(f"Bearer {plaintext}") == alice
    assert tokens.authenticate(f"bearer   {plaintext} ") == alice


def test_plain_text_is_kept_nowhere(alice: User) -> None:
    row, plaintext = tokens.create_token(alice, "laptop")

    stored = [str(value) for value in AccessToken.objects.values().get().values()]
    assert not any(plaintext in value or plaintext[4:] in value for value in stored)
    assert row.digest in stored


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer lgb_", "Bearer lgb_nope", "Basic lgb_x", "\ud800"]
)
def test_anything_else_stands_for_nobody(alice: User, header: str | None) -> None:
    tokens.create_token(alice)

    assert tokens.authenticate(header) is None


def test_digest_is_not_a_token(alice: User) -> None:
    row, _plaintext = tokens.create_token(alice)

    assert tokens.authenticate(f"Bearer lgb_{row.digest}") is None
    assert tokens.authenticate(f"Bearer {row.digest}") is None


def test_token_of_an_inactive_person_opens_nothing(alice: User) -> None:
    _row, plaintext = tokens.create_token(alice)
    User.objects.update(is_active=False)

    assert tokens.authenticate(f"Bearer {plaintext}") is None


def test_use_is_noted_at_most_once_a_minute(alice: User) -> None:
    row, plaintext = tokens.create_token(alice)

    tokens.authenticate(f"Bearer {plaintext}")
    row.refresh_from_db()
    first = row.last_used_at
    tokens.authenticate(f"Bearer {plaintext}")
    row.refresh_from_db()

    assert first is not None
    assert row.last_used_at == first


def test_making_and_revoking_are_audited(alice: User) -> None:
    row, plaintext = tokens.create_token(alice)
    tokens.revoke(row)

    assert tokens.authenticate(f"Bearer {plaintext}") is None
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {"token_created", "token_revoked"}


def test_page_shows_a_new_token_once(client: Client, alice: User) -> None:
    client.force_login(alice)

    shown = client.post(reverse("accounts:token_create"), {"name": "laptop"})

    plaintext = shown.context["new_token"]
    assert plaintext in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    later = client.get(reverse("accounts:settings")).content.decode()
    assert "laptop" in later
    assert plaintext not in later


def test_stranger_cannot_revoke(client: Client, alice: User, bob: User) -> None:
    row, _plaintext = tokens.create_token(alice)
    client.force_login(bob)

    assert client.post(reverse("accounts:token_revoke", args=[row.pk])).status_code == 404
    assert AccessToken.objects.filter(pk=row.pk).exists()


def test_owner_can_revoke(client: Client, alice: User) -> None:
    row, _plaintext = tokens.create_token(alice)
    client.force_login(alice)

    client.post(reverse("accounts:token_revoke", args=[row.pk]))

    assert not AccessToken.objects.exists()


def test_command_prints_a_token_that_works(alice: User) -> None:
    out = io.StringIO()

    call_command("create_token", "alice", stdout=out)

    assert tokens.authenticate(f"Bearer {out.getvalue().strip()}") == alice


def test_command_names_a_user_that_is_not_there(db: None) -> None:
    with pytest.raises(CommandError, match="no active user 'nobody'"):
        call_command("create_token", "nobody")
