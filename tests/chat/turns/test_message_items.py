"""Several message items of one Responses answer: shown apart, stored and sent back in their places (product 20)."""

from typing import Any

import pytest
from channels.db import database_sync_to_async

from chat.models import Conversation, Event
from replay_contract_server.fixture import ContractHandle
from tests.chat.api_client import EVENTS, client_of, post, streamed
from tests.chat.asking import ask, owner_of
from tests.chat.histories import KINDS, Talk, restart, stalled
from tests.factories import make_profile

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("002 decision 2"),
    pytest.mark.spec("product 20"),
]
Item = dict[str, Any]
THOUGHT: Item = {"type": "reasoning", "summary": ["Looking."]}
CALL: Item = {"type": "function_call", "name": "searchFilings", "arguments": '{"query": "ratio"}'}
SECTIONS = "Reasoning Summary\n- One point here.\n- Two points here.\n\nFinal Answer\nThe ratio was 1.31."
DONE: Item = {"content": "So it is."}
CHECK = "I will check the filing first."
RATIO = "The ratio was 1.31."


def said(text: str, **more: str) -> Item:
    return {"type": "message", "text": text, **more}


@pytest.fixture(autouse=True)
def responses(upstream, settings):
    settings.OPENAI_API, settings.OPENAI_MODEL = "responses", "gpt-5-mini"


def sent(upstream: ContractHandle) -> list[str]:
    """Return what the newest request holds after the first question: reasoning ids, calls and texts."""
    names = []
    for item in upstream.requests()[-1]["body"]["input"][1:]:
        match item.get("type"):
            case "reasoning":
                names.append(item["id"])
            case "function_call" | "function_call_output":
                names.append({"function_call": "call", "function_call_output": "output"}[item["type"]])
            case _:
                names.append(item["content"])
    return names


# Items of the first response, the answer that is shown, and what the next request holds of it. Product 20.
SHAPES: dict[str, tuple[list[Item], str, list[str]]] = {
    "two thoughts": (
        [THOUGHT, said(CHECK), THOUGHT, said(RATIO)],
        f"{CHECK}\n\n{RATIO}",
        ["rs_1", CHECK, "rs_2", RATIO],
    ),
    "around a call": (
        [said("Before."), THOUGHT, CALL, THOUGHT, said("After.")],
        "Before.\n\nAfter.\n\nSo it is.",
        ["Before.", "rs_1", "call", "rs_2", "After.", "output"],
    ),
    "commentary before sections": (
        [THOUGHT, said("Commentary about what I do."), said(SECTIONS)],
        f"Commentary about what I do.\n\n{RATIO}",
        ["rs_1", "Commentary about what I do.", RATIO],
    ),
    "one beside calls": (
        [THOUGHT, said(CHECK), THOUGHT, CALL],
        f"{CHECK}\n\nSo it is.",
        ["rs_1", CHECK, "rs_2", "call", "output"],
    ),
    "message, call, message": (
        [said(CHECK), CALL, said(RATIO)],
        f"{CHECK}\n\n{RATIO}\n\nSo it is.",
        [CHECK, "call", RATIO, "output"],
    ),
    "three messages": (
        [said("One."), said("Two.\n"), THOUGHT, said("Three.")],
        "One.\n\nTwo.\n\nThree.",
        ["One.", "Two.", "rs_1", "Three."],
    ),
    "refusal": (
        [said(CHECK), THOUGHT, said("Here is half.", refusal="I can’t say the rest.")],
        f"{CHECK}\n\nHere is half.\n\nI can’t say the rest.",
        [CHECK, "rs_1", "Here is half.\n\nI can’t say the rest."],
    ),
    "a message that shows nothing": (
        [said(CHECK), THOUGHT, said("<think>Hidden.</think>"), THOUGHT, said(RATIO)],
        f"{CHECK}\n\n{RATIO}",
        [CHECK, "rs_1", "rs_2", RATIO],
    ),
    "a thought without its end": ([said("<think>Hidden."), THOUGHT, said(RATIO)], RATIO, ["rs_1", RATIO]),
}
FORMS: dict[str, dict[str, Any]] = {
    "in order": {},
    "done events in reverse": {"done_order": "reversed"},
    "deltas in turn": {"interleaved": True},
    "deltas in turn, done in reverse": {"interleaved": True, "done_order": "reversed"},
    "without final items": {"omit_completed_output": True},
    "items in the snapshot alone": {"omit_reasoning_done": True},
}
CELLS = [
    pytest.param(shape, form, marks=[] if (row + column) % 6 == 0 else pytest.mark.slow)
    for row, shape in enumerate(SHAPES)
    for column, form in enumerate(FORMS)
]


@pytest.mark.parametrize(("shape", "form"), CELLS)
async def test_messages_are_shown_apart_and_sent_back_in_their_places(upstream, alice, conversation, shape, form):
    items, shown, replayed = SHAPES[shape]
    replies = [{"items": items}, *([DONE] if CALL in items else []), {"content": "Next."}]
    upstream.script(replies, knobs=FORMS[form])
    client = await client_of(alice)

    live, _names, envelope = await streamed(await post(client, conversation, {"text": "Why?"}, **EVENTS))
    stored = (await client.get(f"/api/chats/{conversation.pk}/messages/")).json()[-1]
    await ask(conversation, "And?")

    assert live["answer"] == envelope["answer"] == stored["answer"] == shown
    assert sent(upstream)[: len(replayed)] == replayed
    assert upstream.refusals() == []


async def test_summary_is_read_from_the_last_message_that_has_one(upstream, conversation):
    upstream.script([{"items": [THOUGHT, said("Commentary about what I do."), said(SECTIONS), said("That is all.")]}])

    turn = await ask(conversation)

    listed = await (await owner_of(conversation)).get(f"/api/chats/{conversation.pk}/messages/")
    envelope = listed.json()[-1]
    assert envelope["reasoningSummary"] == ["One point here.", "Two points here."]
    assert envelope["summarySource"] == turn.summary_source == "model"
    assert envelope["answer"] == f"Commentary about what I do.\n\n{RATIO}\n\nThat is all."


async def test_phase_goes_back_to_the_model_that_gave_it(upstream, conversation):
    items = [said(CHECK, phase="commentary"), THOUGHT, CALL]
    answer = [said(RATIO, phase="final_answer")]
    upstream.script([{"items": items}, {"items": answer}, {"content": "Next."}])

    await ask(conversation)
    await ask(conversation, "And?")

    phases = [[item.get("phase") for item in body["input"] if item.get("role")] for body in bodies(upstream)]
    assert phases == [[None], [None, "commentary"], [None, "commentary", "final_answer", None]]


async def test_phase_that_its_model_refuses_is_left_out(upstream, conversation):
    refused = {"kind": "http_error", "status": 400, "message": "Unknown parameter: 'input[1].phase'."}
    answer = [said(RATIO, phase="final_answer")]
    upstream.script([{"items": [said(CHECK, phase="commentary"), CALL]}, {"items": answer, "faults": [refused]}, DONE])

    turn = await ask(conversation)
    await ask(conversation, "And?")

    assert turn.status == "completed"
    phases = [[item["phase"] for item in body["input"] if "phase" in item] for body in bodies(upstream)]
    assert phases == [[], ["commentary"], [], ["final_answer"]]


async def test_phase_stays_with_its_model_and_endpoint(upstream, conversation):
    first = await database_sync_to_async(make_profile)("first", **profile(upstream, "gpt-5-mini"))
    other = await database_sync_to_async(make_profile)("other", **profile(upstream, "gpt-5.4"))
    upstream.script([{"items": [said(CHECK, phase="commentary"), said(RATIO)]}, DONE, DONE])
    for chosen in (first, other, first):
        await Conversation.objects.filter(pk=conversation.pk).aupdate(profile=chosen)
        await ask(conversation)

    phases = [[item.get("phase") for item in body["input"]] for body in bodies(upstream)]
    assert phases[1].count("commentary") == 0
    assert phases[2][1:3] == ["commentary", None]


def profile(upstream: ContractHandle, model: str) -> dict[str, Any]:
    return {"base_url": upstream.base_url, "model": model, "dialect": "responses-strict", "api": "responses"}


def bodies(upstream: ContractHandle) -> list[dict[str, Any]]:
    return [request["body"] for request in upstream.requests()]


async def test_messages_of_a_response_that_was_cut_are_kept_apart(upstream, conversation):
    cut = [{"kind": "disconnect", "at": "before_done"}]
    upstream.script([{"items": [said(CHECK), THOUGHT, said(RATIO)], "faults": cut}, DONE])

    turn = await ask(conversation)
    await ask(conversation, "And?")

    assert turn.status == "errored"
    texts = [row.public["text"] async for row in Event.objects.filter(turn=turn, type="assistant_message")]
    assert texts == [CHECK, "The ratio was 1.31."]  # a whole number is no half secret
    assert upstream.refusals() == []


async def test_crash_with_several_messages_keeps_what_was_shown(upstream, turn_manager, conversation):
    talk = Talk(upstream, turn_manager, conversation)
    step = {"items": [said("Before."), CALL, said("Behind.")], "chunk": "whole"}
    last = {"items": [said(CHECK), said(RATIO + " And more.")], "chunk": "word"}
    turn = await talk.kill(step, stalled(last, 23), after="The ratio")
    await restart()

    upstream.script([DONE])
    await ask(conversation, "And?")

    texts = [row.public["text"] async for row in Event.objects.filter(turn=turn, type="assistant_message")]
    assert texts[:2] == ["Before.", "Behind."]
    assert "\n\n".join(texts[2:]).startswith(f"{CHECK}\n\nThe ratio")
    assert upstream.refusals() == []


@pytest.mark.slow
async def test_every_other_model_takes_the_messages_and_the_first_gets_them_back(upstream, turn_manager, conversation):
    talk = Talk(upstream, turn_manager, conversation)
    items = [said(CHECK, phase="commentary"), THOUGHT, CALL, said("Between calls, some words."), {**CALL}, THOUGHT]
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask({"items": items}, {"items": [said(RATIO), THOUGHT, said("That is all of it.")]})
    first = sent(upstream)
    for kind in KINDS.values():
        await talk.choose(kind)
        turn = await talk.ask(*talk.looked_up(calls=2))
        assert turn.status == "completed", (kind, turn.error_code, turn.error_reason)
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.answer())

    assert upstream.refusals() == []
    assert first == [CHECK, "rs_1", "call", "Between calls, some words.", "call", "output", "output"]
    assert sent(upstream)[: len(first) + 3] == [*first, RATIO, "rs_3", "That is all of it."]
