"""Recovery from requests that a service refuses: retry, compaction, omitted items, named settings."""

import json
import re
from itertools import pairwise

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from chat.conversations import actions, reasoning_settings
from chat.models import Conversation, Event
from reasoning.replay.dialects import dialect_named
from replay_contract_server.script import WORDINGS
from tests.chat.asking import ask, events_of, kinds, owner_of
from tests.chat.histories import KINDS, LONG, Talk, cut

pytestmark = pytest.mark.django_db(transaction=True)
INSISTING = [model for model, kind in KINDS.items() if kind.needs_reasoning]
# Those that also want the thinking of calls of earlier turns.
INSISTING_LATER = [model for model in INSISTING if dialect_named(KINDS[model].dialect).needs != "running calls"]
NEXT_YEAR = "Fri, 31 Dec 2100 23:59:59 GMT"
change = database_sync_to_async(reasoning_settings.replace)


@pytest.fixture
def talk(upstream, turn_manager, conversation):
    return Talk(upstream, turn_manager, conversation)


def verdicts(talk: Talk) -> list[str]:
    return [request["verdict"] for request in talk.upstream.requests()]


def kinds_sent(talk: Talk) -> list[list[str]]:
    return [[item["type"] for item in request["body"]["input"]] for request in talk.upstream.requests()]


@pytest.mark.spec("product 31")
@pytest.mark.parametrize("model", [model for model in INSISTING if KINDS[model].dialect != "kimi-preserved"])
async def test_service_that_insists_needs_no_settings(talk, model):
    await talk.choose(KINDS[model], reasoning={})

    turns = [await talk.ask(talk.step(), talk.answer()) for _again in range(2)]

    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert set(verdicts(talk)) == {"accepted"}


@pytest.mark.spec("replay D4")
@pytest.mark.spec("001 EC-005")
@pytest.mark.parametrize("model", INSISTING_LATER)
async def test_refusal_of_what_a_person_holds_back_names_the_setting(talk, model):
    await talk.choose(KINDS[model], reasoning={"reasoning.includeInContext": False})
    await talk.ask(talk.step(), talk.answer())

    failed = await talk.ask(talk.answer())
    await change(talk.conversation.pk, {"reasoning.includeInContext": True})
    turn = await talk.ask(talk.answer())

    assert (failed.status, failed.error_code) == ("errored", "refused")
    assert failed.error_reason == "missing_reasoning"
    assert turn.status == "completed"


@pytest.mark.spec("replay D6")
async def test_rejected_ciphertext_is_retried_once_without_items(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.step(), talk.answer())

    turn = await talk.ask({**talk.answer(), "faults": [{"kind": "reject_ciphertext"}]})

    assert turn.status == "completed"
    assert verdicts(talk)[2:] == ["fault", "accepted"]
    refused, again = kinds_sent(talk)[2:]
    assert "reasoning" in refused
    assert again == [kind for kind in refused if kind != "reasoning"]


REJECTED = {"faults": [{"kind": "reject_ciphertext"}]}


def ids_sent(talk: Talk) -> list[list[str]]:
    """Return the ids of the reasoning items in each request."""
    bodies = [request["body"] for request in talk.upstream.requests()]
    return [[item["id"] for item in body["input"] if item.get("type") == "reasoning"] for body in bodies]


@pytest.mark.spec("replay D6")
@pytest.mark.spec("product 21")
async def test_refused_items_stay_in_the_log_and_newer_ones_are_sent(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.step(), talk.answer())

    healed = await talk.ask({**talk.step(), **REJECTED}, talk.step(), talk.answer())
    later = await talk.ask(talk.step(), talk.answer())

    assert (healed.status, later.status) == ("completed", "completed")
    assert verdicts(talk) == [*["accepted"] * 2, "fault", *["accepted"] * 5]
    new = ["rs_3", "rs_4", "rs_5", "rs_6"]
    assert ids_sent(talk) == [[], ["rs_1"], ["rs_1", "rs_2"], [], new[:1], new[:2], new[:3], new]
    assert await Event.objects.filter(type="reasoning", sealed__isnull=False).acount() == 7


@pytest.mark.spec("product 21")
async def test_items_made_since_may_be_refused_as_well(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.answer())

    turn = await talk.ask({**talk.step(), **REJECTED}, {**talk.step(), **REJECTED}, talk.answer())

    assert turn.status == "completed"
    assert verdicts(talk) == ["accepted", "fault", "accepted", "fault", "accepted", "accepted"]
    assert ids_sent(talk) == [[], ["rs_1"], [], ["rs_2"], [], ["rs_3"]]


@pytest.mark.spec("product 21")
async def test_refusal_holds_for_one_model_of_one_conversation(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.answer())
    await talk.choose(KINDS["gpt-5.4"])
    await talk.ask(talk.answer())
    await talk.ask({**talk.answer(), **REJECTED})
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.answer())

    assert ids_sent(talk) == [[], [], ["rs_2"], [], ["rs_1"]]
    assert await Conversation.objects.exclude(refused_items={}).acount() == 1


@pytest.mark.spec("product 21")
async def test_refusal_holds_on_every_branch_for_what_was_there(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    first = await talk.ask(talk.answer())
    await talk.ask({**talk.answer(), **REJECTED})
    talk.upstream.script([talk.answer(), talk.answer()])
    again = await talk.turn_manager.retry(first)
    await talk.turn_manager.wait_until_finished(talk.conversation.pk, again.turn_id)
    await talk.ask(talk.answer())
    await database_sync_to_async(actions.select_branch)(first)
    await talk.ask(talk.answer())

    assert ids_sent(talk) == [[], ["rs_1"], [], [], ["rs_3"], ["rs_2"]]
    assert verdicts(talk).count("fault") == 1


@pytest.mark.spec("product 21")
async def test_refused_details_are_left_out_with_their_step(talk):
    await talk.choose(KINDS["vendor/model-a"])
    await talk.ask(talk.step(), talk.answer())

    turn = await talk.ask({**talk.step(), **REJECTED}, talk.answer())
    await talk.ask(talk.answer())

    assert turn.status == "completed"
    assert verdicts(talk) == ["accepted", "accepted", "fault", "accepted", "accepted", "accepted"]


@pytest.mark.spec("product 21")
async def test_preview_names_the_rule_by_which_refused_items_are_left_out(talk):
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.ask(talk.answer())
    await talk.ask({**talk.answer(), **REJECTED})
    await User.objects.filter(pk=talk.conversation.owner_id).aupdate(is_superuser=True)

    page = await (await owner_of(talk.conversation)).get(f"/chats/{talk.conversation.pk}/preview/")

    text = page.content.decode()
    assert "product 21" in text
    assert "The service refused its own sealed thinking" in text


@pytest.mark.spec("replay D6")
async def test_rejected_ciphertext_in_a_tool_loop_repeats_no_tool(talk):
    await talk.choose(KINDS["gpt-5-mini"])

    turn = await talk.ask(talk.step(), {**talk.answer(), "faults": [{"kind": "reject_ciphertext"}]})

    assert turn.status == "completed"
    assert verdicts(talk) == ["accepted", "fault", "accepted"]
    assert await Event.objects.filter(type="tool_call").acount() == 1


@pytest.mark.spec("replay 2.10")
@pytest.mark.parametrize(
    ("after", "tries"),
    [(0, 2), (0.01, 2), ("0.02", 2), ({"ms": 15}, 2), (None, 2), ("soon", 2), (3600, 1), (NEXT_YEAR, 1)],
    ids=str,
)
async def test_rate_limit_is_retried_after_the_stated_time(talk, after, tries):
    await talk.choose(KINDS["plain-model"])
    busy = {"kind": "rate_limit", "retry_after": after}

    turn = await talk.ask({**talk.answer(), "faults": [busy]})

    assert turn.status == ("completed" if tries == 2 else "errored")
    assert len(verdicts(talk)) == tries


@pytest.mark.spec("replay 2.10")
@pytest.mark.parametrize("model", ["plain-model", "gpt-5-mini"])
async def test_server_error_is_retried_wherever_it_is_in_a_turn(talk, model):
    await talk.choose(KINDS[model])
    failure = {"faults": [{"kind": "server_error"}]}

    before = await talk.ask({**talk.step(), **failure}, talk.answer())
    after = await talk.ask(talk.step(), {**talk.answer(), **failure})

    assert (before.status, after.status) == ("completed", "completed")
    assert verdicts(talk) == ["fault", "accepted", "accepted", "accepted", "fault", "accepted"]


@pytest.mark.spec("replay 2.10")
@pytest.mark.parametrize("content", ["", "\n\n"])
async def test_response_with_nothing_in_it_is_asked_for_once_more(talk, content):
    await talk.choose(KINDS["plain-model"])
    empty = {"content": content}

    saved = await talk.ask(talk.step(), empty, talk.answer(text="So."))
    lost = await talk.ask(empty, empty)
    after = await talk.ask(talk.answer())

    assert [turn.status for turn in (saved, lost, after)] == ["completed"] * 3
    assert "assistant_message" in kinds(await events_of(saved))
    assert "assistant_message" not in kinds(await events_of(lost))
    assert verdicts(talk) == ["accepted"] * 6


@pytest.mark.spec("replay 2.10")
@pytest.mark.parametrize("reply", [{"content": "", "finish": "length"}, {"reasoning": "Hm.", "content": ""}])
async def test_response_that_was_cut_or_thought_is_not_asked_for_again(talk, reply):
    await talk.choose(KINDS["plain-model"])

    await talk.ask(reply)

    assert len(verdicts(talk)) == 1


@pytest.mark.spec("product 40")
async def test_answer_of_a_gateway_that_waited_too_long_is_asked_for_again(talk):
    await talk.choose(KINDS["plain-model"])
    late = {"faults": [{"kind": "http_error", "status": 504, "body": "html"}]}

    turn = await talk.ask({**talk.step(), **late}, {**talk.answer(), **late})

    assert turn.status == "completed"
    assert verdicts(talk) == ["fault", "accepted", "fault", "accepted"]


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize(
    ("said", "id_chars", "content"),
    [
        ("Invalid 'messages[2].tool_calls[0].id': string too long.", 9, None),
        ("Invalid value for 'content': expected a string, got null.", None, ""),
        ('can only concatenate str (not "NoneType") to str', None, ""),
    ],
)
async def test_form_of_a_call_that_was_refused_is_changed_for_good(talk, said, id_chars, content):
    await talk.choose(KINDS["plain-model"])
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said}]}

    turns = [await talk.ask(talk.step(), {**talk.answer(), **refused}), await talk.ask(talk.answer())]

    bodies = [request["body"]["messages"] for request in talk.upstream.requests()]
    calling = [message for messages in bodies for message in messages if message.get("tool_calls")]
    lengths = [len(message["tool_calls"][0]["id"]) for message in calling]
    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert verdicts(talk) == ["accepted", "fault", "accepted", "accepted"]
    assert lengths[1:] == [id_chars or lengths[0]] * 2
    assert [message["content"] for message in calling] == [None, content, content]


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize(
    "said", ['json: unknown field "reasoning_content"', "Unrecognized key(s) in object", "Bad request"]
)
async def test_readable_thinking_that_was_refused_is_left_out_for_good(talk, said):
    await talk.choose(KINDS["plain-model"])
    await talk.ask(talk.answer())
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said}]}

    turns = [await talk.ask({**talk.answer(), **refused}), await talk.ask(talk.answer())]

    sent = ["Thought number" in json.dumps(request["body"]) for request in talk.upstream.requests()]
    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert sent == [False, True, False, False]


@pytest.mark.spec("replay 10")
async def test_thinking_that_a_service_insists_on_is_not_left_out_without_a_word(talk):
    await talk.choose(KINDS["kimi-k2-thinking"])
    await talk.ask(talk.step(), talk.answer())
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": "Bad request"}]}

    await talk.ask({**talk.answer(), **refused})
    turn = await talk.ask(talk.answer())

    assert turn.status == "completed"
    assert "reasoning_refused" not in verdicts(talk)


@pytest.mark.spec("replay 10")
async def test_parallel_calls_that_were_refused_have_a_message_each(talk):
    await talk.choose(KINDS["plain-model"])
    said = "This model only supports single tool-calls at once!"
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said}]}

    turns = [await talk.ask(talk.step(calls=2), {**talk.answer(), **refused}), await talk.ask(talk.answer())]

    bodies = [request["body"]["messages"] for request in talk.upstream.requests()]
    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert verdicts(talk) == ["accepted", "fault", "accepted", "accepted"]
    calls = [[len(message["tool_calls"]) for message in messages if "tool_calls" in message] for messages in bodies]
    assert calls == [[], [2], [1, 1], [1, 1]]


@pytest.mark.spec("replay 10")
async def test_results_without_a_name_that_were_refused_get_one(talk):
    await talk.choose(KINDS["plain-model"])
    said = "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said}]}

    turns = [await talk.ask(talk.step(), {**talk.answer(), **refused}), await talk.ask(talk.answer())]

    bodies = [request["body"]["messages"] for request in talk.upstream.requests()]
    names = [message.get("name") for messages in bodies for message in messages if message["role"] == "tool"]
    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert names == [None, "searchFilings", "searchFilings"]


@pytest.mark.spec("replay 10")
async def test_question_that_a_filter_blocked_does_not_block_the_next(talk):
    await talk.choose(KINDS["plain-model"])
    blocked = {"content": "", "finish": "content_filter"}
    await talk.ask(talk.answer())

    first = await talk.ask(blocked, text="What of the taboo?")
    turn = await talk.ask(blocked, talk.answer())
    later = await talk.ask(talk.answer())

    taboo = ["taboo" in json.dumps(request["body"]["messages"]) for request in talk.upstream.requests()]
    assert [turn.status for turn in (first, turn, later)] == ["completed"] * 3
    assert [first.error_code, turn.error_code] == ["content_filter", ""]
    assert taboo == [False, True, True, False, False]


@pytest.mark.spec("replay 10")
async def test_second_question_in_a_row_that_is_refused_is_sent_without_what_precedes_it(talk):
    await talk.choose(KINDS["strict-model"])
    said = "Input data may contain inappropriate content."
    refused = {"kind": "http_error", "status": 400, "message": said}
    await talk.ask(talk.answer(text="Weapons."))

    failed = await talk.ask({**talk.answer(), "faults": [{**refused, "times": 9}]})
    turns = [await talk.ask({**talk.answer(text="Yes."), "faults": [{**refused, "times": 2}]})]
    turns.append(await talk.ask(talk.answer()))

    bodies = [json.dumps(request["body"]["messages"]) for request in talk.upstream.requests()]
    assert (failed.status, failed.error_reason) == ("errored", "policy")
    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert ["Weapons." in body for body in bodies] == [False, True, True, True, False, False]
    assert "Yes." in bodies[-1]


@pytest.mark.spec("replay 10")
async def test_question_that_is_refused_by_itself_costs_the_conversation_nothing(talk):
    await talk.choose(KINDS["strict-model"])
    refused = {"kind": "http_error", "status": 400, "message": "Input data may contain inappropriate content."}
    await talk.ask(talk.answer(text="Weapons."))

    for _ in range(2):
        failed = await talk.ask({**talk.answer(), "faults": [{**refused, "times": 9}]})
        assert failed.status == "errored"
    turn = await talk.ask(talk.answer())

    assert turn.status == "completed"
    assert "Weapons." in json.dumps(talk.upstream.requests()[-1]["body"]["messages"])


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize("model", ["plain-model", "gpt-5-mini"])
@pytest.mark.parametrize(("status", "code"), [(500, "server_error"), (400, "refused")])
async def test_results_at_which_a_service_fails_are_left_out_of_later_turns(talk, model, status, code):
    await talk.choose(KINDS[model])
    broken = {"faults": [{"kind": "http_error", "status": status, "message": "Oops", "times": 9}]}

    failed = await talk.ask(talk.step(), {**talk.answer(), **broken})
    talk.upstream.script([talk.answer()])
    turn = await talk.ask(talk.answer())

    assert (failed.status, failed.error_code, failed.error_reason) == ("errored", code, "results")
    assert turn.status == "completed"
    assert not re.search(r'"(?:tool_calls|function_call)"', json.dumps(talk.upstream.requests()[-1]["body"]))


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize(
    ("said", "times"),
    [
        ("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", 2),
        ("tool_call_id not found in previous assistant message", 3),  # the form of the id first
    ],
)
async def test_results_that_a_service_names_are_left_out_of_the_same_question(talk, said, times):
    await talk.choose(KINDS["plain-model"])
    await talk.ask(talk.step(), talk.answer())
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said, "times": times}]}

    turn = await talk.ask({**talk.answer(), **refused})

    assert turn.status == "completed"
    assert "tool_calls" not in json.dumps(talk.upstream.requests()[-1]["body"]["messages"])


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize(("model", "times"), [("plain-model", 3), ("gpt-5-mini", 2)])
async def test_results_are_left_out_last_where_a_service_names_nothing(talk, model, times):
    await talk.choose(KINDS[model])
    await talk.ask(talk.step(), talk.answer())
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": "Bad request", "times": times}]}

    turn = await talk.ask({**talk.answer(), **refused})

    assert turn.status == "completed"
    assert verdicts(talk)[2:] == [*["fault"] * times, "accepted"]
    assert "call_id" not in json.dumps(talk.upstream.requests()[-1]["body"])


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize("model", ["plain-model", "gpt-5-mini"])
@pytest.mark.parametrize("later_failures", [0, 3])
async def test_results_are_left_out_after_an_outage_only_if_it_goes_on(talk, model, later_failures):
    await talk.choose(KINDS[model])
    down = {"kind": "http_error", "status": 502, "message": "Oops", "times": 3}

    failed = await talk.ask(talk.step(), {**talk.answer(), "faults": [down]})
    again = {**down, "times": later_failures}
    turn = await talk.ask({**talk.answer(), "faults": [again] if later_failures else []})

    bodies = [json.dumps(request["body"]) for request in talk.upstream.requests()]
    sent = ['"call_id"' in body or '"tool_calls"' in body for body in bodies]
    assert (failed.status, failed.error_code, failed.error_reason) == ("errored", "server_error", "")
    assert turn.status == "completed"
    assert sent[4:] == [*[True] * later_failures, not later_failures]


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize(
    ("said", "times"),
    [
        ("Encrypted content is not supported with this model.", 1),
        ("Invalid 'input[1].id': 'rs1'. Expected an ID that begins with 'rs_'.", 2),  # the ids of calls first
        ("Image content is not supported in input[1]", 1),  # there is none
    ],
)
async def test_items_are_left_out_where_a_refusal_names_something_else(talk, said, times):
    await talk.choose(KINDS["gpt-5-mini"])
    refused = {"faults": [{"kind": "http_error", "status": 400, "message": said, "times": times}]}

    turns = [await talk.ask(talk.step(), {**talk.answer(), **refused}), await talk.ask(talk.answer())]

    assert [turn.status for turn in turns] == ["completed", "completed"]
    assert verdicts(talk) == ["accepted", *["fault"] * times, "accepted", "accepted"]
    assert "rs_1" not in ids_sent(talk)[-1]


@pytest.mark.spec("replay 2.10")
async def test_broken_stream_is_not_retried(talk):
    await talk.choose(KINDS["plain-model"])

    turn = await talk.ask(cut(talk.answer(), 2))

    assert turn.status == "errored"
    assert len(verdicts(talk)) == 1


@pytest.mark.spec("replay 2.8")
@pytest.mark.parametrize(
    "wording", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, len(WORDINGS)))]
)
async def test_context_overflow_compacts_and_retries_once(talk, wording):
    await talk.choose(KINDS["plain-model"])
    await talk.ask(talk.answer(text=LONG * 300))
    summary = {"content": "They talked.", "match": {"last_user_contains": LONG}}
    too_long = {"kind": "context_overflow", "wording": wording}

    turn = await talk.ask(summary, {**talk.answer(), "faults": [too_long]})

    assert turn.status == "completed"
    assert verdicts(talk) == ["accepted", "fault", "accepted", "accepted"]
    assert "They talked." in str(talk.upstream.requests()[-1]["body"]["messages"])


@pytest.mark.spec("replay 2.8")
async def test_second_overflow_ends_the_turn_not_the_conversation(talk):
    await talk.choose(KINDS["plain-model"])
    await talk.ask(talk.answer(text=LONG * 300))
    summary = {"content": "They talked.", "match": {"last_user_contains": LONG}}

    turn = await talk.ask(summary, {**talk.answer(), "faults": [{"kind": "context_overflow", "times": 9}]})

    assert (turn.status, turn.error_code) == ("errored", "context_overflow")
    assert verdicts(talk) == ["accepted", "fault", "accepted", "fault"]
    assert (await talk.ask(talk.answer())).status == "completed"


@pytest.mark.spec("replay 2.7")
@pytest.mark.parametrize("model", ["kimi-k2-thinking", "deepseek-v4-pro", "gpt-5-mini", "plain-model"])
async def test_each_request_begins_with_the_one_before(talk, model, settings):
    settings.MAX_STEPS = 12
    await talk.choose(KINDS[model])

    turn = await talk.ask(*(talk.step() for _ in range(10)), talk.answer())

    requests = talk.upstream.requests()
    part = "input" if KINDS[model].speaks_responses else "messages"
    bodies = [request["body"] for request in requests]
    assert turn.status == "completed"
    assert len(bodies) == 11
    for before, after in pairwise(bodies):
        assert after[part][: len(before[part])] == before[part]
        assert after["tools"] == before["tools"]
        assert after.get("instructions") == before.get("instructions")


async def test_unexplained_refusal_names_the_settings_that_held_back_reasoning(upstream, conversation, settings):
    settings.OPENAI_MODEL = "vendor/model-a"
    await database_sync_to_async(reasoning_settings.change)(conversation.pk, {"reasoning.includeInContext": False})
    call = {"name": "searchFilings", "arguments": '{"query": "sales"}'}
    upstream.script([{"reasoning": "Look first.", "tool_calls": [call]}, {"content": "Done."}])

    turn = await ask(conversation)

    assert turn.status == "errored"
    assert turn.error_reason == "maybe_missing_reasoning"
