"""Calls of a response as the turn runs them: side by side, checked, recorded in their order."""

import asyncio
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from channels.db import database_sync_to_async
from pydantic import BaseModel

from chat import eventlog
from chat.filings.ingest import ingest
from chat.tools import registry
from chat.tools.base import Tool, ToolRefusedError, tool
from chat.turns.manager import turn_manager
from reasoning.events import ToolCall, ToolResult
from tests.chat.api_client import client_of
from tests.chat.asking import ask, ended, events_of, send
from tests.chat.filing_samples import annual_report

pytestmark = pytest.mark.django_db(transaction=True)
DONE = {"content": "Done."}
DOCS = Path(__file__).parents[3] / "docs" / "tools.md"


def call(name: str, call_id: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "id": call_id, "arguments": json.dumps(arguments)}


async def results(turn: Any) -> list[tuple[str, str]]:
    return [(event.call_id, event.output) for event in await events_of(turn) if isinstance(event, ToolResult)]


async def trace_of(conversation: Any) -> list[dict[str, Any]]:
    client = await client_of(conversation.owner)
    listed = (await client.get(f"/api/chats/{conversation.pk}/messages/")).json()
    steps: list[dict[str, Any]] = listed[-1]["toolTrace"]
    return steps


@pytest.fixture
def meeting(monkeypatch):
    """A tool whose calls all wait for each other: it returns only if ``size`` of them run at once."""
    meetings: dict[int, asyncio.Barrier] = {}

    @tool(is_concurrent=True)
    async def meet(size: int, name: str) -> str:
        """Meet the other calls."""
        barrier = meetings.setdefault(size, asyncio.Barrier(size))
        async with asyncio.timeout(20):
            await barrier.wait()
        return f"met {name}"

    monkeypatch.setitem(registry(), "meet", meet)


async def test_concurrent_calls_run_side_by_side_and_keep_their_order(upstream, conversation, meeting):
    calls = [call("meet", f"call_{name}", size=3, name=name) for name in "abc"]
    upstream.script([{"tool_calls": calls}, DONE])
    turn = await ask(conversation, "Why?")

    assert turn.status == "completed"
    assert await results(turn) == [(f"call_{name}", f"met {name}") for name in "abc"]
    assert upstream.refusals() == []


async def test_call_of_another_kind_waits_for_those_before_it(upstream, conversation, meeting, monkeypatch):
    order = []

    @tool()
    async def note(text: str) -> str:
        """Note when it ran."""
        order.append(text)
        return text

    monkeypatch.setitem(registry(), "note", note)
    meet = [call("meet", f"call_{name}", size=2, name=name) for name in "ab"]
    upstream.script([{"tool_calls": [call("note", "n1", text="1"), *meet, call("note", "n2", text="2")]}, DONE])
    turn = await ask(conversation, "Why?")

    assert [call_id for call_id, _output in await results(turn)] == ["n1", "call_a", "call_b", "n2"]
    assert order == ["1", "2"]


async def test_sources_of_concurrent_searches_are_numbered_in_the_order_of_their_calls(upstream, conversation):
    await database_sync_to_async(ingest)(annual_report(), name="a.html")
    searches = [call("searchFilings", f"call_{n}", query="Acme widgets") for n in range(2)]
    upstream.script([{"tool_calls": searches}, DONE])
    turn = await ask(conversation, "Why?")

    refs = [one["ref"] for _id, output in await results(turn) for one in json.loads(output)["passages"]]
    assert refs == list(range(1, len(refs) + 1))
    assert len(refs) > 1


async def test_stop_keeps_the_results_of_calls_that_have_ended(upstream, conversation, monkeypatch):
    started = asyncio.Event()

    @tool(is_concurrent=True)
    async def quick() -> str:
        """Return at once."""
        return "quick"

    @tool(is_concurrent=True)
    async def slow() -> str:
        """Never return."""
        started.set()
        await asyncio.Event().wait()
        return "slow"

    monkeypatch.setitem(registry(), "quick", quick)
    monkeypatch.setitem(registry(), "slow", slow)
    upstream.script([{"tool_calls": [call("quick", "call_q"), call("slow", "call_s")]}, DONE])
    await send(conversation, "Why?")
    await started.wait()
    client = await client_of(conversation.owner)
    assert (await client.post(f"/api/chats/{conversation.pk}/stop/")).status_code == 204
    turn = await ended(conversation)

    assert turn.status == "aborted"
    assert [step["status"] for step in await trace_of(conversation)] == ["ok", "cancelled"]
    assert (await results(turn))[0] == ("call_q", "quick")


async def test_call_never_runs_where_its_turn_was_stopped_before(upstream, conversation, monkeypatch):
    loop, append, ran = asyncio.get_running_loop(), eventlog.append, []

    def append_while_it_is_stopped(turn, events, *rest):
        append(turn, events, *rest)
        if any(isinstance(event, ToolCall) for event in events):
            [run] = turn_manager._runs.values()
            loop.call_soon_threadsafe(run.stop)

    @tool()
    async def note() -> str:
        """Note that it ran."""
        ran.append("note")
        return "noted"

    monkeypatch.setattr(eventlog, "append", append_while_it_is_stopped)
    monkeypatch.setitem(registry(), "note", note)
    upstream.script([{"tool_calls": [call("note", "call_n")]}, DONE])
    await send(conversation, "Why?")
    turn = await ended(conversation)

    assert turn.status == "aborted"
    assert ran == []
    assert [step["status"] for step in await trace_of(conversation)] == ["cancelled"]


async def test_turn_is_stopped_twice_while_its_call_is_ending(upstream, conversation, monkeypatch):
    started, stopping, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool()
    async def stubborn() -> str:
        """End late."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await go.wait()
        return ""

    monkeypatch.setitem(registry(), "stubborn", stubborn)
    upstream.script([{"tool_calls": [call("stubborn", "call_s")]}, DONE])
    await send(conversation, "Why?")
    await started.wait()
    await turn_manager.stop(conversation.pk)
    await stopping.wait()
    await turn_manager.stop(conversation.pk)
    go.set()

    assert (await ended(conversation)).status == "aborted"


async def test_tool_whose_own_work_was_cancelled_has_failed(upstream, conversation, monkeypatch):
    @tool()
    async def fetch() -> str:
        """Wait for work that something else cancels."""
        work = asyncio.ensure_future(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(work.cancel)
        await work
        return ""

    monkeypatch.setitem(registry(), "fetch", fetch)
    upstream.script([{"tool_calls": [call("fetch", "call_f")]}, DONE])
    turn = await ask(conversation, "Why?")

    assert turn.status == "completed"
    assert await results(turn) == [("call_f", "error: the tool failed")]


class Weather(BaseModel):
    """A declared result."""

    degrees: int


@pytest.mark.parametrize(("degrees", "status"), [(21, "ok"), ("warm", "error")])
async def test_result_is_checked_against_what_its_tool_declares(upstream, conversation, monkeypatch, degrees, status):
    @tool()
    async def weather() -> Weather:
        """Return the weather."""
        return Weather.model_construct(degrees=degrees)

    monkeypatch.setitem(registry(), "weather", weather)
    upstream.script([{"tool_calls": [call("weather", "call_w")]}, DONE])
    turn = await ask(conversation, "Why?")

    [(_id, output)] = await results(turn)
    assert output == '{"degrees":21}' if status == "ok" else "degrees" in output
    assert [step["status"] for step in await trace_of(conversation)] == [status]


async def test_refusal_of_a_tool_has_words_for_the_model_and_for_people(upstream, conversation, monkeypatch):
    @tool()
    async def reach() -> str:
        """Reach for it."""
        raise ToolRefusedError("the host is not on the list", shown="Not on the list.")

    monkeypatch.setitem(registry(), "reach", reach)
    upstream.script([{"tool_calls": [call("reach", "call_r")]}, DONE])
    turn = await ask(conversation, "Why?")

    assert await results(turn) == [("call_r", "error: the host is not on the list")]
    assert [step["error"] for step in await trace_of(conversation)] == ["Not on the list."]


async def test_line_for_people_is_redacted(upstream, conversation):
    upstream.script([{"tool_calls": [call("calculate", "call_c", expression="2 + 3")]}, DONE])
    await ask(conversation, "Why?")

    assert [step["output"] for step in await trace_of(conversation)] == ["5"]


async def test_tool_of_the_documentation_runs(upstream, conversation, monkeypatch):
    [code] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    module = ModuleType("flip_coin")
    exec(compile(code, str(DOCS), "exec"), vars(module))  # noqa: S102 - the code of our own page
    [added] = [value for value in vars(module).values() if isinstance(value, Tool)]
    monkeypatch.setitem(registry(), added.name, added)
    upstream.script([{"tool_calls": [call("flipCoin", "call_f", times=3)]}, DONE])
    turn = await ask(conversation, "Heads or tails?")

    assert len(code.strip().splitlines()) <= 12
    [(_id, output)] = await results(turn)
    assert len(json.loads(output)) == 3
    [step] = await trace_of(conversation)
    assert (step["status"], step["args"], step["results"]) == ("ok", {"times": 3}, 3)
    assert [event.name for event in await events_of(turn) if isinstance(event, ToolCall)] == ["flipCoin"]
