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
