"""Static files over ASGI: cached, compressed once collected, and nothing outside their folders."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.management import call_command
from django.templatetags.static import static

from config.asgi import with_static_files


async def django_application(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"from Django"})


async def request(path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": encoded,
        "query_string": b"",
        "http_version": "1.1",
    }
    communicator = ApplicationCommunicator(with_static_files(django_application), scope)
    await communicator.send_input({"type": "http.request", "body": b""})
    start = await communicator.receive_output(timeout=30)
    body, more = b"", True
    while more:
        message = await communicator.receive_output(timeout=30)
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await communicator.wait()
    return start["status"], {name.decode().lower(): value.decode() for name, value in start["headers"]}, body


async def test_source_file_is_served_with_its_type_and_safe_headers():
    status, headers, body = await request("/static/css/app.css")

    assert (status, headers["content-type"]) == (200, 'text/css; charset="utf-8"')
    assert headers["x-content-type-options"] == "nosniff"
    assert b"{" in body


async def test_unchanged_file_is_not_sent_again():
    _status, headers, _body = await request("/static/css/app.css")

    status, _headers, body = await request("/static/css/app.css", if_modified_since=headers["last-modified"])

    assert (status, body) == (304, b"")


@pytest.fixture
def collected(tmp_path, settings):
    settings.STATIC_ROOT = str(tmp_path)
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "config.static_files.HashedStaticFilesStorage"}}
    call_command("collectstatic", interactive=False, verbosity=0)
    return tmp_path


async def test_collected_file_is_compressed_and_stays_in_the_browser(collected):
    _status, headers, body = await request(static("css/app.css"), accept_encoding="gzip")

    assert headers["content-encoding"] == "gzip"
    assert "immutable" in headers["cache-control"]
    assert b"{" in gzip.decompress(body)


def test_collected_scripts_import_each_other_by_their_hashed_names(collected):
    text = (collected / "js" / Path(static("js/frames.js")).name).read_text(encoding="utf-8")

    imported = re.findall(r"""(?:from |import\()["']\./([^"']+)""", text)
    assert len(imported) >= 3
    assert [name for name in imported if not re.fullmatch(r"\w+\.[0-9a-f]{12}\.js", name)] == []
    assert [name for name in imported if not (collected / "js" / name).is_file()] == []


@pytest.mark.parametrize(
    "path", ["/static/../config/settings.py", "/static//etc/passwd", "/static/", "/static/none.css"]
)
async def test_nothing_else_is_found(path):
    status, _headers, _body = await request(path)

    assert status == 404


@pytest.mark.parametrize(("method", "path"), [("POST", "/static/css/app.css"), ("GET", "/chats/")])
async def test_other_requests_reach_django(method, path):
    assert (await request(path, method=method))[2] == b"from Django"
