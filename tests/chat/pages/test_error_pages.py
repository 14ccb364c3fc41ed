"""Error pages: 503 with Retry-After while the database is unavailable; a 404 has the text that was posted to it."""

import errno
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.utils.html import escape

from chat.models import Attachment
from tests.factories import client_of, make_conversation

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


@pytest.mark.parametrize(
    "error", [OperationalError("database or disk is full"), OSError(errno.ENOSPC, "No space left")]
)
def test_page_says_that_the_disk_is_full(client, alice, monkeypatch, error):
    conversation = make_conversation(owner=alice)
    client.force_login(alice)
    client.raise_request_exception = False

    def refuse_file(*_args: Any, **_more: Any) -> NoReturn:
        raise error

    monkeypatch.setattr(Attachment.objects, "create", refuse_file)
    url, words = f"/chats/{conversation.pk}/attachments/", "The server’s disk is full, so nothing can be stored."
    by_script = client.post(url, {"files": SimpleUploadedFile("plan.txt", b"Buy.")}, headers={"HX-Request": "true"})
    by_form = client.post(url, {"files": SimpleUploadedFile("plan.txt", b"Buy.")})

    assert (by_script.status_code, by_form.status_code) == (503, 503)
    assert by_script.json()["error"]["message"].startswith(words)
    assert words in by_form.text


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


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("/chats/{id}/messages/", "text"),
        ("/chats/{id}/system-prompt/", "system_prompt"),
        ("/projects/{id}/", "system_prompt"),
    ],
)
def test_text_for_what_was_deleted_in_another_tab_is_on_the_page(alice, address, field):
    text = "<b>Answer</b> briefly.\n\nIn two paragraphs."

    answer = client_of(alice).post(address.format(id=uuid4()), {field: text})

    assert answer.status_code == 404
    assert f">{escape(text)}</textarea>" in answer.text
