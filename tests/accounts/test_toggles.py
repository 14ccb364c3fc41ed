"""The switches above a conversation. The scratchpad's is in test_scratchpad."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from tests.factories import client_of

TOGGLES = {"/accounts/toggles/show-reasoning/": "show_reasoning", "/accounts/toggles/show-trace/": "show_trace"}


@pytest.fixture
def alices(alice: User) -> Client:
    return client_of(alice)


@pytest.mark.parametrize(("url", "key"), TOGGLES.items())
def test_choice_is_stored_in_the_session(alices: Client, url: str, key: str) -> None:
    for on in (True, False):
        assert alices.post(url, {"on": str(on).lower()}).status_code == 204
        assert alices.session[key] is on
    assert alices.get(url).status_code == 405


@pytest.mark.parametrize("on", ["", "1", "TRUE", "maybe"])
def test_invalid_value_changes_nothing(alices: Client, on: str) -> None:
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
def test_form_without_script_redirects_within_the_site(
    alices: Client, target: str, headers: dict[str, str], status: int, location: str | None
) -> None:
    response = alices.post("/accounts/toggles/show-reasoning/", {"on": "false", "next": target}, headers=headers)

    assert (response.status_code, response.headers.get("Location")) == (status, location)
