"""OAuth for MCP servers: tokens are refreshed where they were issued, once, by whoever needs them first."""

import asyncio
import time
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from mcp.client.auth import AuthorizationCodeResult
from mcp.shared.auth import OAuthToken

from chat.mcp.authorization import SignIn, Storage, provider_for
from chat.mcp.errors import McpError
from chat.models import McpServer
from tests.factories import sign_in_staff

pytestmark = pytest.mark.django_db(transaction=True)
URL = "https://mcp.example/mcp"
ISSUER = "https://auth.example"
METADATA = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/oauth/authorize",
    "token_endpoint": f"{ISSUER}/oauth/token",
    "registration_endpoint": f"{ISSUER}/oauth/register",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}


class Site:
    """A server that asks for OAuth, and its authorization server, which ends with a refresh token that comes twice."""

    def __init__(self) -> None:
        self.lasts_s = 0  # of new tokens
        self.issued = 0
        self.refreshed: list[dict[str, str]] = []
        self.registered: list[str] = []
        self.revoked: set[str] = set()
        self.wants_scope = False
        self.refuses = False
        self.page = ""

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/mcp":
                given = request.headers.get("Authorization")
                if self.wants_scope:
                    return httpx2.Response(403, headers={"WWW-Authenticate": 'Bearer error="insufficient_scope"'})
                is_valid = given == f"Bearer access-{self.issued}" and given not in self.revoked
                return httpx2.Response(200 if is_valid else 401)
            case "/.well-known/oauth-protected-resource/mcp":
                return httpx2.Response(200, json={"resource": URL, "authorization_servers": [ISSUER]})
            case "/.well-known/oauth-authorization-server":
                return httpx2.Response(200, json=METADATA)
            case "/oauth/register":
                self.registered.append(request.content.decode())
                client = {"client_id": "c-1", "redirect_uris": ["http://127.0.0.1/back"]}
                return httpx2.Response(201, json={**client, "token_endpoint_auth_method": "none"})
            case "/oauth/token":
                return self.token(dict(parse_qsl(request.content.decode())))
        return httpx2.Response(404)

    def token(self, form: dict[str, str]) -> httpx2.Response:
        if form["grant_type"] == "refresh_token":
            self.refreshed.append(form)
            if self.refuses or form["refresh_token"] != f"refresh-{self.issued}":
                return httpx2.Response(400, json={"error": "invalid_grant"})
        self.issued += 1
        names = {"access_token": f"access-{self.issued}", "refresh_token": f"refresh-{self.issued}"}
        return httpx2.Response(200, json={**names, "token_type": "Bearer", "expires_in": self.lasts_s})

    def client(self, server: McpServer, sign_in: SignIn | None = None) -> httpx2.AsyncClient:
        auth = provider_for(server, sign_in)
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer), auth=auth)


async def status(site: Site) -> int:
    """Return how a call of another turn is answered, whose process has read the server by itself."""
    async with site.client(await McpServer.objects.aget()) as client:
        return (await client.get(URL)).status_code


@pytest.fixture
async def site() -> Site:
    """A server where staff have signed in, whose tokens have expired since."""
    site = Site()

    async def open_page(url: str) -> None:
        site.page = url

    async def result() -> AuthorizationCodeResult:
        [state] = parse_qs(urlsplit(site.page).query)["state"]
        return AuthorizationCodeResult(code="code-1", state=state, iss=ISSUER)

    server = await McpServer.objects.acreate(name="peer", url=URL)
    async with site.client(server, SignIn("http://127.0.0.1/back", open_page, result)) as client:
        assert (await client.get(URL)).status_code == 200
    assert site.page.startswith(METADATA["authorization_endpoint"])
    return site


async def test_expired_tokens_are_refreshed_where_they_were_issued(site):
    site.lasts_s = 3600
    statuses = [await status(site), await status(site)]

    assert statuses == [200, 200]
    [form] = site.refreshed
    assert form == {"grant_type": "refresh_token", "refresh_token": "refresh-1", "client_id": "c-1", "resource": URL}


async def test_tokens_are_never_sent_to_another_address(site):
    site.lasts_s = 3600
    assert await status(site) == 200
    before = await McpServer.objects.aget()
    elsewhere = "https://elsewhere.example/mcp"
    staff = AsyncClient()
    await sync_to_async(sign_in_staff)(staff)
    inline = {"tools-TOTAL_FORMS": "0", "tools-INITIAL_FORMS": "0"}
    form = {"name": "peer", "url": elsewhere, "is_enabled": "on", "command": "", "api_key_env": "", **inline}
    assert (await staff.post(f"/admin/chat/mcpserver/{before.pk}/change/", form)).status_code == 302

    after = await McpServer.objects.aget()
    sent: list[httpx2.Request] = []
    transport = httpx2.MockTransport(lambda request: sent.append(request) or httpx2.Response(200))
    async with httpx2.AsyncClient(transport=transport, auth=provider_for(after, None)) as client:
        await client.get(elsewhere)

    assert after.url == elsewhere
    assert [request.headers.get("Authorization") for request in sent] == [None]
    # Another process has still the address before.
    with pytest.raises(McpServer.DoesNotExist):
        await Storage(before).set_tokens(OAuthToken(access_token="late", token_type="Bearer"))


async def test_turns_at_the_same_time_refresh_once(site):
    site.lasts_s = 3600
    statuses = await asyncio.gather(*(status(site) for _turn in range(4)))

    assert statuses == [200] * 4
    assert len(site.refreshed) == 1


async def test_tokens_that_expire_during_a_connection_are_read_anew(site, monkeypatch):
    site.lasts_s = 3600
    async with site.client(await McpServer.objects.aget()) as client:
        before = (await client.get(URL)).status_code
        later = time.time() + 7200
        monkeypatch.setattr(time, "time", lambda: later)
        statuses = [before, await status(site), (await client.get(URL)).status_code]

    assert statuses == [200, 200, 200]
    assert [form["refresh_token"] for form in site.refreshed] == ["refresh-1", "refresh-2"]


async def test_token_that_is_refused_before_it_expires_is_refreshed(site):
    site.lasts_s = 3600
    assert await status(site) == 200
    site.revoked = {"Bearer access-2"}
    statuses = await asyncio.gather(*(status(site) for _turn in range(3)))

    assert statuses == [200] * 3
    assert [form["refresh_token"] for form in site.refreshed] == ["refresh-1", "refresh-2"]


async def test_scope_that_a_token_lacks_needs_a_sign_in(site):
    site.lasts_s, site.wants_scope = 3600, True

    with pytest.raises(McpError, match="staff have to sign in"):
        await status(site)


async def test_site_is_registered_by_a_sign_in_alone():
    """A registration without one would have the wrong address to come back to."""
    site = Site()
    await McpServer.objects.acreate(name="peer", url=URL)
    with pytest.raises(McpError, match="staff have to sign in"):
        await status(site)

    assert site.registered == []


async def test_staff_sign_in_again_where_no_tokens_are_issued(site):
    site.refuses = True
    for _turn in range(2):
        with pytest.raises(McpError, match="staff have to sign in"):
            await status(site)
    site.refuses, site.lasts_s = False, 3600

    assert await status(site) == 200
    assert len(site.refreshed) == 3


async def test_nothing_of_an_authorization_is_stored_as_text(site):
    stored: Any = await McpServer.objects.values_list("sealed", flat=True).aget()

    assert not [word for word in (b"access-1", b"refresh-1", b"auth.example") if word in bytes(stored)]
