"""Staff look after people's accounts and find no way up: neither for themselves nor through another's password."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import audit, tokens
from accounts.demo import staff_group
from accounts.models import AccessToken, AuditEntry, User
from tests.factories import make_administrator, make_user

PEOPLE = "/admin/accounts/user/"
RIGHTS = {"is_staff": "on", "is_superuser": "on", "user_permissions": [1], "groups": [1]}


@pytest.fixture
def sam(client: Client, db: None) -> User:
    user = make_user("sam", is_staff=True)
    user.groups.add(staff_group())
    client.force_login(user)
    return user


def _form(person: User) -> dict[str, Any]:
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    return {"username": person.username, "email": "new@example.com", "is_active": "on", "reasoning": "{}", **joined}


def test_staff_change_an_account_and_give_it_no_rights(client: Client, sam: User, alice: User) -> None:
    answer = client.post(f"{PEOPLE}{alice.pk}/change/", _form(alice) | RIGHTS)

    alice.refresh_from_db()
    assert answer.status_code == 302
    assert alice.email == "new@example.com"
    assert (alice.is_staff, alice.is_superuser) == (False, False)
    assert not alice.groups.exists()
    assert not alice.user_permissions.exists()


def test_staff_add_people_without_rights(client: Client, sam: User) -> None:
    word = "a long enough passphrase"
    fields = {"username": "newcomer", "password1": word, "password2": word, "usable_password": "true"}

    answer = client.post(f"{PEOPLE}add/", fields | RIGHTS)

    made = User.objects.get(username="newcomer")
    assert answer.status_code == 302
    assert (made.is_staff, made.is_superuser) == (False, False)


@pytest.mark.parametrize("kind", ["superuser", "staff", "administrator", "self"])
def test_account_with_rights_is_looked_at_alone(client: Client, sam: User, kind: str) -> None:
    person = {
        "superuser": lambda: make_user("root", is_superuser=True),
        "staff": lambda: make_user("another", is_staff=True),
        "administrator": lambda: make_administrator("ada"),
        "self": lambda: sam,
    }[kind]()
    before = person.password

    assert client.get(f"{PEOPLE}{person.pk}/change/").status_code == 200
    assert client.post(f"{PEOPLE}{person.pk}/change/", _form(person)).status_code == 403
    fields = {"password1": "taken over 1234", "password2": "taken over 1234", "usable_password": "true"}
    assert client.post(f"{PEOPLE}{person.pk}/password/", fields).status_code == 403
    person.refresh_from_db()
    assert (person.password, person.email) == (before, "")


def test_superuser_gives_rights(client: Client, alice: User) -> None:
    client.force_login(make_user("root", is_staff=True, is_superuser=True))

    client.post(f"{PEOPLE}{alice.pk}/change/", _form(alice) | {"is_staff": "on"})

    alice.refresh_from_db()
    assert alice.is_staff


def test_token_that_staff_end_is_in_the_audit(client: Client, sam: User, alice: User) -> None:
    rows = [tokens.create_token(alice, name)[0] for name in ("laptop", "phone")]
    chosen = {"action": "delete_selected", "_selected_action": [rows[1].pk], "post": "yes"}

    client.post(f"/admin/accounts/accesstoken/{rows[0].pk}/delete/", {"post": "yes"})
    client.post("/admin/accounts/accesstoken/", chosen)

    assert not AccessToken.objects.exists()
    assert AuditEntry.objects.filter(user=sam, action=audit.TOKEN_REVOKED).count() == 2
