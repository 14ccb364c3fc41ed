"""What both of OpenAI's APIs need: one request through the SDK, its answer decoded as it arrives.

Every failure is a ``ProviderError``. Nothing is retried here, since only the turn knows what was already shown; except
once without an optional parameter that the service refuses.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from chat.providers.base import ProviderError, ProviderRequest, parameter, shown_model, without_parameters
from chat.providers.connections import Connection, client_for
from chat.providers.decoding import BodyParser, ResponseDecoder
from chat.providers.errors import Endpoint, cut_off, failure_from_status, failure_from_transport, malformed_error
from chat.providers.model_listing import limit_of, listed_models
from reasoning.deltas import RawDelta, RawFields
from reasoning.replay.wire.base import WireFormat
from reasoning.stream.normalizer import NATIVE_FIELDS

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
_LISTING_S = 3.0  # how long the first turn may wait for a list that isn't needed
_BODY_END_S = 0.2  # how long the body's own end may take to follow the end mark
_QUOTED_CHARS = 1_000  # of a file, in a failure
_USAGE_S = 5.0  # how long the token counts may take to follow the end of the answer
# Models that servers list beside those that answer, often before them.
_NO_CHAT_MODEL = re.compile(r"embed|rerank|whisper|moderation|\btts\b|dall-e|stable-diffusion", re.IGNORECASE)
# Statuses of a refused parameter; others mean it where they name one: of routers, and of Python's own TypeError.
_REFUSING = (400, 422)
_NOT_IMPLEMENTED = 501
_NAMING = (404, 500, _NOT_IMPLEMENTED)
# Words of many failures, so that they name the parameter in these phrases only.
_ABOUT_STREAM = re.compile(
    rb"param\W{1,8}stream\b|verified to stream\b"
    rb"|\bstream(?:ing|ed)?\b[^.\n]{0,40}"
    rb"(?:unsupported|disabled|(?:not|n't) (?:\w+ )?(?:support|allow|enabl|availab|implement))"
    rb"|(?:unsupported|(?:not|n't) (?:\w+ )?(?:support|allow|implement)\w*|cannot|can't)[^.\n]{0,40}\bstream(?:ing)?\b",
    re.IGNORECASE,
)
# Only of a service that doesn't know it, which therefore stores nothing: one that insists on storing is not obeyed.
_ABOUT_STORE = re.compile(
    rb"(?:unknown|unrecogni[sz]ed|unexpected|extra|unsupported[ _](?:param|arg|field|key))[^\n]{0,80}"
    rb"(?<!vector)[^\w.\[]store\b(?!\W{1,3}(?:is set|must|should))"
    rb"|(?<!vector )\bstore\b\W{1,4}(?:extra|unknown|unexpected|(?:is )?not (?:support|permit|allow|recogni|a valid))",
    re.IGNORECASE,
)
_ABOUT_REASONING = re.compile(rb"reasoning|thinking|\bthink\b|effort|chat_template", re.IGNORECASE)
_ABOUT_VALUE = re.compile(
    rb"(?:unsupported|invalid|unknown|unexpected) (?:enum )?value|not (?:supported|allowed|one of|a valid)"
    rb"|must be one of|should be|(?:supported|allowed|valid) values|expected one of",
    re.IGNORECASE,
)
# As many equal characters in a row count as a quotation of the conversation.
ECHO_CHARS = 16
_ECHO = "(not shown: it repeats a part of the conversation)"
# Without it a service answers in one piece: OpenAI streams some models to verified organisations only (seen 2026-05).
STREAM = "stream"
STORE = "store"
SLICE_BYTES = 65_536  # that are parsed at once: a compressed stream may bring 32 MB of comments in one piece
# How long incoming text is collected before it is read. Readers see about 25 pictures a second, and to process forty
# characters costs hardly more than four. The window grows from 7 streams of this process on.
FRAME_WINDOW_S = 0.04
WINDOW_PER_STREAM_S = 0.006
LONGEST_WINDOW_S = 0.1


class SilenceLimit:
    """How long one response may be silent: ``first_s`` until its first word, ``idle_s`` after each.

    By the event loop's clock. Comments that hold a connection open, and empty pieces, are no words.
    """

    def __init__(self, connection: Connection, endpoint: Endpoint) -> None:
        self._connection, self._host = connection, endpoint.host
        self._deadline = asyncio.get_running_loop().time() + connection.first_s
        self.has_heard = False

    def note(self, delta: RawDelta) -> None:
        """Begin to wait anew after a word."""
        if says_something(delta):
            self._deadline = asyncio.get_running_loop().time() + self._connection.idle_s
            self.has_heard = True

    async def wait(self, work: Awaitable[T]) -> T:
        """Return what ``work`` returns. Raises ProviderError ``timeout`` when the time for the next word is over."""
        try:
            async with asyncio.timeout_at(self._deadline) as scope:
                return await work
        except TimeoutError as error:
            if not scope.expired():
                raise
            seconds = self._connection.idle_s if self.has_heard else self._connection.first_s
            params = {"host": self._host, "seconds": seconds}
            raise ProviderError(
                "timeout", "idle" if self.has_heard else "first_word", params, retryable=True
            ) from error


class OpenAIService:
    """One model at one endpoint. An empty ``model`` means the first that the endpoint lists.

    An API has a format of requests (``wire``), parameters of its own (``build_body``), the SDK call (``open_response``)
    and its decoder (``new_decoder``).
    ``_optional`` names the parameters that are left out, from then on, where the endpoint refuses them; a request may
    name others.
    """

    wire: ClassVar[WireFormat]
    _optional: ClassVar[tuple[str, ...]]
    open_streams: ClassVar[int] = 0  # in this process

    def __init__(
        self,
        connection: Connection,
        model: str,
        *,
        starts_in_reasoning: bool = False,
        client: AsyncOpenAI | None = None,
    ) -> None:
        self._connection = connection
        self._client = client
        self._refused_parameters: set[str] = set()
        self.model = model
        self._chooses_model = not model
        self.name = shown_model(model) or connection.host
        self.identity = connection.identity
        self.starts_in_reasoning = starts_in_reasoning
        self.context_limit: int | None = None
        self._has_listed = False

    def build_body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        """Return the whole request body; an API adds its own parameters."""
        framed = self.wire.with_frame(
            request.body, request.instructions, request.tools, takes_system=request.takes_system
        )
        return {**framed, "model": model, STREAM: True}

    def open_response(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """Post the body; return the response, which is read as it arrives."""
        raise NotImplementedError

    def new_decoder(self, endpoint: Endpoint) -> ResponseDecoder:
        """Return what decodes one response."""
        raise NotImplementedError

    async def find_model(self) -> str:
        """Return the model in use; where none was named, the first of ``/v1/models``. Raises ProviderError.

        At first use ``context_limit`` is read from the list too. Not every service has one, so that may fail.
        """
        if self.model:
            if not self._has_listed:
                # Before the request: a service that has no list is not asked again with each turn.
                self._has_listed = True
                with suppress(Exception):
                    async with asyncio.timeout(_LISTING_S):
                        self.context_limit = limit_of(self.model, await self._list_models())
            return self.model
        endpoint = self._endpoint("")
        try:
            listing = await self._list_models()
        except Exception as error:
            failure = self._failure(error, endpoint, {})
            # Some servers can't list their models and answer all the same.
            failure.params["can_name_model"] = True
            raise failure from error
        names = listed_models(listing)
        if not names:
            raise ProviderError("refused", "no_models", {"host": endpoint.host}, retryable=False)
        self.model = next((name for name in names if not _NO_CHAT_MODEL.search(name)), names[0])
        self.name = shown_model(self.model)
        self._has_listed, self.context_limit = True, limit_of(self.model, listing)
        return self.model

    async def _list_models(self) -> Any:
        client = self._client or await client_for(self._connection)
        listed = await client.models.with_raw_response.list(timeout=self._connection.idle_s)
        return listed.http_response.json()

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what ``stream`` would post now; without a model only where none was named or found yet."""
        body = self.build_body(request, request.body.get("model") or self.model)
        left_out = {
            name
            for name in (*self._optional, *request.optional)
            if self._refusal(name, body) in self._refused_parameters
        }
        return without_parameters(body, left_out)

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Closing the iterator closes the upstream. Raises ProviderError."""
        endpoint = self._endpoint(request.body.get("model") or await self.find_model())
        decoder = self.new_decoder(endpoint)
        silence = SilenceLimit(self._connection, endpoint)
        response = None
        OpenAIService.open_streams += 1
        try:
            with self._noting_failures(request, endpoint):
                async with AsyncExitStack() as stack:
                    # 1. The head of the response, within the time for the first word.
                    response = await silence.wait(self._send(request, stack))
                    # 2. Its body: events as they arrive, or a whole answer from a service that ignored ``stream``.
                    events, chunks = BodyParser(), response.iter_bytes()
                    reading_paused = response.http_response.extensions.get("reading_paused", nullcontext)
                    usage_until: float | None = None
                    while not decoder.done:
                        if decoder.is_over:
                            usage_until = usage_until or asyncio.get_running_loop().time() + _USAGE_S
                            chunk = await wait_for_usage(anext(chunks, None), usage_until)
                        else:
                            chunk = await silence.wait(anext(chunks, None))
                        if chunk is None:
                            break
                        for start in range(0, len(chunk), SLICE_BYTES):
                            if start:
                                await asyncio.sleep(0)  # lets other tasks run between the slices of a large piece
                            for delta in decode_together(events.feed(chunk[start : start + SLICE_BYTES]), decoder):
                                silence.note(delta)
                                yield delta
                        # What arrives within a window is read together. The first text never waits.
                        if silence.has_heard and not decoder.ended:
                            now = asyncio.get_running_loop().time()
                            with reading_paused():
                                await asyncio.sleep(until_next_frame_s(now, self.open_streams))
                            # One pass of the event loop delivers what arrived, so that the next read returns all of it.
                            await asyncio.sleep(0)
                    # 3. What the decoder holds back until it knows that nothing follows.
                    for delta in finish_events(events, decoder):
                        yield delta
                    await read_to_end(chunks)
            return
        except ProviderError as error:
            if response is None or decoder.has_read or not self._leaves_out(error, request):
                raise
        finally:
            OpenAIService.open_streams -= 1
        # An answer with status 200 was the refusal of an optional parameter, which is left out from now on.
        async with aclosing(self.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def _send(self, request: ProviderRequest, stack: AsyncExitStack) -> Any:
        """Return the open response, having left out the optional parameters that the service refuses.

        Its refusal is remembered once the request was accepted without them.
        """
        client = self._client or await client_for(self._connection)
        from openai import APIStatusError

        body = self.request_body(request)
        refused: set[str] = set()
        while True:
            try:
                response = await stack.enter_async_context(self.open_response(client, body))
            except APIStatusError as error:
                named = self._refused_names(error.status_code, error.response.content, body, request)
                if not named:
                    raise
                refused |= {self._refusal(name, body) for name in named}
                body = without_parameters(body, named)
            else:
                self._refused_parameters |= refused
                return response

    def _leaves_out(self, error: ProviderError, request: ProviderRequest) -> bool:
        """Return whether later requests leave out a parameter that was refused inside an answer with status 200."""
        if error.code != "refused":
            return False
        body = self.request_body(request)
        named = self._refused_names(_REFUSING[0], error.detail.encode(), body, request)
        self._refused_parameters |= {self._refusal(name, body) for name in named}
        return bool(named)

    def _refused_names(self, status: int, said: bytes, body: Mapping[str, Any], request: ProviderRequest) -> list[str]:
        """Return the optional parameters of a body that a refusal is about.

        Services name the parameter somewhere in the text, never in one place.
        """
        if status not in (*_REFUSING, *_NAMING):
            return []
        mentions = {name: name.encode() in said for name in self._optional}
        mentions[STREAM] = status in (*_REFUSING, _NOT_IMPLEMENTED) and _ABOUT_STREAM.search(said) is not None
        mentions[STORE] = status in _REFUSING and _ABOUT_STORE.search(said) is not None
        named = [name for name in self._optional if name in body and mentions[name]][:1]
        asked = [name for name in request.optional if parameter(body, name) is not None]
        # One within another is left out alone where it is named.
        named = named or [name for name in asked if "." in name and name.encode() in said]
        if not named and _ABOUT_REASONING.search(said):
            is_named = any(re.search(rf"\b{re.escape(name)}\b".encode(), said) for name in asked)
            likely = [name for name in asked if speaks_of(name, said)] or asked
            named = likely if is_named or status in _REFUSING else []
        if not named and status in _REFUSING and _ABOUT_VALUE.search(said):
            # It quotes a value and names no parameter.
            named = [name for name in asked if quotes_value(parameter(body, name), said)]
        return named

    def _refusal(self, name: str, body: Mapping[str, Any]) -> str:
        """Return what is remembered of a refused parameter: of one that asks for reasoning, with its value."""
        return name if name in self._optional else f"{name}={parameter(body, name)}"

    @contextmanager
    def _noting_failures(self, request: ProviderRequest, endpoint: Endpoint) -> Iterator[None]:
        """Raise any failure as a ProviderError without words of the conversation."""
        try:
            yield
        except ProviderError as error:
            self._note_failure(error, request)
            raise
        except Exception as error:
            failure = self._failure(error, endpoint, request.body)
            self._note_failure(failure, request)
            raise failure from error

    def _note_failure(self, error: ProviderError, request: ProviderRequest) -> None:
        error.detail = without_conversation(error.detail, request.body)
        if error.reason == "unknown_model" and self._chooses_model:
            # The endpoint offers others since it was asked: the next request finds out.
            self.model = ""

    def _endpoint(self, model: str) -> Endpoint:
        return Endpoint(self._connection.host, model, (self._connection.api_key,), self.wire.name)

    def _failure(self, error: Exception, endpoint: Endpoint, body: Mapping[str, Any]) -> ProviderError:
        """Turn whatever the SDK or its transport raised into our error."""
        from openai import APIStatusError

        if isinstance(error, APIStatusError):
            # Whether the request holds earlier thinking, in either API's form.
            sent = [*(body.get("messages") or ()), *(body.get("input") or ())]
            replays = any(
                one.get("type") == "reasoning" or not one.keys().isdisjoint(NATIVE_FIELDS)
                for one in sent
                if isinstance(one, Mapping)
            )
            status, content, headers = error.status_code, error.response.content, error.response.headers
            return failure_from_status(status, content, headers, endpoint, replays_thinking=replays)
        if isinstance(error, ProviderError):
            return error  # a redirect that is not followed
        if isinstance(error, ValueError):
            return malformed_error()
        connection = self._connection
        return failure_from_transport(error, endpoint, connect_s=connection.connect_s, idle_s=connection.idle_s)


def speaks_of(parameter_name: str, said: bytes) -> bool:
    """Say whether a refusal has the last word of a parameter's name: "summaries" of ``reasoning.summary``."""
    word = re.escape(parameter_name.rpartition(".")[2])
    return re.search(rf"\b(?:{word}s?|{word[:-1]}ies)\b".encode(), said, re.IGNORECASE) is not None


def quotes_value(value: Any, said: bytes) -> bool:
    """Say whether a refusal, which may be JSON, has the value of a parameter in quotes."""
    if not isinstance(value, str):
        return False
    return re.search(rf"""(['"`]){re.escape(value)}\\?\1""".encode(), said) is not None


def says_something(delta: RawDelta) -> bool:
    """Say whether a piece is a sign of life: a service may send empty ones for ever."""
    if not isinstance(delta, RawFields):
        return True
    for name, value in delta.fields.items():
        if name != "tool_calls":
            if value:
                return True
            continue
        for piece in value if isinstance(value, list) else [value]:
            function = piece.get("function") if isinstance(piece, dict) else None
            if isinstance(function, dict) and (function.get("name") or function.get("arguments")):
                return True
    return False


def without_conversation(detail: str, body: Mapping[str, Any]) -> str:
    """Return what a service said for the log and for staff; not where it repeats what it was sent. Product 12."""
    texts = texts_in(body.get("messages") or body.get("input"))
    # Of a file only the beginning, which a service may quote: 20 MB would take seconds to search.
    sent = " ".join(" ".join(text[:_QUOTED_CHARS] if text.startswith("data:") else text for text in texts).split())
    windows = (detail[at : at + ECHO_CHARS] for at in range(max(1, len(detail) - ECHO_CHARS + 1)))
    return _ECHO if detail and any(window in sent for window in windows) else detail


def texts_in(value: Any) -> Iterator[str]:
    """Yield all strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(inner)


def until_next_frame_s(now: float, streams: int) -> float:
    """Return how long to sleep before text is read again, with so many streams open in this process.

    All streams wake at the same moments, because a batch of them costs less than each by itself. ``now``: by the event
    loop's clock.
    """
    window = min(max(FRAME_WINDOW_S, WINDOW_PER_STREAM_S * streams), LONGEST_WINDOW_S)
    rest = window - now % window
    # Where the timer fired a little early, the moment that it was set for is just ahead: wait for the one after it.
    is_just_ahead = rest <= window / 4
    return rest + window if is_just_ahead else rest


async def wait_for_usage(read: Awaitable[T], until: float) -> T | None:
    """Return what comes after the end of an answer, None where it is late or fails: the answer is complete.

    ``until``: by the event loop's clock, for all that comes: a service may send comments for ever.
    """
    try:
        async with asyncio.timeout_at(until):
            return await read
    except Exception:  # noqa: BLE001 - whatever failed
        return None


async def read_to_end(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the end mark, so that the connection, and its TLS, can serve the next request."""
    with suppress(Exception):
        async with asyncio.timeout(_BODY_END_S):
            async for _chunk in chunks:
                pass


def decode_together(payloads: Iterable[bytes], decoder: ResponseDecoder) -> Iterator[RawDelta]:
    """Decode what arrived together, adjacent texts of one field as one. What precedes a failure comes before it."""
    pending: RawDelta | None = None
    failure: ProviderError | None = None
    try:
        for payload in payloads:
            if decoder.done:
                break  # nothing is read behind the end, whether it arrived with it or later
            for delta in decoder.feed(payload):
                match pending, delta:
                    case RawFields(first, one), RawFields(second, other) if len(first) == 1 and one == other:
                        ((name, start),) = first.items()
                        if first.keys() == second.keys() and isinstance(start, str) and isinstance(second[name], str):
                            pending = RawFields({name: start + second[name]}, one)
                            continue
                if pending is not None:
                    yield pending
                pending = delta
    except ProviderError as error:
        failure = error
    if pending is not None:
        yield pending
    if failure is not None:
        raise failure


def finish_events(events: BodyParser, decoder: ResponseDecoder) -> Iterator[RawDelta]:
    """Decode a last event without its blank line, and what the decoder holds back. Raises ProviderError if cut off."""
    try:
        yield from decode_together(events.finish(), decoder)
    except ProviderError as error:
        # A torn event isn't wrong JSON: the stream broke off.
        if error.code != "malformed":
            raise
    yield from decoder.finish()
    if decoder.failure:
        raise decoder.failure
    if not decoder.ended:
        raise malformed_error("no_answer") if events.is_no_stream and not decoder.has_read else cut_off()
