"""Tools that need approval: a call waits for Allow, Deny or Always in this conversation (product 26)."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from chat.models import Conversation, Turn
from chat.tools import registry
from chat.turns import approval
from chat.turns.manager import TurnManager, turn_manager
from chat.validation import Message
from reasoning.events import PermissionDecision, ToolResult
from tests.chat.api_client import EVENTS, client_of, post, streamed
from tests.chat.asking import ended, events_of, owner_of, send, signed_in
from tests.factories import abandon, make_conversation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 26"), pytest.mark.spec("product 48")]
KEY = "sk-proj-quokka4711abcdefghijklmnopqrstuv"
HTMX = {"HX-Request": "true"}


def call(number: int, call_id: str | None = None) -> dict[str, Any]:
    made = {"name": "searchFilings", "arguments": json.dumps({"query": f"turbines {number} {KEY}"})}
    return made if call_id is None else {**made, "id": call_id}


STEP = {"tool_calls": [call(1, "call_a")]}
DONE = {"content": "Done."}


@pytest.fixture(autouse=True)
def gated(settings, monkeypatch):
    settings.TOOLS_REQUIRING_APPROVAL = ["searchFilings"]
    monkeypatch.setattr(approval, "LOOK_AGAIN_S", 0.05)


async def waiting(conversation: Conversation, call_id: str = "") -> Turn:
    """Wait until a call waits, or this one; return its turn."""
    for _try in range(1500):
        waits = conversation.turns.filter(status=Turn.Status.RUNNING, call_decision="").exclude(waiting_call="")
        turn = await waits.afirst()
        if turn and call_id in ("", turn.waiting_call):
            return turn
        await asyncio.sleep(0.02)
    raise AssertionError([turn async for turn in conversation.turns.values()])


def address(turn: Turn, call_id: str = "call_a") -> str:
    return f"/chats/{turn.conversation_id}/turns/{turn.pk}/calls/{call_id}/"


def api_address(turn: Turn, call_id: str = "call_a") -> str:
    return f"/api/chats/{turn.conversation_id}/messages/{turn.pk}/calls/{call_id}/"


async def decided(turn: Turn, decision: str, call_id: str = "call_a", digest: str = "") -> int:
    """Decide on the page as the owner does, with htmx; return the status of the response.

    ``digest``: by default that of the call which waits now, or was shown with ``turn``.
    """
    client = await owner_of(await Conversation.objects.aget(pk=turn.conversation_id))
    digest = digest or (await Turn.objects.aget(pk=turn.pk)).waiting_digest or turn.waiting_digest
    answer = await client.post(f"{address(turn, call_id)}?digest={digest}", {"decision": decision}, headers=HTMX)
    return int(answer.status_code)


async def decisions(turn: Turn) -> list[tuple[str, str, str]]:
    found = [event for event in await events_of(turn) if isinstance(event, PermissionDecision)]
    return [(event.call_id, event.decision, event.by) for event in found]


async def page_of(conversation: Conversation, language: str = "en") -> str:
    answer = await (await owner_of(conversation)).get(
        f"/chats/{conversation.pk}/", headers={"Accept-Language": language}
    )
    return str(answer.content.decode())


async def envelope_of(conversation: Conversation) -> dict[str, Any]:
    listed = (await (await owner_of(conversation)).get(f"/api/chats/{conversation.pk}/messages/")).json()
    envelope: dict[str, Any] = listed[-1]
    return envelope


@pytest.mark.parametrize(
    ("api", "decision", "recorded", "status"),
    [
        ("chat", "allow", "allow", "ok"),
        ("chat", "always", "allow", "ok"),
        ("chat", "deny", "deny", "denied"),
        ("responses", "deny", "deny", "denied"),
    ],
)
async def test_call_waits_for_its_user_and_the_decision_is_recorded(
    upstream, conversation, settings, api, decision, recorded, status
):
    settings.OPENAI_API, settings.OPENAI_MODEL = api, "gpt-5-mini" if api == "responses" else "plain-model"
    upstream.script([{**STEP, "reasoning": "Hm."}, DONE, {"content": "Next."}])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    page, form = await page_of(conversation), await envelope_of(conversation)

    assert await decided(turn, decision) == 204
    turn = await ended(conversation)

    assert address(turn) in page
    assert [f'value="{word}"' in page for word in ("allow", "deny", "always")] == [True] * 3
    assert "turbines 1" in page
    assert KEY not in page
    [step] = form["toolTrace"]
    assert (form["status"], step["status"], step["callId"]) == ("streaming", "waiting", "call_a")
    assert turn.status == "completed"
    assert await decisions(turn) == [("call_a", recorded, "user")]
    [step] = (await envelope_of(conversation))["toolTrace"]
    assert (step["status"], "callId" in step) == (status, False)
    assert "data-approval" not in await page_of(conversation)
    await send(conversation, "And?")
    await ended(conversation, 2)
    assert upstream.refusals() == []


async def test_model_and_user_are_told_that_a_call_was_denied(upstream, conversation):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    await decided(turn, "deny")
    await ended(conversation)

    kinds = [event.type for event in await events_of(turn)]
    assert kinds[1:4] == ["tool_call", "permission_decision", "tool_result"]
    assert "the user denied this call" in json.dumps(upstream.requests()[-1]["body"])
    [result] = [event for event in await events_of(turn) if isinstance(event, ToolResult)]
    assert not result.ok
    assert "Denied by the user." in await page_of(conversation)
    assert "Wurde nicht erlaubt." in await page_of(conversation, "de")


async def test_always_holds_for_the_tool_in_this_conversation_alone(upstream, conversation, alice):
    upstream.script([STEP, {"tool_calls": [call(2, "call_b"), call(3, "call_c")]}, DONE, STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    await decided(turn, "always")
    await ended(conversation)
    other = await database_sync_to_async(make_conversation)(owner=alice)
    await send(other, "Why?")

    assert [by for _id, _decision, by in await decisions(turn)] == ["user", "always", "always"]
    await decided(await waiting(other), "deny")
    assert (await ended(other)).status == "completed"


@pytest.mark.parametrize("door", ["page", "api"])
async def test_always_is_withdrawn_and_the_next_call_waits(upstream, conversation, door):
    upstream.script([STEP, DONE, STEP, DONE])
    client = await owner_of(conversation)
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "always")
    first = await ended(conversation)
    form = (await client.get(f"/chats/{conversation.pk}/manage/")).content.decode()

    if door == "page":
        await client.post(f"/chats/{conversation.pk}/manage/", {"do": "ask_again"})
    else:
        await client.patch(f"/api/chats/{conversation.pk}/", {"allowedTools": []}, content_type="application/json")
    await send(conversation, "And?")
    await decided(await waiting(conversation), "deny")

    assert "Always allowed in this conversation: searchFilings(query: string)" in form
    assert (await ended(conversation, 2)).status == "completed"
    assert await decisions(first) == [("call_a", "allow", "user")]
    assert "ask_again" not in (await client.get(f"/chats/{conversation.pk}/manage/")).content.decode()


async def test_call_that_nobody_decides_on_is_denied(upstream, conversation, settings):
    settings.APPROVAL_TIMEOUT_S = 0.3
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await ended(conversation)

    assert turn.status == "completed"
    assert await decisions(turn) == [("call_a", "deny", "timeout")]
    assert "Denied: nobody decided in time." in await page_of(conversation)
    assert await decided(turn, "allow") == 409


async def test_time_of_the_turn_bounds_the_waiting(upstream, conversation, settings):
    settings.MAX_TURN_S = 1
    upstream.script([STEP])
    await send(conversation, "Why?")

    assert (await ended(conversation)).error_code == "turn_timeout"


async def test_waiting_turn_is_stopped_at_once_and_takes_no_decision_any_more(upstream, conversation):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    await (await owner_of(conversation)).post(f"/chats/{conversation.pk}/stop/")

    assert (await ended(conversation)).status == "aborted"
    assert await decided(turn, "allow") == 409
    assert await decisions(turn) == []
    [step] = (await envelope_of(conversation))["toolTrace"]
    assert step["status"] == "cancelled"
    await send(conversation, "And?")
    await ended(conversation, 2)
    assert upstream.refusals() == []


async def test_first_decision_counts(upstream, conversation):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    answers = await asyncio.gather(*(decided(turn, word) for word in ("deny", "allow", "always", "allow")))
    await ended(conversation)

    assert sorted(answers) == [204, 409, 409, 409]
    assert len(await decisions(turn)) == 1


async def test_form_works_without_javascript(upstream, conversation):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    page = f"{address(turn)}?digest={turn.waiting_digest}"
    answer = await (await owner_of(conversation)).post(page, {"decision": "allow"})

    assert (answer.status_code, answer["Location"]) == (303, f"/chats/{conversation.pk}/#m-{turn.public_id}")
    assert (await ended(conversation)).status == "completed"


async def test_api_decides(upstream, conversation, alice, bob):
    upstream.script([STEP, DONE])
    client, stranger = await client_of(alice), await client_of(bob)
    await send(conversation, "Why?")
    turn = await waiting(conversation)

    async def answer_to(who, body, url=""):
        sent = await who.post(url or api_address(turn), json.dumps(body), content_type="application/json")
        return sent.status_code, sent.json()["error"]["code"] if sent.content else ""

    allow = {"decision": "allow", "digest": turn.waiting_digest}
    assert await answer_to(stranger, allow) == (404, "not_found")
    assert await answer_to(client, {**allow, "decision": "yes"}) == (400, "invalid_decision")
    assert await answer_to(client, {}) == (400, "invalid_decision")
    assert await answer_to(client, {"decision": "allow"}) == (400, "invalid_digest")
    assert await answer_to(client, {**allow, "digest": "0" * 64}) == (409, "changed_call")
    assert await answer_to(client, {**allow, "why": "x"}) == (400, "unknown_field")
    for other in ("call_b", "call%00_a"):
        assert await answer_to(client, allow, api_address(turn, other)) == (409, "not_waiting")
    approvals = f"/api/chats/{turn.conversation_id}/approvals"
    assert await answer_to(stranger, allow, f"{approvals}/call_a/") == (404, "not_found")
    assert await answer_to(client, allow, f"{approvals}/call_b/") == (409, "not_waiting")
    assert (await (await signed_in(bob)).post(address(turn))).status_code == 404
    assert await answer_to(client, allow, f"{approvals}/call_a/") == (204, "")
    assert (await ended(conversation)).status == "completed"
    assert await answer_to(client, allow) == (409, "not_waiting")


async def test_api_decides_on_the_call_that_waits_where_an_earlier_one_has_its_id(upstream, conversation, alice):
    upstream.script([STEP, STEP, DONE])
    client = await client_of(alice)
    await send(conversation, "Why?")
    await waiting(conversation)
    await client.post(f"/api/chats/{conversation.pk}/stop/")
    await ended(conversation)
    await send(conversation, "Again?")
    turn = await waiting(conversation)

    allow = {"decision": "allow", "digest": turn.waiting_digest}
    url = f"/api/chats/{conversation.pk}/approvals/{turn.waiting_call}/"
    answer = await client.post(url, json.dumps(allow), content_type="application/json")

    assert answer.status_code == 204
    assert (await ended(conversation, 2)).status == "completed"


@pytest.mark.parametrize("shows_trace", [True, False])
async def test_call_can_be_decided_on_where_no_trace_is_shown(upstream, conversation, settings, shows_trace):
    settings.REASONING_TOOL_TRACE_DEFAULT = settings.REASONING_ENABLED = shows_trace
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)

    assert address(turn) in await page_of(conversation)
    assert (await envelope_of(conversation))["toolTrace"][-1]["callId"] == "call_a"
    await decided(turn, "allow")
    await ended(conversation)
    assert len((await envelope_of(conversation))["toolTrace"]) == shows_trace


async def test_events_name_the_call_that_waits(upstream, conversation, alice):
    upstream.script([STEP, DONE])
    client = await client_of(alice)
    running = asyncio.create_task(streamed(await post(client, conversation, {"text": "Why?"}, **EVENTS)))
    await decided(await waiting(conversation), "allow")
    _texts, names, envelope = await running

    assert names == ["start", "tool_step", "permission", "tool_step", "done"]
    assert [step["status"] for step in envelope["toolTrace"]] == ["ok"]


@pytest.mark.parametrize("listens", [True, False])
async def test_decision_of_another_process_is_heard_or_found(upstream, conversation, listens, monkeypatch):
    monkeypatch.setattr(approval, "LOOK_AGAIN_S", 600 if listens else 0.05)
    listening = asyncio.create_task(turn_manager.listen_to_other_processes()) if listens else None
    await asyncio.sleep(0)
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    elsewhere = TurnManager()
    turn = await waiting(conversation)
    await elsewhere.decide(turn, "call_a", "allow", turn.waiting_digest)

    assert (await ended(conversation)).status == "completed"
    if listening:
        listening.cancel()


async def taken_up() -> TurnManager:
    """Return a process that has taken up what dead ones left; its end hands over again."""
    manager = TurnManager()
    recovering = asyncio.create_task(manager.recover_abandoned())
    for _try in range(500):
        if manager._run_tasks:
            break
        await asyncio.sleep(0.02)
    recovering.cancel()
    return manager


async def shown_on_page(conversation: Conversation, text: str) -> None:
    """Wait until the page has a text; other processes read what a turn shows from its checkpoint."""
    for _try in range(500):
        if text in await page_of(conversation):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(text)


async def left_waiting(conversation: Conversation, *, how: str) -> Turn:
    """Ask in a process that ends while the call waits: killed, or shut down."""
    dead = TurnManager()
    await dead.submit(conversation.pk, Message("Why?"), may_queue=False)
    turn = await waiting(conversation)
    if how == "killed":
        for run in dead._runs.values():
            run.calls.approvals.is_handed_over = True  # it writes nothing more
        await database_sync_to_async(abandon)(turn)
        for task in dead._run_tasks:
            task.cancel()
    await dead.drain(within_s=5)
    return turn


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "shut down"])
@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_call_waits_on_after_its_process_has_ended(upstream, conversation, how, decision, when):
    """The decision may come while no process runs the turn."""
    upstream.script([{"content": "Let me look. ", **STEP}, DONE, {"content": "Next."}])
    turn = await left_waiting(conversation, how=how)
    if when == "before":
        assert await decided(turn, decision) == 204
    manager = await taken_up()
    if when == "after":
        await shown_on_page(conversation, address(turn))
        assert await decided(turn, decision) == 204
    turn = await ended(conversation)

    assert turn.status == "completed"
    assert await decisions(turn) == [("call_a", decision, "user")]
    [step] = (await envelope_of(conversation))["toolTrace"]
    assert step["status"] == ("ok" if decision == "allow" else "denied")
    assert (await envelope_of(conversation))["answer"].endswith("Done.")
    await send(conversation, "And?")
    await ended(conversation, 2)
    assert upstream.refusals() == []
    await manager.drain(within_s=5)


async def test_call_that_waits_only_during_a_shutdown_is_left_to_the_next_process(upstream, conversation):
    """It has not begun: nobody loses an answer, or an approval, because a server is restarted."""
    upstream.script([{**STEP, "faults": [{"kind": "stall", "at": "first_event", "name": "go"}]}, DONE])
    ending = TurnManager()
    await ending.submit(conversation.pk, Message("Why?"), may_queue=False)
    await asyncio.to_thread(upstream.wait_for, held="go")
    draining = asyncio.create_task(ending.drain(within_s=30))
    await asyncio.sleep(0)
    upstream.release("go")
    await draining
    turn = await waiting(conversation)
    manager = await taken_up()
    assert await decided(turn, "allow") == 204

    assert (await ended(conversation)).status == "completed"
    await manager.drain(within_s=5)


async def test_deadline_of_a_call_is_kept_by_the_next_process(upstream, conversation, settings):
    settings.APPROVAL_TIMEOUT_S = 600
    upstream.script([STEP, DONE])
    turn = await left_waiting(conversation, how="killed")
    await Turn.objects.filter(pk=turn.pk).aupdate(waiting_until=turn.started_at)

    assert await decided(turn, "allow") == 409
    manager = await taken_up()
    turn = await ended(conversation)

    assert await decisions(turn) == [("call_a", "deny", "timeout")]
    await manager.drain(within_s=5)


async def test_process_that_lost_the_turn_takes_no_decision(upstream, conversation):
    """A slow process wakes up behind the one that has taken its turn over."""
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    taken_over = Turn(pk=turn.pk, conversation=conversation, worker="elsewhere:1:x", status="running")
    await decided(turn, "allow")

    take = database_sync_to_async(approval._take_decision)
    assert await take(taken_over, turn.waiting_digest, "", is_last=False) is None
    assert await decisions(await ended(conversation)) == [("call_a", "allow", "user")]


async def test_decision_survives_a_connection_that_breaks_when_it_was_taken(upstream, conversation, monkeypatch):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    take, broken = approval._take_decision, []

    def take_and_break(*args: Any, **options: Any) -> Any:
        taken = take(*args, **options)
        if taken and not broken:
            broken.append(taken)
            raise OperationalError("server closed the connection unexpectedly")
        return taken

    monkeypatch.setattr(approval, "_take_decision", take_and_break)
    await decided(turn, "allow")

    assert await decisions(await ended(conversation)) == [("call_a", "allow", "user")]
    assert broken


async def test_calls_that_were_answered_before_a_restart_do_not_run_again(upstream, conversation):
    calls = [{"name": "readPassage", "arguments": "{}", "id": "call_r"}, call(1, "call_a"), call(2, "call_b")]
    upstream.script([{"tool_calls": calls}, DONE])
    turn = await left_waiting(conversation, how="killed")
    manager = await taken_up()
    await decided(turn, "allow")
    await decided(await waiting_after(conversation, "call_a"), "deny", "call_b")
    turn = await ended(conversation)

    assert [step["status"] for step in (await envelope_of(conversation))["toolTrace"]] == ["error", "ok", "denied"]
    results = [event.call_id for event in await events_of(turn) if isinstance(event, ToolResult)]
    assert results == ["call_r", "call_a", "call_b"]
    await manager.drain(within_s=5)


async def test_decision_on_a_call_that_was_shown_otherwise_is_refused(upstream, conversation):
    upstream.script([STEP, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)

    assert await decided(turn, "allow", digest="f" * 64) == 409
    assert await decided(turn, "allow", digest="%00") == 409
    assert (await waiting(conversation)).waiting_digest == turn.waiting_digest
    assert await decided(turn, "deny") == 204


async def test_decision_counts_for_one_call_of_the_same_arguments(upstream, conversation):
    """An identical call has another digest: a decision can't be replayed."""
    upstream.script([STEP, {"tool_calls": [call(1, "call_a")]}, DONE])
    await send(conversation, "Why?")
    first = await waiting(conversation)
    await decided(first, "allow")
    second = await waiting_after(conversation, "call_a")

    assert await decided(second, "allow", second.waiting_call, digest=first.waiting_digest) == 409
    assert await decided(second, "deny", second.waiting_call) == 204
    assert [word for _id, word, _by in await decisions(await ended(conversation))] == ["allow", "deny"]


async def test_always_holds_for_arguments_of_one_shape(upstream, conversation):
    other = {"name": "searchFilings", "id": "call_b", "arguments": '{"query": "turbines", "limit": 3}'}
    same = {"name": "searchFilings", "id": "call_c", "arguments": '{"limit": 4, "query": "blades"}'}
    upstream.script([STEP, {"tool_calls": [other]}, {"tool_calls": [same, call(2, "call_d")]}, DONE])
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "always")
    await decided(await waiting_after(conversation, "call_a"), "always", "call_b")
    turn = await ended(conversation)

    assert [by for _id, _word, by in await decisions(turn)] == ["user", "user", "always", "always"]
    [listed] = (await (await owner_of(conversation)).get("/api/chats/")).json()
    assert listed["allowedTools"] == ["searchFilings(limit: number, query: string)", "searchFilings(query: string)"]


async def test_name_of_an_argument_that_no_tool_has_is_not_stored_as_it_is(upstream, conversation):
    """What a model writes as a name may be private."""
    notes = {"name": "searchFilings", "arguments": '{"<scratchpad>heron notes": 1, "query": "x"}', "id": "call_a"}
    upstream.script([{"tool_calls": [notes]}, DONE])
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "always")
    await ended(conversation)
    await conversation.arefresh_from_db()

    [shape] = conversation.allowed_tools
    assert re.fullmatch(r"searchFilings\([0-9a-f]{16}: number, query: string\)", shape)


def nested(depth: int) -> str:
    return '{"query": "turbines", "deep": ' + "[" * depth + "]" * depth + "}"


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', nested(100), nested(800), nested(20_000)])
async def test_always_is_not_kept_for_arguments_without_a_shape(upstream, conversation, arguments):
    broken = [{"name": "searchFilings", "arguments": arguments, "id": each} for each in ("call_a", "call_b")]
    upstream.script([{"tool_calls": broken[:1]}, {"tool_calls": broken[1:]}, DONE])
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "always")
    await decided(await waiting_after(conversation, "call_a"), "deny", "call_b")

    turn = await ended(conversation)
    assert turn.status == "completed"
    assert [by for _id, _word, by in await decisions(turn)] == ["user", "user"]


async def test_answer_asks_its_user_a_limited_number_of_times(upstream, conversation, settings):
    settings.MAX_APPROVALS_PER_TURN = 1
    upstream.script([{"tool_calls": [call(1, "call_a"), call(2, "call_b")]}, DONE])
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "allow")
    turn = await ended(conversation)

    assert await decisions(turn) == [("call_a", "allow", "user")]
    [_first, second] = (await envelope_of(conversation))["toolTrace"]
    assert (second["status"], second["error"]) == ("denied", "Denied: too many calls had to wait.")


async def test_calls_behind_the_one_that_waits_are_shown_as_queued(upstream, conversation):
    upstream.script([{"tool_calls": [call(1, "call_a"), call(2, "call_b")]}, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)
    page = await page_of(conversation)
    await decided(turn, "deny")
    await decided(await waiting_after(conversation, "call_a"), "deny", "call_b")

    assert page.count('data-state="waiting"') == 2  # in the question to the user, and in the trace
    assert page.count('data-state="queued"') == 1
    assert "Searching filings…" not in page  # in the head of the trace, of the one that is queued
    assert (await ended(conversation)).status == "completed"


async def test_calls_of_one_id_are_decided_on_one_by_one(upstream, conversation):
    upstream.script([{"tool_calls": [call(1, "same"), call(1, "same")]}, {"tool_calls": [call(1, "same")]}, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation, "same")
    assert await decided(turn, "allow", "same") == 204
    second = (await waiting_after(conversation, "same")).waiting_call
    assert await decided(turn, "allow", "same") == 409  # a second click decides nothing
    assert await decided(turn, "deny", second) == 204
    third = (await waiting_after(conversation, "same", second)).waiting_call
    assert len({"same", second, third}) == 3
    assert await decided(turn, "allow", third) == 204

    assert (await ended(conversation)).status == "completed"
    assert [word for _id, word, _by in await decisions(turn)] == ["allow", "deny", "allow"]
    statuses = [step["status"] for step in (await envelope_of(conversation))["toolTrace"]]
    assert statuses == ["ok", "denied", "ok"]


async def waiting_after(conversation: Conversation, *earlier: str) -> Turn:
    for _try in range(1500):
        turn = await waiting(conversation)
        if turn.waiting_call not in earlier:
            return turn
        await asyncio.sleep(0.02)
    raise AssertionError(earlier)


@pytest.mark.parametrize("call_id", ["a/b c?d=é#", "x" * 300, "call_" + "9" * 80])
async def test_call_of_any_id_can_be_decided_on(upstream, conversation, call_id):
    upstream.script([{"tool_calls": [call(1, call_id)]}, DONE])
    await send(conversation, "Why?")
    turn = await waiting(conversation)

    assert address(turn, turn.waiting_call) in await page_of(conversation)
    assert await decided(turn, "allow", turn.waiting_call) == 204
    assert (await ended(conversation)).status == "completed"
    assert [found for found, _word, _by in await decisions(turn)] == [call_id]


async def test_tool_may_declare_that_it_needs_approval(upstream, conversation, settings, monkeypatch):
    settings.TOOLS_REQUIRING_APPROVAL = []
    monkeypatch.setitem(registry(), "readPassage", replace(registry()["readPassage"], requires_approval=True))
    upstream.script([{"tool_calls": [{"name": "readPassage", "arguments": "{}", "id": "call_a"}, call(1)]}, DONE])
    await send(conversation, "Why?")
    await decided(await waiting(conversation), "deny")
    turn = await ended(conversation)

    assert await decisions(turn) == [("call_a", "deny", "user")]
    assert turn.status == "completed"


async def test_other_tools_run_at_once(upstream, conversation):
    upstream.script([{"tool_calls": [{"name": "readPassage", "arguments": "{}"}, {"name": "fly"}]}, DONE])
    await send(conversation, "Why?")
    turn = await ended(conversation)

    assert turn.status == "completed"
    assert await decisions(turn) == []
