from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User

TOGGLES = {"/accounts/toggles/show-reasoning/": "show_reasoning", "/accounts/toggles/show-trace/": "show_trace"}


@pytest.mark.parametrize(("url", "key"), TOGGLES.items())
@pytest.mark.parametrize(("on", "kept"), [("true", True), ("false", False)])
def test_choice_is_kept_in_the_session(client: Client, alice: User, url: str, key: str, on: str, kept: bool) -> None:
    client.force_login(alice)

    assert client.post(url, {"on": on}).status_code == 204
    assert client.session[key] is kept


@pytest.mark.parametrize("url", TOGGLES)
@pytest.mark.parametrize("on", ["", "1", "TRUE", "maybe"])
def test_anything_else_is_refused_and_changes_nothing(client: Client, alice: User, url: str, on: str) -> None:
    client.force_login(alice)

    assert client.post(url, {"on": on}).status_code == 400
    assert TOGGLES[url] not in client.session


@pytest.mark.parametrize("url", TOGGLES)
def test_toggle_takes_a_post(client: Client, alice: User, url: str) -> None:
    client.force_login(alice)

    assert client.get(url).status_code == 405


@pytest.mark.parametrize(
    ("extra", "headers", "status", "location"),
    [
        ({"next": "/chats/"}, {}, 303, "/chats/"),
        ({"next": "/chats/"}, {"HX-Request": "true"}, 204, None),
        ({"next": "https://elsewhere.example/"}, {}, 204, None),
        ({"next": "//elsewhere.example/"}, {}, 204, None),
        ({}, {}, 204, None),
    ],
)
def test_switch_without_script_leads_back_to_a_place_of_ours(
    client: Client, alice: User, extra: dict[str, str], headers: dict[str, str], status: int, location: str | None
) -> None:
    client.force_login(alice)

    answer = client.post("/accounts/toggles/show-reasoning/", {"on": "false", **extra}, headers=headers)

    assert (answer.status_code, answer.headers.get("Location")) == (status, location)
