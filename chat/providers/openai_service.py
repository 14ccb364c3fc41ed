"""What both of OpenAI's APIs need: a request through the SDK, its answer's bytes decoded as they come.

The answer's bytes are decoded here, since the SDK's own chunk objects cost many times as much. Promises: every failure
is a ``ProviderError``; a service's silence ends after ``idle_s``; closing the iterator closes the connection to the
service; nothing is retried, except once without a parameter that changes nothing of the answer and is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.errors import Endpoint, cut_off, failure_from_status, malformed
from chat.providers.openai_client import Connection, client_for
from chat.providers.pacing import joined, left_unread, pace
from chat.providers.sse import MAX_EVENT_BYTES, SSEDecoder
from chat.providers.transport_errors import failure_from_transport
from reasoning.deltas import RawDelta

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_BODY_END_S = 0.2  # how long the body's own end may take to follow the end mark
_AFTER_END_S = 5.0  # how long the counts of tokens may take to follow the end of the answer


class Decoder(Protocol):
    """Payloads of one response to deltas. ``ended``: it said that it is over. ``done``: nothing more will come."""

    ended: bool
    done: bool

    def feed(self, payload: bytes) -> tuple[RawDelta, ...]: ...

    def finish(self) -> tuple[RawDelta, ...]: ...


class OpenAIService:
    """One model at one endpoint. An empty ``model`` means the first that the endpoint lists.

    An API adds how its request looks (``_body``), how it is sent (``_sent``) and what reads the answer (``_decoder``).
    ``_spare`` names the parameters that are left out, from then on, where the endpoint refuses them.
    """

    _api: ClassVar[Literal["chat", "responses"]]
    _spare: ClassVar[tuple[str, ...]]

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
        self._left_out: set[str] = set()
        self.model = model
        self.name = model or self._connection.host
        self.identity = self._connection.identity
        self.starts_in_reasoning = starts_in_reasoning

    def _body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        raise NotImplementedError

    def _sent(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        raise NotImplementedError

    def _decoder(self, endpoint: Endpoint) -> Decoder:
        raise NotImplementedError

    async def first_model(self) -> str:
        """Return the model in use; where none was named, the first of ``/v1/models``. Raises ProviderError."""
        if not self.model:
            self.model = self.name = await self._first_listed()
        return self.model

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what ``stream`` would post now; without a model only where none was named or found yet."""
        body = self._body(request, request.body.get("model") or self.model)
        return {name: value for name, value in body.items() if name not in self._left_out}

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Closing the iterator closes the upstream. Raises ProviderError."""
        if not request.body.get("model"):
            await self.first_model()
        for _ in range(len(self._spare) + 1):  # each refusal takes one of them away
            try:
                async with aclosing(self._attempt(self.request_body(request))) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except _SpareRefusedError as refused:
                self._left_out.add(refused.parameter)

    async def _attempt(self, body: dict[str, Any]) -> AsyncGenerator[RawDelta, None]:
        endpoint = self._endpoint(body["model"])
        try:
            client = await self._connected()
            async with (
                self._sent(client, body) as response,
                aclosing(_deltas(response, self._decoder(endpoint))) as deltas,
            ):
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
        return Endpoint(self._connection.host, model, (self._connection.api_key,), self._api)

    def _failure(self, error: Exception, endpoint: Endpoint, body: Mapping[str, Any]) -> ProviderError:
        """Turn whatever the SDK or its transport raised into our error."""
        import openai  # noqa: PLC0415

        if isinstance(error, openai.APIStatusError):
            said = error.response.content
            if error.status_code in (400, 422):
                refused = next((name for name in self._spare if name in body and name.encode() in said), None)
                if refused:
                    return _SpareRefusedError(refused)
            replays = replays_thinking(body)
            return failure_from_status(
                error.status_code, said, error.response.headers, endpoint, replays_thinking=replays
            )
        if isinstance(error, ValueError):
            return malformed("an answer that cannot be read")
        waits = {"connect_s": self._connection.connect_s, "idle_s": self._connection.idle_s}
        return failure_from_transport(error, endpoint, **waits)


class _SpareRefusedError(ProviderError):
    """The service does not take a parameter that can be spared."""

    def __init__(self, parameter: str) -> None:
        super().__init__("refused", f"{parameter} was refused", retryable=True)
        self.parameter = parameter


def replays_thinking(body: Mapping[str, Any]) -> bool:
    """Say whether a request holds earlier thinking, in either API's form."""
    sent = (*(body.get("messages") or ()), *(body.get("input") or ()))
    return any(
        one.get("type") == "reasoning" or any(name in one for name in ("reasoning_content", "reasoning", "thinking"))
        for one in sent
        if isinstance(one, Mapping)
    )


async def _deltas(response: Any, decoder: Decoder) -> AsyncGenerator[RawDelta, None]:
    """Decode the bytes of an answer: an event stream, or a whole response where streaming was ignored."""
    kind = response.headers.get("content-type", "").lower()
    if "text/html" in kind:
        raise malformed("a web page instead of an answer")
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


async def _streamed(response: Any, decoder: Decoder) -> AsyncGenerator[RawDelta, None]:
    """Decode until the end mark. What fails after the answer ended does not matter any more."""
    sse = SSEDecoder()
    pieces = response.iter_bytes()
    loop = asyncio.get_running_loop()
    has_begun = False  # the first words never wait
    while not decoder.done and (piece := await _next_piece(pieces, decoder)) is not None:
        read_again_at = pace.next_read(loop.time())
        deltas = (delta for payload in sse.feed(piece) for delta in decoder.feed(payload))
        with left_unread(response) if pace.is_busy else nullcontext():
            for delta in joined(deltas) if pace.is_busy else deltas:
                has_begun = True
                yield delta
            if has_begun and not decoder.done and loop.time() < read_again_at:
                await pace.wait_until(read_again_at)
    for delta in _left_open(sse, decoder):
        yield delta
    if decoder.done:
        await _read_out(pieces)


async def _read_out(pieces: AsyncIterator[bytes]) -> None:
    """Take what follows the end mark, so that the connection, and its TLS, can serve the next request."""
    with suppress(Exception):
        async with asyncio.timeout(_BODY_END_S):
            async for _piece in pieces:
                pass


def _left_open(sse: SSEDecoder, decoder: Decoder) -> list[RawDelta]:
    """Decode a last event without its blank line. A torn one says that the stream broke off, not that it was wrong."""
    try:
        return [delta for payload in sse.finish() for delta in decoder.feed(payload)]
    except ProviderError as error:
        if error.code != "malformed":
            raise
        return []


async def _next_piece(pieces: AsyncIterator[bytes], decoder: Decoder) -> bytes | None:
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
