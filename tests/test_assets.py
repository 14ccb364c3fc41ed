"""Static files as they are served: from memory, packed, again when they change, and nothing that is no static file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.staticfiles.finders import get_finder

from config.assets import Assets

SHEET = b".card { color: red }\n" * 40


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """Stand for the rest of the application."""
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"from elsewhere"})


@pytest.fixture
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    settings.STATICFILES_DIRS = [tmp_path]
    get_finder.cache_clear()
    (tmp_path / "sheet.css").write_bytes(SHEET)
    return tmp_path


async def get(assets: Assets, path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is read from a GET")

    asked = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": asked, "query_string": b""}
    await assets(scope, receive, send)
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:])


async def test_file_comes_with_its_kind_and_packed_where_that_is_taken(folder: Path) -> None:
    assets = Assets(nothing)

    plain = await get(assets, "/static/sheet.css")
    packed = await get(assets, "/static/sheet.css", accept_encoding="gzip, br")

    assert (plain[0], plain[1]["content-type"], plain[2]) == (200, "text/css", SHEET)
    assert (packed[1]["content-encoding"], packed[1]["vary"]) == ("gzip", "Accept-Encoding")
    assert len(packed[2]) == int(packed[1]["content-length"]) < len(SHEET)
    assert gzip.decompress(packed[2]) == SHEET


async def test_file_that_is_known_is_not_sent_again(folder: Path) -> None:
    assets = Assets(nothing)
    known = (await get(assets, "/static/sheet.css"))[1]["last-modified"]

    again = await get(assets, "/static/sheet.css", if_modified_since=known)

    assert (again[0], again[2]) == (304, b"")


async def test_changed_file_is_read_again(folder: Path) -> None:
    assets = Assets(nothing)
    await get(assets, "/static/sheet.css")
    (folder / "sheet.css").write_bytes(b"new")

    assert (await get(assets, "/static/sheet.css"))[2] == b"new"


@pytest.mark.parametrize(
    "path", ["/static/../config/settings.py", "/static//etc/passwd", "/static/", "/static/none.css"]
)
async def test_nothing_else_is_found(folder: Path, path: str) -> None:
    status, _headers, body = await get(Assets(nothing), path)

    assert status == 404
    assert b"SECRET_KEY" not in body
    assert b"root:" not in body


@pytest.mark.parametrize("path", ["/chats/", "/"])
async def test_pages_are_not_touched(folder: Path, path: str) -> None:
    assert (await get(Assets(nothing), path))[2] == b"from elsewhere"
