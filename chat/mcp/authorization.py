"""OAuth for MCP servers that ask for it: staff sign in once for the site; tokens are refreshed, and encrypted at rest.

The SDK finds the authorization server, registers this site there and exchanges the code. A call in a turn never opens a
browser: without a token that works it fails, and staff sign in again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from chat.eventlog.sealed_values import open_values, seal_values
from chat.mcp.errors import McpError
from chat.models import McpServer


@dataclass(frozen=True, slots=True)
class SignIn:
    """How staff sign in: ``open_page`` gets the address of the authorization server, ``result`` what it sent back.

    ``redirect_url``: where it sends them. ``metadata_url``: the address of this site's metadata document, its client id
    with servers that read such documents; empty where the site has no https address.
    """

    redirect_url: str
    open_page: Callable[[str], Awaitable[None]]
    result: Callable[[], Awaitable[AuthorizationCodeResult]]
    metadata_url: str = ""


def client_metadata(redirect_url: str) -> OAuthClientMetadata:
    """Return what authorization servers are given of this site."""
    is_local = redirect_url.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))
    return OAuthClientMetadata(
        client_name="Legible",
        redirect_uris=[AnyUrl(redirect_url)],
        application_type="native" if is_local else "web",
        software_id="legible-chat",
        software_version=settings.VERSION,
    )


def provider_for(server: McpServer, sign_in: SignIn | None) -> OAuthClientProvider:
    """Return the authorization of a server; without ``sign_in`` only stored tokens are used, and refreshed."""

    async def open_page(url: str) -> None:
        if sign_in is None:
            raise McpError("staff have to sign in to this server in the admin")
        await sign_in.open_page(url)

    async def result() -> AuthorizationCodeResult:
        if sign_in is None:
            raise McpError("staff have to sign in to this server in the admin")
        return await sign_in.result()

    return OAuthClientProvider(
        server_url=server.url,
        client_metadata=client_metadata(sign_in.redirect_url if sign_in else server.url),
        storage=Storage(server),
        redirect_handler=open_page,
        callback_handler=result,
        client_metadata_url=(sign_in and sign_in.metadata_url) or None,
    )


class Storage:
    """Tokens and registration of a server, in its row. The SDK's ``TokenStorage``."""

    def __init__(self, server: McpServer) -> None:
        self._server = server

    async def get_tokens(self) -> OAuthToken | None:
        tokens: OAuthToken | None = _read(OAuthToken, self._values().get("tokens"))
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._store("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._server.client_id:  # registered by hand
            secret = settings.MODEL_KEYS.get(self._server.api_key_env, self._server.url)
            return OAuthClientInformationFull(
                client_id=self._server.client_id,
                client_secret=secret or None,
                token_endpoint_auth_method="client_secret_basic" if secret else "none",
            )
        client: OAuthClientInformationFull | None = _read(OAuthClientInformationFull, self._values().get("client"))
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._store("client", client_info.model_dump(mode="json", exclude_none=True))

    def _values(self) -> Mapping[str, Any]:
        return open_values(self._server.sealed)

    async def _store(self, name: str, value: Any) -> None:
        self._server.sealed = seal_values({**self._values(), name: value})
        if self._server.pk:
            await database_sync_to_async(self._server.save)(update_fields=["sealed"])


def _read(model: Any, form: Any) -> Any:
    try:
        return None if form is None else model.model_validate(form)
    except ValidationError:  # of another version
        return None
