"""The status line of a model that was given results: how many it reads, until something newer is to be said. Ui 1."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest
from channels.db import database_sync_to_async
from django.utils.translation import override

from chat.cards import live_answer_card
from chat.filings.demo import load_demo
from chat.forms import Message
from chat.live import LiveTurn
from chat.models import Conversation
from chat.notices import Finished
from chat.relayfeed import Feed
from chat.relaylink import Form
from chat.turns import SLOW, THINKING, WRITING
from chat.watchers import Watcher
from reasoning.policy import Visibility
from reasoning.trace import finish, start
from tests.chat.two_processes import make_layer, told_until, two_runners, until_it_holds
from tests.contract_server.fixture import ContractHandle

SEARCHING, OPENING = "Searching filings…", "Reading a passage…"


@pytest.fixture
def live() -> LiveTurn:
    return LiveTurn(
        id=uuid.uuid4(),
        conversation_id=uuid.uuid4(),
        owner_id=1,
        number=1,
        question="q",
        model="m",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        tell=lambda notice: None,
        status_text=THINKING,
    )


def calls(live: LiveTurn, status: str, results: int | None) -> None:
    live.show_status(status)
    live.step_started("c", "searchFilings")
    live.step_finished("c", finish(start("c", "t", "{}", at_ms=0, shown=None), at_ms=1, status="ok", results=results))


def says(live: LiveTurn, sees: Visibility | None = None) -> str:
    return live_answer_card(live, sees or Visibility()).status_text


@pytest.mark.parametrize(("results", "words"), [(5, "Reading 5 results…"), (1, "Reading 1 result…"), (0, "Thinking…")])
def test_results_that_came_are_read(live: LiveTurn, results: int, words: str) -> None:
    calls(live, SEARCHING, results)
    assert says(live) == SEARCHING

    live.show_status(THINKING)

    assert says(live) == words


def test_a_call_that_failed_gives_nothing_to_read(live: LiveTurn) -> None:
    calls(live, SEARCHING, None)
    live.show_status(THINKING)

    assert says(live) == "Thinking…"


def test_calls_of_one_response_are_read_together_and_those_of_the_next_afresh(live: LiveTurn) -> None:
    calls(live, SEARCHING, 5)
    calls(live, OPENING, 1)
    live.show_status(THINKING)
    together = says(live)
    calls(live, OPENING, 2)
    live.show_status(THINKING)

    assert (together, says(live)) == ("Reading 6 results…", "Reading 2 results…")


def test_what_is_newer_is_said_and_a_slow_model_still_reads(live: LiveTurn) -> None:
    calls(live, SEARCHING, 5)
    live.show_status(THINKING)
    live.show_status(SLOW)
    slow = says(live)
    live.show_status(THINKING)
    again = says(live)
    live.show_status(WRITING)

    assert (slow, again, says(live)) == ("Still waiting for the model…", "Reading 5 results…", "Writing…")


def test_it_is_said_in_the_readers_language_and_to_who_sees_steps(live: LiveTurn) -> None:
    calls(live, SEARCHING, 5)
    live.show_status(THINKING)

    with override("de"):
        assert says(live) == "Liest 5 Treffer …"
    assert says(live, Visibility(trace=False)) == "Thinking…"


def test_it_is_passed_on_to_other_processes(live: LiveTurn) -> None:
    said: list[Form] = []
    feed = Feed(live, lambda channel, form: said.append(form), {"there": 0.0})
    feed.pass_on(0.0)

    calls(live, SEARCHING, 5)
    live.show_status(THINKING)  # before the feed looks again: the same words as before
    feed.pass_on(0.2)

    assert [(form["status"], form["reads"]) for form in said] == [("Thinking…", 0), ("Thinking…", 5)]


@pytest.mark.django_db(transaction=True)
async def test_a_page_of_another_process_says_it_too(upstream: ContractHandle, conversation: Conversation) -> None:
    await database_sync_to_async(load_demo)()
    search = {"name": "searchFilings", "arguments": json.dumps({"query": "turbine outage", "limit": 3})}
    hold = [{"kind": "stall", "at": "event:1", "name": "go"}]
    upstream.script([{"tool_calls": [search]}, {"content": "It is so.", "chunk": "word", "faults": hold}])
    watcher = Watcher(conversation.pk)
    async with two_runners(make_layer("memory")) as (here, there):
        with there.watching(watcher):
            await there.ready(conversation.pk)
            await here.submit(conversation.pk, conversation.owner_id, Message("Why?"))
            await until_it_holds(lambda: (mirror := there.live(conversation.pk)) and mirror.reads)
            mirror = there.live(conversation.pk)
            assert mirror is not None
            shown = says(mirror)
            upstream.release("go")
            await told_until(watcher, Finished)

    assert shown == "Reading 3 results…"
