from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User

URL = "/accounts/signup/"
FORM = {"username": "carol", "password1": "nine tall ships at dawn", "password2": "nine tall ships at dawn"}


@pytest.mark.parametrize("method", ["get", "post"])
def test_closed_site_has_no_such_page(client: Client, db: None, method: str) -> None:
    assert getattr(client, method)(URL, FORM).status_code == 404
    assert not User.objects.exists()


def test_open_site_makes_an_ordinary_account_and_signs_in(client: Client, db: None, settings: Settings) -> None:
    settings.SIGNUP_ENABLED = True

    response = client.post(URL, FORM | {"is_staff": "on", "is_superuser": "on"})

    carol = User.objects.get()
    assert response["Location"] == "/"
    assert client.session["_auth_user_id"] == str(carol.pk)
    assert not carol.is_staff
    assert not carol.is_superuser


@pytest.mark.parametrize("password", ["12345678", "password", "short"])
def test_weak_password_is_refused(client: Client, db: None, settings: Settings, password: str) -> None:
    settings.SIGNUP_ENABLED = True

    response = client.post(URL, FORM | {"password1": password, "password2": password})

    assert response.status_code == 200
    assert response.context["form"].errors
    assert not User.objects.exists()


def test_sign_in_page_offers_it_only_where_open(client: Client, db: None, settings: Settings) -> None:
    assert URL not in client.get("/accounts/login/").content.decode()

    settings.SIGNUP_ENABLED = True

    assert URL in client.get("/accounts/login/").content.decode()


def test_someone_signed_in_is_sent_home(client: Client, alice: User, settings: Settings) -> None:
    settings.SIGNUP_ENABLED = True
    client.force_login(alice)

    assert client.get(URL)["Location"] == "/"
