"""The real server process: startup, HTTP, WebSockets, shutdown."""

import os
import re
import socket
import subprocess
import sys

import aiohttp
import pytest
import pytest_asyncio

from tests.server import PASSWORD, ROOT, environment_in, running_server, stop

SERVE = ("-m", "config.serve")


def run(*command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, *command)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest_asyncio.fixture
async def http():
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def _sign_in(http: aiohttp.ClientSession, base_url: str) -> aiohttp.ClientResponse:
    page = await (await http.get(f"{base_url}/accounts/login/")).text()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token
    form = {"username": "demo", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    return await http.post(f"{base_url}/accounts/login/", data=form, headers={"Origin": base_url})


async def _socket_url(http: aiohttp.ClientSession, base_url: str) -> str:
    """Open the newest conversation and return the URL of its socket."""
    response = await http.get(f"{base_url}/")
    found = re.search(r"/chats/([0-9a-f-]{36})/", str(response.url) + await response.text())
    assert found
    return f"{base_url}/ws/chats/{found[1]}/"


@pytest.mark.slow
def test_startup_message_names_url_logins_and_model(server):
    where, who, model = server.greeting

    assert re.fullmatch(r"Legible is at http://127\.0\.0\.1:[0-9]+/", where)
    assert who == f"Sign in as demo, sam, admin with the password {PASSWORD}"
    assert model.endswith("OPENAI_BASE_URL=http://127.0.0.1:11434/v1")


def test_libraries_for_rare_work_are_not_loaded_at_the_start():
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; import config.server, config.urls;"
        "print({'PIL', 'charset_normalizer', 'docx', 'openai', 'openpyxl', 'pypdfium2', 'redis'} & sys.modules.keys())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TEST_REDIS_URL"}

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout.strip() == "set()"


@pytest.mark.slow
async def test_static_files_are_served_without_debug(server, http):
    async with http.get(f"{server.base_url}/static/css/app.css") as response:
        assert response.status == 200
        assert response.content_type == "text/css"


async def test_health_check_needs_no_session(server, http):
    response = await http.get(f"{server.base_url}/healthz")

    assert (await response.json())["status"] == "ok"


@pytest.mark.parametrize("headers", ["Content-Length: 314572800", "Content-Length: 70000\r\nExpect: 100-continue"])
def test_body_of_a_stranger_is_refused_unread(server, headers):
    host, _, port = server.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"POST /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n{headers}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 65536 bytes" in answer


async def test_broken_form_is_refused_in_the_words_of_the_api(server, http):
    http.headers["Authorization"] = f"Bearer {server.manage('create_token', 'demo').strip()}"
    async with http.post(f"{server.base_url}/api/documents/collections/", json={"name": "Leases"}) as response:
        collection = (await response.json())["id"]

    form = {"data": b"no form", "headers": {"Content-Type": "multipart/form-data"}}
    async with http.post(f"{server.base_url}/api/documents/collections/{collection}/documents/", **form) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (400, "invalid_multipart")


async def test_sign_in_works_over_plain_http_on_localhost(server, http):
    response = await _sign_in(http, server.base_url)

    assert response.status == 200
    assert "/accounts/login/" not in str(response.url)


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
async def test_websocket_of_another_origin_is_refused(server, http, origin):
    await _sign_in(http, server.base_url)
    url = await _socket_url(http, server.base_url)

    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await http.ws_connect(url, headers={"Origin": origin} if origin else {})

    assert refused.value.status == 403


async def test_huge_message_is_refused_and_the_socket_stays_open(server, http):
    await _sign_in(http, server.base_url)
    page = await http.ws_connect(await _socket_url(http, server.base_url), headers={"Origin": server.base_url})

    for _twice in range(2):
        await page.send_json({"text": "a" * 2_000_000})
        while "2000000 characters" not in await page.receive_str(timeout=30):
            pass


def test_port_in_use_is_one_error_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = str(occupied.getsockname()[1])
        done = run(*SERVE, environment=environment_in(tmp_path, PORT=port))

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"Cannot listen on 127.0.0.1 port {port}: Address already in use.")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_server_without_content_keys_does_not_start(tmp_path):
    done = run(*SERVE, environment=environment_in(tmp_path, CONTENT_KEYS=""))

    assert done.returncode == 2
    assert done.stderr.startswith("CONTENT_KEYS: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_second_server_on_one_sqlite_file_is_one_error_line(server):
    done = run(*SERVE, environment=dict(server.environment))

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"Another server (process {server.process.pid}) uses ")
    assert done.stderr.count("\n") == 1


def test_sqlite_file_stays_locked_while_a_killed_start_still_migrates(tmp_path):
    environment = environment_in(tmp_path)
    migrating = "import sys; print('migrating', flush=True); sys.stdin.read()"
    begin = f"import sys; from config.serve import start; start([sys.executable, '-c', {migrating!r}])"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", begin], cwd=ROOT, env=environment, text=True, **pipes) as first:  # noqa: S603
        assert first.stdout.readline() == "migrating\n"
        first.kill()
        first.wait()

        done = run(*SERVE, environment=environment)

    assert done.returncode == 1
    assert done.stderr.startswith(f"Another server (process {first.pid}) uses ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "content"),
    [
        (SERVE, b"no database " * 1000),
        (("manage.py", "migrate"), b"no database " * 1000),
        pytest.param(SERVE, b"", id="not migrated"),
    ],
)
def test_unusable_database_is_one_error_line(tmp_path, command, content):
    environment = environment_in(tmp_path)
    (tmp_path / "legible.sqlite3").write_bytes(content)
    done = run(*command, environment=environment)

    assert done.returncode == 1
    assert done.stderr.startswith("The database cannot be used: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
async def test_shutdown_closes_sockets_with_1012(server, http):
    """The last one: the server that the others share ends by it."""
    await _sign_in(http, server.base_url)
    url = await _socket_url(http, server.base_url)
    page = await http.ws_connect(url, headers={"Origin": server.base_url}, autoclose=True)
    server.process.terminate()

    while (await page.receive(timeout=30)).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
        pass

    assert page.close_code == 1012
    assert stop(server.process) == 0
