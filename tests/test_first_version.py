"""A database written by the first version (commit 3c8fbaf) migrates, and shows, replays and decrypts as before.

``data/first_version.db.gz`` holds three chats of the demo person: thinking, tool calls, a replaced answer, a
failed and an abandoned turn, a waiting message, feedback and a share link. ``first_version.json`` holds what that
version answered.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server import ROOT, environment_in, manage

DATA = Path(__file__).resolve().parent / "data"
CONTENT_KEY = "Zmlyc3QtdmVyc2lvbi1maXh0dXJlLWtleS0wMDAwMDA="
# Reads through the API and the page, in a process that uses the migrated database.
READ = """
import io, json, sys
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from accounts.models import User
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="demo"))
found = {}
for chat in sys.argv[1:]:
    messages, page = client.get(f"/api/chats/{chat}/messages/"), client.get(f"/chats/{chat}/")
    found[chat] = {"messages": messages.json(), "page": page.content.decode(), "status": page.status_code}
    call_command("preview_request", chat, stdout=(preview := io.StringIO()))
    found[chat]["preview"] = json.loads(preview.getvalue())["body"]
print(json.dumps(found))
"""
READ_SHARED = (
    READ[: READ.index("found =")]
    + """
page, listed = Client(SERVER_NAME="localhost").get(f"/s/{sys.argv[1]}/"), client.get("/shares/")
print(json.dumps({"status": page.status_code, "listed": listed.content.decode()}))
"""
)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return json.loads((DATA / "first_version.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("first-version")
    (folder / "legible.sqlite3").write_bytes(gzip.decompress((DATA / "first_version.db.gz").read_bytes()))
    environment = environment_in(folder, CONTENT_KEYS=CONTENT_KEY, DJANGO_SETTINGS_MODULE="config.settings")
    manage(environment, "migrate", "--no-input", "--verbosity", "0")
    return environment


@pytest.fixture(scope="module")
def found(environment: dict[str, str], expected: dict[str, Any]) -> dict[str, Any]:
    return read(environment, expected)


def read(environment: dict[str, str], chats: dict[str, Any], code: str = READ) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code, *chats], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_messages_are_as_before(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for chat, before in expected.items():
        assert len(found[chat]["messages"]) == len(before["messages"])
        for message, message_before in zip(found[chat]["messages"], before["messages"], strict=True):
            if "error" in message_before:
                message_before["error"] = message["error"] | message_before["error"]
            assert message | message_before == message, "fields may be added, none may change"


def test_pages_show_questions_and_answers(found: dict[str, Any]) -> None:
    pages = "".join(chat["page"] for chat in found.values())

    assert {chat["status"] for chat in found.values()} == {200}
    for text in ("And its turbines?", "<strong>several</strong>", "Waiting message", "Searched the filings", "<table"):
        assert text in pages
    assert "fixture-scratchpad-canary" not in pages


def test_next_request_is_as_before(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {chat: found[chat]["preview"] for chat in expected} == {chat: expected[chat]["preview"] for chat in expected}


@pytest.mark.slow
def test_rerendered_answers_are_the_same(
    environment: dict[str, str], found: dict[str, Any], expected: dict[str, Any]
) -> None:
    manage(environment, "rerender")

    after = read(environment, expected)
    assert {chat: after[chat]["messages"] for chat in after} == {chat: found[chat]["messages"] for chat in found}
    assert "<strong>several</strong>" in "".join(chat["page"] for chat in after.values())


# review S M3
def test_shared_links_go_on_working_and_their_tokens_are_gone(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "before.sqlite3").write_bytes(gzip.decompress((DATA / "first_version.db.gz").read_bytes()))
    with closing(sqlite3.connect(tmp_path / "before.sqlite3")) as before:
        (token,) = before.execute("SELECT token FROM chat_share").fetchone()

    found = read(environment, {token: None}, READ_SHARED)

    assert found["status"] == 200
    assert f"/s/{token}/" in found["listed"]
    with closing(sqlite3.connect(environment["DATABASE_URL"].removeprefix("sqlite:///"))) as after:
        assert token not in "\n".join(after.iterdump())
