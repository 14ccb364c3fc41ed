"""While the database is unavailable, pages and scripts get 503 with Retry-After."""

from typing import Any, NoReturn

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError

pytestmark = pytest.mark.django_db


def refuse(*_args: Any) -> NoReturn:
    raise OperationalError("connection to 10.1.2.3 refused")


@pytest.fixture
def away(monkeypatch, alice, client, async_client):
    """Nobody's session can be read."""
    for each in (client, async_client):
        each.force_login(alice)
        each.raise_request_exception = False
    monkeypatch.setattr(SessionStore, "load", refuse)


@pytest.mark.usefixtures("away")
def test_page_says_that_the_database_is_unavailable(client):
    answer = client.get("/")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "database does not answer" in answer.content.decode()
    assert "10.1.2.3" not in answer.content.decode()


@pytest.mark.usefixtures("away")
async def test_script_gets_the_error_form(async_client):
    answer = await async_client.get("/api/chats/")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["error"]["code"] == "unavailable"


def test_fault_of_ours_is_no_outage(monkeypatch, client, alice):
    client.force_login(alice)
    client.raise_request_exception = False
    monkeypatch.setattr(SessionStore, "load", lambda _self: 1 / 0)

    answer = client.get("/")

    assert answer.status_code == 500
    assert "Something went wrong on the server" in answer.content.decode()
