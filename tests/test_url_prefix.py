"""The whole site below a path, behind a proxy that serves other sites as well."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.server import PASSWORD, RunningServer, running_server

# What a browser follows or loads; also inside the JSON of frames, where quotation marks are escaped.
ADDRESS = re.compile(r"""(?:href|src|action|formaction|hx-(?:get|post)|ws-connect|data-[a-z-]+)=\\?["'](/[^"'\\]*)""")
ELSEWHERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\nConnection: close\r\n\r\nOther site"


class Proxy:
    """Passes on what is below /chat/, unchanged; ``strays`` are the requests for other paths."""

    def __init__(self, server: str) -> None:
        self.host, self.port = server.rsplit(":", 1)
        self.strays: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split()[1].decode()
        if not path.startswith("/chat/"):
            self.strays.append(path)
            writer.write(ELSEWHERE)
            writer.close()
            return
        from_server, to_server = await asyncio.open_connection(self.host, int(self.port))
        to_server.write(head)
        await asyncio.gather(copy(reader, to_server), copy(from_server, writer))


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("prefix"), URL_PREFIX="/chat/") as running:
        yield running


@pytest_asyncio.fixture
async def site(server: RunningServer) -> AsyncIterator[tuple[Proxy, str]]:
    proxy = Proxy(urlsplit(server.base_url).netloc)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    yield proxy, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()


@pytest_asyncio.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    # one request a connection, as the proxy reads one head
    jar, connector = aiohttp.CookieJar(unsafe=True), aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as session:
        yield session


async def sign_in(http: aiohttp.ClientSession, origin: str, username: str) -> str:
    """Open the site, sign in, and return the page that follows."""
    page = await http.get(f"{origin}/chat/")
    assert page.url.path == "/chat/accounts/login/"
    assert page.url.query["next"] == "/chat/"
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', await page.text())
    assert token
    form = {"username": username, "password": PASSWORD, "csrfmiddlewaretoken": token[1], "next": "/chat/"}
    signed_in = await http.post(page.url, data=form, headers={"Origin": origin})
    assert signed_in.status == 200
    return await signed_in.text()


def outside(text: str) -> list[str]:
    """Return the addresses of a page that leave the prefix."""
    return [address for address in ADDRESS.findall(text) if not address.startswith("/chat/")]


@pytest.mark.slow
async def test_every_address_of_pages_leads_below_the_prefix(site, http):
    proxy, origin = site
    first = await sign_in(http, origin, "admin")
    seen, waiting = set(), ["/chat/", "/chat/no-such-page/", "/chat/admin/", "/chat/leaving/?to=https://a.example"]
    waiting += sorted(set(re.findall(r'href="(/chat/[^"#]*)', first)))

    while waiting and len(seen) < 60:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        response = await http.get(origin + path.replace("&amp;", "&"))
        if response.content_type not in ("text/html", "application/manifest+json"):
            continue
        text = await response.text()
        assert outside(text) == [], path
        assert response.url.path.startswith("/chat/")
        waiting += sorted(set(re.findall(r'href="(/chat/(?:chats|filings|accounts|data|prompts)/[^"#]*)', text)))

    manifest = await (await http.get(f"{origin}/chat/manifest.webmanifest")).json(content_type=None)
    assert {manifest[key] for key in ("id", "start_url", "scope")} == {"/chat/"}
    assert {cookie["path"] for cookie in http.cookie_jar} == {"/chat/"}
    assert any("/filings/" in path for path in seen)
    assert proxy.strays == []


@pytest.mark.slow
async def test_question_over_the_socket_is_answered_with_sources_below_the_prefix(site, http):
    proxy, origin = site
    await sign_in(http, origin, "demo")
    home = await http.get(f"{origin}/chat/")
    address = re.search(r'ws-connect="(/[^"]+)"', await home.text())
    assert address

    async with http.ws_connect(origin + address[1], headers={"Origin": origin}) as page:
        await page.send_json({"text": "Which turbines were replaced at Skerry Sound?", "id": "m1"})
        frames = [await page.receive_str(timeout=60)]
        while "/retry/" not in frames[-1]:  # an action of the finished card
            frames.append(await page.receive_str(timeout=60))

    assert outside("".join(frames)) == []
    assert "/chat/filings/" in frames[-1]
    assert proxy.strays == []


@pytest.mark.slow
async def test_server_itself_has_nothing_outside_the_prefix(server, http):
    origin = server.base_url.removesuffix("/chat")

    for path in ("/", "/healthz", "/chats/", "/accounts/login/", "/chatter/", "/static/css/app.css"):
        assert (await http.get(origin + path)).status == 404
    assert (await http.get(f"{origin}/chat/static/css/app.css")).status == 200
    assert (await http.get(f"{origin}/chat", allow_redirects=False)).headers["Location"] == "/chat/"
    assert (await (await http.get(f"{origin}/chat/healthz")).json())["status"] == "ok"


@pytest.mark.slow
def test_commands_read_and_write_addresses_below_the_prefix(server: RunningServer, tmp_path: Path):
    assert "lgb_" in server.manage("create_token", "demo")
    assert "Nothing found" in server.manage("audit_storage")
