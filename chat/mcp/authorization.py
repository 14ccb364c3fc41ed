"""OAuth for MCP servers that ask for it: staff sign in once for the site; tokens are refreshed, and encrypted at rest.

The SDK finds the authorization server, registers this site there and exchanges the code. A call in a turn never opens a
browser: without a token that works it fails, and staff sign in again.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import httpx2
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import transaction
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import calculate_token_expiry
from pydantic import AnyUrl, ValidationError

from chat.eventlog.sealed_values import open_values, seal_values
from chat.mcp.errors import McpError
from chat.models import McpServer

# Longer than connecting may take, in which tokens are refreshed.
REFRESH_WITHIN_S = 15.0
LOOK_AGAIN_S = 0.2


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
    storage = Storage(server)
    provider = StoredTokens(
        server_url=server.url,
        client_metadata=client_metadata(sign_in.redirect_url if sign_in else server.url),
        storage=storage,
        redirect_handler=sign_in.open_page if sign_in else None,
        callback_handler=sign_in.result if sign_in else None,
        client_metadata_url=(sign_in and sign_in.metadata_url) or None,
    )
    storage.context = provider.context
    return provider


class StoredTokens(OAuthClientProvider):
    """The SDK's flow with stored tokens, which another process may have refreshed.

    The SDK begins a sign-in at each 401. A token may be refused before it expires, or not say when it does, so it is
    refreshed first. Where nobody can sign in nothing is registered: the registration would have the wrong address to
    come back to.
    """

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the requests that authorize one request, and that request."""
        storage = cast("Storage", self.context.storage)
        if self.context.current_tokens and not self.context.is_token_valid():
            self.context.current_tokens = await storage.get_tokens()
        flow = super().async_auth_flow(request)
        may_refresh = True
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                is_refused = response.status_code == 401
                lacks_scope = response.status_code == 403 and "insufficient_scope" in response.headers.get(
                    "WWW-Authenticate", ""
                )
                if outgoing is request and (is_refused or lacks_scope):
                    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
                    if is_refused and may_refresh and await database_sync_to_async(storage.expire)(token):
                        may_refresh = False
                        await flow.aclose()
                        self.context.current_tokens = await storage.get_tokens()
                        flow = super().async_auth_flow(request)
                        outgoing = await anext(flow)
                        continue
                    if self.context.redirect_handler is None:
                        await database_sync_to_async(storage.end_refresh)()
                        raise McpError("staff have to sign in to this server in the admin")
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


class Storage:
    """Tokens and registration of a server, in its row. The SDK's ``TokenStorage``.

    The SDK refreshes tokens of which ``context`` says when they expire, at the address in its metadata, so both are
    stored beside the tokens.
    """

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._id = secrets.token_hex(8)
        self.context: OAuthContext | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens. Those that have expired are returned to one caller, who refreshes them; others wait.

        A refresh token that is used twice may end the whole authorization.
        """
        while True:
            values = await database_sync_to_async(self._take)()
            if values is not None:
                break
            await asyncio.sleep(LOOK_AGAIN_S)
        if self.context:
            self.context.token_expiry_time = values.get("expires_at")
            self.context.oauth_metadata = _read(OAuthMetadata, values.get("metadata"))
            self.context.protected_resource_metadata = _read(ProtectedResourceMetadata, values.get("resource"))
        tokens: OAuthToken | None = _read(OAuthToken, values.get("tokens"))
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await database_sync_to_async(self._store)(
            tokens=_form(tokens),
            expires_at=calculate_token_expiry(tokens.expires_in),
            metadata=_form(self.context and self.context.oauth_metadata),
            resource=_form(self.context and self.context.protected_resource_metadata),
            refresh=None,
        )

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
        await database_sync_to_async(self._store)(client=_form(client_info))

    def _values(self) -> Mapping[str, Any]:
        return open_values(self._server.sealed)

    def _store(self, **values: Any) -> None:
        with self._row() as stored:
            stored.update(values)

    def _take(self) -> Mapping[str, Any] | None:
        """Return the stored values; None while others refresh the tokens."""
        if self._server.pk:
            self._server.sealed = _rows(self._server).get()
        if not _are_due(self._values()):  # the usual case, which needs no lock
            return self._values()
        with self._row() as stored:
            if _are_due(stored):
                if stored.get("refresh") and stored["refresh"]["until"] > time.time():
                    return None
                stored["refresh"] = {"by": self._id, "until": time.time() + REFRESH_WITHIN_S}
            return stored

    def expire(self, access_token: str) -> bool:
        """Let a token that was refused be refreshed, unless that has happened; say whether another one can be had."""
        with self._row() as stored:
            tokens = stored.get("tokens") or {}
            if not access_token or not tokens:
                return False
            if tokens["access_token"] != access_token:
                return True
            if tokens.get("refresh_token"):
                stored["expires_at"] = 1
            return bool(tokens.get("refresh_token"))

    def end_refresh(self) -> None:
        """Let others refresh the tokens, where this storage has returned them to be refreshed."""
        with self._row() as stored:
            if stored.get("refresh") and stored["refresh"]["by"] == self._id:
                stored["refresh"] = None

    @contextmanager
    def _row(self) -> Iterator[dict[str, Any]]:
        """Yield the stored values, read anew under a lock; changes are stored."""
        is_stored = bool(self._server.pk)
        with transaction.atomic() if is_stored else nullcontext():
            if is_stored:
                self._server.sealed = _rows(self._server).select_for_update().get()
            values = dict(self._values())
            before = dict(values)
            yield values
            if values != before:
                self._server.sealed = seal_values(values)
                if is_stored:
                    _rows(self._server).update(sealed=self._server.sealed)


def _rows(server: McpServer) -> Any:
    # By address too: staff may have changed it meanwhile, and tokens are for the one that issued them.
    return McpServer.objects.filter(pk=server.pk, url=server.url).values_list("sealed", flat=True)


def _are_due(values: Mapping[str, Any]) -> bool:
    """Say whether stored tokens have expired and can be refreshed."""
    return bool((values.get("expires_at") or math.inf) < time.time() and values["tokens"].get("refresh_token"))


def _form(model: Any) -> Any:
    return model and model.model_dump(mode="json", exclude_none=True)


def _read(model: Any, form: Any) -> Any:
    try:
        return None if form is None else model.model_validate(form)
    except ValidationError:  # of another version
        return None
