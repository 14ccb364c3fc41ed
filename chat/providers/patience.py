"""How long a response may keep silent, and what counts as a word."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from chat.providers.base import ProviderError
from chat.providers.connections import Connection
from chat.providers.errors import Endpoint
from reasoning.deltas import RawDelta, RawFields

T = TypeVar("T")


class Patience:
    """How long one response may keep silent: ``first_s`` until its first word, ``idle_s`` after each.

    By the event loop's clock. Comments that keep a connection open, and empty pieces, are no words.
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
            raise ProviderError("timeout", self._complaint(), retryable=True) from error

    def _complaint(self) -> str:
        if self.has_heard:
            waited = f"was silent for {self._connection.idle_s:g} s (UPSTREAM_IDLE_TIMEOUT_S)"
        else:
            waited = f"did not begin to answer within {self._connection.first_s:g} s (FIRST_WORD_TIMEOUT_S)"
        return f"The model service at {self._host} {waited}. Try again."


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
