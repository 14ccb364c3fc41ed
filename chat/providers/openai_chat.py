"""Chat completions: OpenAI's, and every server that speaks them.

The SDK makes the request; the answer's bytes are decoded here, since the SDK's own chunk objects cost many times as
much. Promises: every failure is a ``ProviderError``; a service's silence ends after ``idle_s``; closing the iterator
closes the connection to the service; nothing is retried, except once without ``stream_options`` where it refuses them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.chunks import ChunkDecoder
from chat.providers.errors import Endpoint, cut_off, failure_from_status, malformed
from chat.providers.openai_client import Connection, client_for
from chat.providers.sse import MAX_EVENT_BYTES, SSEDecoder
from chat.providers.transport_errors import failure_from_transport
from reasoning.deltas import RawDelta

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_AFTER_END_S = 5.0  # how long the counts of tokens may take to follow the end of the answer
_CACHE_KEY_HOSTS = frozenset({"api.openai.com"})


class OpenAIChatProvider:
    """One model at one endpoint. An empty ``model`` means the first that the endpoint lists."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        connect_s: float = 10.0,
        idle_s: float = 60.0,
        starts_in_reasoning: bool = False,
        client: AsyncOpenAI | None = None,
    ) -> None:
        self._connection = Connection(base_url, api_key, connect_s, idle_s)
        self._client = client
        self._asks_usage = True
        self.model = model
        self.name = model or self._connection.host
        self.identity = self._connection.identity
        self.starts_in_reasoning = starts_in_reasoning

    async def first_model(self) -> str:
        """Return the model in use; where none was named, the first of ``/v1/models``. Raises ProviderError."""
        if not self.model:
            self.model = self.name = await self._first_listed()
        return self.model

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Closing the iterator closes the upstream. Raises ProviderError."""
        body = self._body(request, request.body.get("model") or await self.first_model())
        try:
            async with aclosing(self._attempt(body)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        except _UsageRefusedError:
            self._asks_usage = False
            body.pop("stream_options", None)
        async with aclosing(self._attempt(body)) as deltas:
            async for delta in deltas:
                yield delta

    def _body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        """Put together what is sent: instructions first, so that what stays the same stands at the start."""
        body = {**request.body, "model": model, "stream": True}
        if request.instructions:
            body["messages"] = [{"role": "system", "content": request.instructions}, *body.get("messages", ())]
        if request.tools:
            body["tools"] = list(request.tools)
        if self._asks_usage:
            body["stream_options"] = {"include_usage": True}
        if request.conversation and self._connection.host in _CACHE_KEY_HOSTS:
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    async def _attempt(self, body: dict[str, Any]) -> AsyncGenerator[RawDelta, None]:
        endpoint = self._endpoint(body["model"])
        try:
            api = (await self._connected()).chat.completions.with_streaming_response
            # The body goes as it is: given as arguments, the SDK would walk and rebuild every message.
            sent = api.create(model="", messages=[], stream=True, extra_body=body)
            async with sent as response, aclosing(_deltas(response, endpoint)) as deltas:
                async for delta in deltas:
                    yield delta
        except ProviderError:
            raise
        except Exception as error:
            raise self._failure(error, endpoint, body) from error

    async def _first_listed(self) -> str:
        endpoint = self._endpoint("")
        try:
            listed = await (await self._connected()).models.with_raw_response.list()
            models = _model_names(listed.http_response.json())
        except Exception as error:
            raise self._failure(error, endpoint, {}) from error
        if not models:
            raise ProviderError(
                "refused", f"{endpoint.host} lists no models. Name one in OPENAI_MODEL.", retryable=False
            )
        return models[0]

    async def _connected(self) -> AsyncOpenAI:
        return self._client or await client_for(self._connection)

    def _endpoint(self, model: str) -> Endpoint:
        return Endpoint(self._connection.host, model, (self._connection.api_key,))

    def _failure(self, error: Exception, endpoint: Endpoint, body: Mapping[str, Any]) -> ProviderError:
        """Turn whatever the SDK or its transport raised into our error."""
        import openai  # noqa: PLC0415

        if isinstance(error, openai.APIStatusError):
            said = error.response.content
            if error.status_code in (400, 422) and "stream_options" in body and b"stream_options" in said:
                return _UsageRefusedError("refused", "stream_options were refused", retryable=True)
            return failure_from_status(error.status_code, said, error.response.headers, endpoint)
        if isinstance(error, ValueError):
            return malformed("an answer that cannot be read")
        waits = {"connect_s": self._connection.connect_s, "idle_s": self._connection.idle_s}
        return failure_from_transport(error, endpoint, **waits)


class _UsageRefusedError(ProviderError):
    """The service does not take ``stream_options``."""


async def _deltas(response: Any, endpoint: Endpoint) -> AsyncGenerator[RawDelta, None]:
    """Decode the bytes of an answer: an event stream, or a whole completion where streaming was ignored."""
    kind = response.headers.get("content-type", "").lower()
    if "text/html" in kind:
        raise malformed("a web page instead of an answer")
    decoder = ChunkDecoder(endpoint)
    if "application/json" in kind:
        for delta in decoder.feed(await _whole(response)):
            yield delta
    else:
        async with aclosing(_streamed(response, decoder)) as deltas:
            async for delta in deltas:
                yield delta
    for delta in decoder.finish():
        yield delta
    if not decoder.ended:
        raise cut_off()


async def _streamed(response: Any, decoder: ChunkDecoder) -> AsyncGenerator[RawDelta, None]:
    """Decode until the end mark. What fails after the answer ended does not matter any more."""
    sse = SSEDecoder()
    pieces = response.iter_bytes()
    while not decoder.done and (piece := await _next_piece(pieces, decoder)) is not None:
        for payload in sse.feed(piece):
            for delta in decoder.feed(payload):
                yield delta
    for delta in _left_open(sse, decoder):
        yield delta


def _left_open(sse: SSEDecoder, decoder: ChunkDecoder) -> list[RawDelta]:
    """Decode a last event without its blank line. A torn one says that the stream broke off, not that it was wrong."""
    try:
        return [delta for payload in sse.finish() for delta in decoder.feed(payload)]
    except ProviderError as error:
        if error.code != "malformed":
            raise
        return []


async def _next_piece(pieces: AsyncIterator[bytes], decoder: ChunkDecoder) -> bytes | None:
    if not decoder.ended:
        return await anext(pieces, None)
    try:
        return await asyncio.wait_for(anext(pieces, None), _AFTER_END_S)
    except Exception:  # noqa: BLE001  (the answer is complete; only counts of tokens could still have come)
        return None


async def _whole(response: Any) -> bytes:
    body = bytearray()
    async for piece in response.iter_bytes():
        body += piece
        if len(body) > MAX_EVENT_BYTES:
            raise malformed("more than 8 MiB in one piece")
    return bytes(body)


def _model_names(listing: Any) -> list[str]:
    models = listing.get("data") if isinstance(listing, dict) else listing
    if not isinstance(models, list):
        return []
    return [model["id"] for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)]
