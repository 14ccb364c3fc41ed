from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.factories import PASSWORD

LOGIN = "/accounts/login/"


def _sign_in(client: Client, password: str = PASSWORD, **extra: str) -> object:
    return client.post(LOGIN, {"username": "alice", "password": password}, **extra)


def test_right_password_leads_home(client: Client, alice: User) -> None:
    response = _sign_in(client)

    assert response.status_code == 302
    assert response["Location"] == "/"
    assert client.session["_auth_user_id"] == str(alice.pk)


def test_wrong_password_says_so_and_signs_nobody_in(client: Client, alice: User) -> None:
    response = _sign_in(client, "wrong")

    assert response.status_code == 200
    assert response.context["form"].non_field_errors()
    assert "_auth_user_id" not in client.session


def test_inactive_person_is_refused(client: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)

    _sign_in(client)

    assert "_auth_user_id" not in client.session


def test_ten_failures_close_the_door_even_to_the_right_password(client: Client, alice: User) -> None:
    for _ in range(10):
        assert _sign_in(client, "wrong").status_code == 200

    response = _sign_in(client)

    assert response.status_code == 429
    assert "Too many failed attempts" in response.content.decode()
    assert "_auth_user_id" not in client.session


def test_another_address_is_not_closed(client: Client, alice: User) -> None:
    for _ in range(10):
        _sign_in(client, "wrong", REMOTE_ADDR="192.0.2.7")

    assert _sign_in(client, REMOTE_ADDR="192.0.2.8").status_code == 302


def test_success_forgets_earlier_failures(client: Client, alice: User) -> None:
    for _ in range(2):
        for _ in range(9):
            _sign_in(client, "wrong")
        assert _sign_in(client).status_code == 302
        client.logout()


def test_foreign_next_address_is_not_followed(client: Client, alice: User) -> None:
    response = client.post(LOGIN + "?next=https://example.net/", {"username": "alice", "password": PASSWORD})

    assert response["Location"] == "/"


def test_sign_out_takes_a_post(client: Client, alice: User) -> None:
    client.force_login(alice)

    assert client.get("/accounts/logout/").status_code == 405
    assert client.post("/accounts/logout/").status_code == 302
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("name", ["settings", "password"])
def test_page_needs_a_session(client: Client, db: None, name: str) -> None:
    response = client.get(reverse(f"accounts:{name}"))

    assert response.status_code == 302
    assert response["Location"].startswith(LOGIN)


@pytest.mark.parametrize(
    "name", ["token_create", "toggle_show_reasoning", "toggle_show_trace", "toggle_show_scratchpad"]
)
def test_action_needs_a_session(client: Client, db: None, name: str) -> None:
    assert client.post(reverse(f"accounts:{name}"), {"on": "true"})["Location"].startswith(LOGIN)


def test_forms_need_their_token(alice: User) -> None:
    response = _sign_in(Client(enforce_csrf_checks=True))

    assert response.status_code == 403


def test_admin_has_no_sign_in_of_its_own(client: Client, alice: User) -> None:
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith(LOGIN)

    client.force_login(alice)
    assert client.get("/admin/", follow=True).status_code == 404


def test_staff_reach_the_admin(client: Client, sam: User) -> None:
    client.force_login(sam)

    assert client.get("/admin/").status_code == 200


def test_password_change_asks_for_the_old_one(client: Client, alice: User) -> None:
    client.force_login(alice)
    fresh = {"new_password1": "a quite different phrase", "new_password2": "a quite different phrase"}

    client.post("/accounts/password/", {"old_password": "wrong", **fresh})
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)

    client.post("/accounts/password/", {"old_password": PASSWORD, **fresh})
    alice.refresh_from_db()
    assert alice.check_password("a quite different phrase")


def test_password_change_ends_other_sessions(alice: User) -> None:
    here, elsewhere = Client(), Client()
    here.force_login(alice)
    elsewhere.force_login(alice)

    data = {"old_password": PASSWORD, "new_password1": "another phrase now", "new_password2": "another phrase now"}
    here.post("/accounts/password/", data)

    assert here.get("/accounts/settings/").status_code == 200
    assert elsewhere.get("/accounts/settings/").status_code == 302
