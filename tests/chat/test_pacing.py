"""While a process is busy its upstreams are read by a clock, and nothing is lost or out of order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.pacing import (
    FEW_TURNS,
    LONGEST_WINDOW_S,
    MANY_TURNS,
    TICK_S,
    WINDOW_S,
    Pace,
    joined,
    left_unread,
    pace,
)
from reasoning.deltas import RawDelta, RawEnd, RawFields
from tests.contract_server.fixture import ContractHandle


def busy() -> Pace:
    one = Pace()
    one.turns = FEW_TURNS
    return one


def text(kind: str, value: str) -> RawFields:
    return RawFields({kind: value})


class Socket:
    """The end of a connection, as asyncio has it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def is_closing(self) -> bool:
        return False


def test_neighbouring_texts_of_one_kind_become_one() -> None:
    deltas = [text(kind, value) for kind, value in (("reasoning", "a"), ("reasoning", "b"), ("content", "1"))]

    assert list(joined(deltas)) == [text("reasoning", "ab"), text("content", "1")]


def test_what_is_no_text_keeps_its_place() -> None:
    call = RawFields({"tool_calls": [{"id": "c"}]})
    both = RawFields({"content": "x", "reasoning": "y"})
    deltas = [text("content", "a"), text("content", "b"), call, text("content", "c"), both, RawEnd("stop")]

    assert list(joined(deltas)) == [text("content", "ab"), call, text("content", "c"), both, RawEnd("stop")]


def test_what_came_before_a_failure_comes_before_it() -> None:
    def cut() -> Iterator[RawDelta]:
        yield text("content", "a")
        yield text("content", "b")
        raise ProviderError("malformed", "broken", retryable=False)

    came: list[RawDelta] = []
    with pytest.raises(ProviderError, match="broken"):
        came.extend(joined(cut()))

    assert came == [text("content", "ab")]


def test_few_turns_never_wait_and_the_window_grows_with_lag_up_to_its_bound() -> None:
    assert Pace().window_s == 0.0
    one = busy()
    assert one.window_s == WINDOW_S

    for _ in range(100):
        one.note_lag(5.0)

    assert one.window_s == LONGEST_WINDOW_S


def test_window_grows_with_live_turns_up_to_its_bound() -> None:
    one = busy()
    widths = []
    for turns in (FEW_TURNS, MANY_TURNS - 1, MANY_TURNS, 1000):
        one.turns = turns
        widths.append(one.window_s)

    assert widths[0] == WINDOW_S < widths[1] < widths[2]
    assert widths[2:] == [LONGEST_WINDOW_S, LONGEST_WINDOW_S]


@given(st.floats(0, 1e6), st.floats(0, 0.9 * TICK_S))
def test_upstreams_read_at_about_the_same_time_are_read_again_at_once(now: float, later: float) -> None:
    one = busy()

    due = one.next_read(now)

    assert WINDOW_S - TICK_S <= due - now + 1e-6 <= WINDOW_S + 2e-6
    assert one.next_read(now + later) - due in (pytest.approx(0, abs=1e-6), pytest.approx(TICK_S, abs=1e-6))
    assert abs(due / TICK_S - round(due / TICK_S)) < 1e-3
    assert Pace().next_read(now) == now


@pytest.mark.parametrize("turns", [FEW_TURNS, MANY_TURNS, 1_000])
def test_upstream_that_is_read_at_its_ticks_is_read_once_a_window(turns: int) -> None:
    one = Pace()
    one.turns = turns
    due = one.next_read(12.3)

    assert one.next_read(due) - due == pytest.approx(one.window_s)
    assert one.next_read(due + 0.4 * TICK_S) - due == pytest.approx(one.window_s)


def test_connection_is_left_unread_for_the_block_however_it_ends() -> None:
    socket = Socket()

    with suppress(ZeroDivisionError), left_unread(_response(socket)):
        assert socket.calls == ["pause"]
        _ = 1 / 0

    assert socket.calls == ["pause", "resume"]


def test_answer_without_a_connection_is_only_read_later() -> None:
    with left_unread(SimpleNamespace()):
        pass


def _response(socket: Socket) -> Any:
    """What the SDK hands out, as far as the way to its socket."""
    answer = SimpleNamespace(connection=SimpleNamespace(transport=socket))
    stream = SimpleNamespace(_stream=SimpleNamespace(_aiohttp_response=answer))
    return SimpleNamespace(http_response=SimpleNamespace(stream=stream))


async def test_busy_process_reads_the_same_answer_in_fewer_pieces(
    upstream: ContractHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a real connection: the way to its socket is the SDK's own affair, and may change with it."""
    found: list[Any] = []

    @contextmanager
    def noted(response: Any) -> Iterator[None]:
        connection = response.http_response.stream._stream._aiohttp_response.connection
        found.append(connection and connection.transport)
        with left_unread(response):
            yield

    monkeypatch.setattr("chat.providers.openai_service.left_unread", noted)
    words = "One word after the other, and each in a chunk of its own. " * 20
    upstream.script([{"content": words, "chunk": 3}, {"content": words, "chunk": 3}])
    asked = OpenAIChatProvider(upstream.base_url, "k", "plain-model")
    question = ProviderRequest({"messages": [{"role": "user", "content": "Say it."}]}, "", (), "")

    at_ease = [delta async for delta in asked.stream(question)]
    monkeypatch.setattr(pace, "turns", FEW_TURNS)
    hurried, read_meanwhile = [], []
    async for delta in asked.stream(question):
        hurried.append(delta)
        read_meanwhile += [transport.is_reading() for transport in found[-1:] if transport]

    assert _text(hurried) == _text(at_ease) == words
    assert len(hurried) < len(at_ease)
    assert any(found)
    assert True not in read_meanwhile, "what comes while a piece is worked on would be late by a window from then on"


def _text(deltas: list[RawDelta]) -> str:
    return "".join(delta.fields.get("content", "") for delta in deltas if isinstance(delta, RawFields))
