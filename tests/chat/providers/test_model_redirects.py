"""Redirects of a model service: a conversation and a key go to the configured address and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.connections import Connection, close_clients
from chat.providers.openai_chat import OpenAIChatProvider
from tests.chat.streams import answer, failure, text

REQUEST = ProviderRequest({"messages": [{"role": "user", "content": "secret question"}]}, "", (), "")
ANSWER = b'{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}'
LISTING = b'{"data": [{"id": "m"}]}'


class Redirecting(BaseHTTPRequestHandler):
    """Redirects what is below ``/v1`` and answers what is below ``/moved``."""

    def do_POST(self) -> None:
        server: RedirectingServer = self.server  # type: ignore[assignment]
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        server.received.append((self.path, self.headers.get("authorization"), body))
        is_moved = self.path.startswith("/moved") or server.location is None
        self.send_response(200 if is_moved else server.status)
        if not is_moved:
            self.send_header("Location", str(server.location))
        content = b"" if not is_moved else LISTING if self.command == "GET" else ANSWER
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class RedirectingServer(ThreadingHTTPServer):
    """``location``: where it redirects to; None: it answers itself."""

    location: str | None = None
    status = 307

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Redirecting)
        self.received: list[tuple[str, str | None, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def questions(self) -> list[tuple[str, str | None, bytes]]:
        """What was received, without the listing of models, which has no body."""
        return [each for each in self.received if each[2]]


@contextmanager
def running() -> Iterator[RedirectingServer]:
    server = RedirectingServer()
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def service():
    with running() as server:
        yield server


@pytest.fixture
def other():
    with running() as server:
        yield server


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("api", ["POST", "GET"])
async def test_redirect_to_another_host_is_refused_and_named(service, other, status, api):
    service.status, service.location = status, f"{other.url}/v1/chat/completions?token=hunter2"
    provider = OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "m" if api == "POST" else "")

    _received, error = await failure(provider, REQUEST)
    await close_clients()

    assert other.received == []
    assert (error.code, error.retryable) == ("refused", False)
    assert error.params["host"] == f"127.0.0.1:{service.server_port}"
    assert error.params["target"] == f"127.0.0.1:{other.server_port}"
    assert "hunter2" not in f"{error} {error.params} {error.detail}"
    assert len(service.questions) == (api == "POST")


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1/v1",
        "//evil.example/v1",
        "http://localhost:{port}/moved",
        "http://127.0.0.1:{port}@evil.example/",
        "http://user@evil.example:{port}/",
        "http://[::1",
        "file:///etc/passwd",
        "javascript:alert(1)",
    ],
)
async def test_location_that_is_elsewhere_in_disguise_is_refused(service, location):
    service.location = location.format(port=service.server_port)

    _received, error = await failure(OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "m"), REQUEST)
    await close_clients()

    assert error.code == "refused"
    assert error.reason == "redirect"
    assert len(service.questions) == 1


@pytest.mark.parametrize("location", ["/moved/chat/completions", "{url}/moved/chat/completions"])
async def test_redirect_on_the_same_host_is_followed_with_its_body(service, location):
    service.location = location.format(url=service.url)

    received = await answer(OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "m"), REQUEST)
    await close_clients()

    assert text(received) == "ok"
    assert [key for _path, key, _body in service.questions] == ["Bearer key-1"] * 2
    assert b"secret question" in service.questions[1][2]


async def test_redirect_that_would_drop_the_body_is_refused(service):
    service.status, service.location = 301, "/moved/chat/completions"

    _received, error = await failure(OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "m"), REQUEST)
    await close_clients()

    assert (error.reason, error.params["status"]) == ("redirect", 301)


async def test_listing_is_followed_on_the_same_host(service):
    service.status, service.location = 301, "/moved/models"

    assert await OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "").find_model() == "m"
    await close_clients()


async def test_circle_of_redirects_ends(service):
    service.location = "/v1/chat/completions"

    with pytest.raises(ProviderError, match="redirect_loop"):
        await answer(OpenAIChatProvider(Connection(f"{service.url}/v1", "key-1"), "m"), REQUEST)
    await close_clients()
