"""The Responses API over real HTTP, against the strict upstream."""

import json
from copy import deepcopy
from typing import Any

import httpx2
import pytest

from chat.providers.base import ProviderError, ProviderRequest
from chat.providers.connections import Connection, build_client
from chat.providers.decoding import BodyParser
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_responses import OpenAIResponsesProvider, ResponsesDecoder
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawItem, RawMessage, RawUsage
from replay_contract_server.fixture import ContractHandle
from tests.chat.streams import answer, failure, text

ASK = {"role": "user", "content": "How much?"}
PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look it up.", "parameters": PARAMETERS}}
SUMMARY = ["**Looking**", "It rose."]
STEP = {
    "items": [
        {"type": "reasoning", "summary": SUMMARY},
        {"type": "function_call", "name": "look", "arguments": '{ "query" : "x" }', "call_id": "call_a"},
        {"type": "reasoning"},
        {"type": "message", "text": "One moment, ü."},
        {"type": "function_call", "name": "look", "arguments": {"query": "y"}, "call_id": "call_b"},
    ],
    "chunk": 3,
}
PLACES = [("item", "rs_1"), ("call", "call_a"), ("item", "rs_2"), ("message", ""), ("call", "call_b")]
EVENTS = 30  # of a stream of STEP in pieces of 16 characters


def provider(upstream: ContractHandle, model: str = "gpt-5-mini", **options: Any) -> OpenAIResponsesProvider:
    return OpenAIResponsesProvider(Connection(upstream.base_url, "test-key"), model, **options)


def request(*items: dict[str, Any], tools: tuple[dict[str, Any], ...] = (TOOL,), **body: Any) -> ProviderRequest:
    stateless = {"store": False, "include": ["reasoning.encrypted_content"]}
    return ProviderRequest({"input": [ASK, *items], **stateless, **body}, "Be brief.", tools, "conversation-1")


def items(deltas: list[RawDelta]) -> list[dict[str, Any]]:
    """Return the reasoning items."""
    return [dict(one.item) for one in deltas if isinstance(one, RawItem) and one.item["type"] == "reasoning"]


def places(deltas: list[RawDelta]) -> list[tuple[str, str]]:
    """Return what stands where among the items."""
    found = []
    for delta in deltas:
        if isinstance(delta, RawItem):
            found.append(("item", delta.item["id"]))
        elif isinstance(delta, RawMessage):
            found.append(("message", ""))
        elif isinstance(delta, RawFields):
            found += [("call", call["id"]) for call in delta.fields.get("tool_calls", ())]
    return found


def replayed(deltas: list[RawDelta]) -> list[dict[str, Any]]:
    """Return the items of the next request: as they came, calls and message without ids, then the outputs."""
    back, outputs = [], []
    for delta in deltas:
        if isinstance(delta, RawMessage):
            back.append({"role": "assistant", "content": text(deltas)})
        elif isinstance(delta, RawItem):
            back.append(dict(delta.item))
        elif isinstance(delta, RawFields):
            for call in delta.fields.get("tool_calls", ()):
                back.append({"type": "function_call", "call_id": call["id"], **call["function"]})
                outputs.append({"type": "function_call_output", "call_id": call["id"], "output": "12"})
    return [*back, *outputs]


async def test_answer_streams_and_items_follow_in_their_order(upstream):
    upstream.script([STEP])

    deltas = await answer(provider(upstream), request())

    assert text(deltas) == "One moment, ü."
    assert text(deltas, "reasoning_summary") == "**Looking**\n\nIt rose.\n\n"
    assert places(deltas) == PLACES
    calls = [call for one in deltas if isinstance(one, RawFields) for call in one.fields.get("tool_calls", ())]
    assert [call["function"]["arguments"] for call in calls] == ['{ "query" : "x" }', '{"query":"y"}']
    assert [type(delta) for delta in deltas[-2:]] == [RawUsage, RawEnd]
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["tool_calls"]


async def test_request_is_stateless_and_in_this_api_s_form(upstream):
    upstream.script([{"content": "Yes."}])

    await answer(provider(upstream), request(reasoning={"effort": "low", "summary": "auto"}))

    flat = {"type": "function", "name": "look", "description": "Look it up.", "parameters": PARAMETERS}
    assert upstream.requests()[0]["body"] == {
        "input": [ASK],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "model": "gpt-5-mini",
        "stream": True,
        "instructions": "Be brief.",
        "tools": [{**flat, "strict": False}],
        "prompt_cache_key": "conversation-1",
    }


@pytest.mark.spec("002 decision 1")
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"done_order": "reversed"},
        {"omit_reasoning_done": True},
        {"omit_completed_output": True},
        {"done_order": "reversed", "omit_completed_output": True},
        {"empty_summary": True},
        {"extra_item_keys": {"content": None, "phase": "new", "nested": {"b": [1, None], "a": 1.5}}},
    ],
)
async def test_captured_items_are_accepted_back_verbatim(upstream, knobs):
    upstream.script([STEP, {"content": "It is 12."}], knobs={"pairing": "strict", **knobs})
    asked = provider(upstream)

    deltas = await answer(asked, request())

    assert places(deltas) == PLACES
    assert text(await answer(asked, request(*replayed(deltas)))) == "It is 12."
    assert [one["verdict"] for one in upstream.requests()] == ["accepted", "accepted"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda back: [{**back[0], "encrypted_content": None}, *back[1:]], "not_found_item"),
        (lambda back: [{**back[0], "encrypted_content": back[0]["encrypted_content"] + "x"}, *back[1:]], "ciphertext"),
        (lambda back: [{**back[0], "id": "rs_9"}, *back[1:]], "ciphertext"),
        (lambda back: [back[0]], "unpaired_item"),
    ],
)
async def test_bad_replay_has_a_reason(upstream, spoil, reason):
    upstream.script([STEP, {"content": "x"}])
    asked = provider(upstream)
    back = replayed(await answer(asked, request()))

    _, error = await failure(asked, request(*spoil(back)))

    assert (error.code, error.reason) == ("refused", reason)


@pytest.mark.parametrize(
    ("parameter", "tries"),
    [("prompt_cache_key", [True, False, False]), ("include", [True, False, False]), ("reasoning", [True])],
)
async def test_only_a_parameter_that_changes_no_answer_is_left_out(parameter, tries):
    seen = []
    done = {"type": "response.completed", "response": {"status": "completed", "output": [], "object": "response"}}

    def handle(sent):
        seen.append(parameter in json.loads(sent.content))
        if seen[-1]:
            return httpx2.Response(400, json={"error": {"message": f"Unknown parameter: '{parameter}'."}})
        content = f"data: {json.dumps(done)}\n\n".encode()
        return httpx2.Response(200, content=content, headers={"content-type": "text/event-stream"})

    client = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    asked = OpenAIResponsesProvider(Connection("http://models.example/v1", "k"), "m", client=client)
    for _ in range(2 if len(tries) > 1 else 0):
        assert isinstance((await answer(asked, request(reasoning={})))[-1], RawEnd)
    if len(tries) == 1:
        _, error = await failure(asked, request(reasoning={}))
        assert error.code == "refused"

    assert seen == tries
    await client.close()


@pytest.mark.parametrize("adapter", [OpenAIResponsesProvider, OpenAIChatProvider])
@pytest.mark.parametrize(
    "said",
    [
        {"message": "Your organization must be verified to stream this model.", "param": "stream"},
        {"message": "Provider returned error", "metadata": {"raw": '{"error": {"param": "stream"}}'}},
        {"message": "Streaming is not supported for this model."},
        {"message": "This model does not support streaming."},
        {"message": "This model doesn't support tool use in streaming mode."},
    ],
)
async def test_answer_that_may_not_be_streamed_is_asked_for_whole(adapter, said):
    seen = []
    content = "It is 12."
    whole = {
        "object": "response" if adapter is OpenAIResponsesProvider else "chat.completion",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": content}]}],
        "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
    }

    def handle(sent):
        seen.append(json.loads(sent.content)["stream"])
        return httpx2.Response(400, json={"error": said}) if seen[-1] else httpx2.Response(200, json=whole)

    client = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    asked = adapter(Connection("http://models.example/v1", "k"), "m", client=client)
    question = ProviderRequest({asked.wire.entries_key: [ASK]}, "Be brief.", (), "conversation-1")

    assert [text(await answer(asked, question)) for _again in range(2)] == [content, content]
    assert seen == [True, False, False]
    await client.close()


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ({"error": {"message": "Unknown parameter: 'store'.", "param": "store"}}, [True, False, False]),
        ({"error": {"message": "Unsupported parameter(s): `store`"}}, [True, False, False]),
        ({"message": "store: Extra inputs are not permitted"}, [True, False, False]),  # Databricks
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "store"]}]}, [True, False, False]),
        ({"error": {"message": "Unsupported value: 'store' must be true.", "param": "store"}}, [True, True]),
        ({"error": {"message": "Item with id 'rs_1' not found. Try again with `store` set to true"}}, [True, True]),
        ({"error": {"message": "Unknown parameter: 'tools[0].vector_store_ids' of the vector store."}}, [True, True]),
    ],
    ids=str,
)
async def test_store_is_left_out_only_where_nothing_is_stored(said, seen):
    sent_store = []

    def handle(sent):
        sent_store.append("store" in json.loads(sent.content))
        if sent_store[-1]:
            return httpx2.Response(400, json=said)
        return httpx2.Response(200, json=completed(MESSAGE)["response"])

    client = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    asked = OpenAIResponsesProvider(Connection("http://models.example/v1", "k"), "m", client=client)
    for _again in range(2):
        if seen[-1]:
            await failure(asked, request())
        else:
            assert text(await answer(asked, request())) == "So."

    assert sent_store == seen
    await client.close()


async def test_other_failure_of_a_stream_is_no_refusal_to_stream():
    seen = []

    def handle(sent):
        seen.append(json.loads(sent.content)["stream"])
        return httpx2.Response(500, json={"error": {"message": "The upstream closed the stream: not available."}})

    client = build_client(Connection("http://models.example/v1", "k"), transport=httpx2.MockTransport(handle))
    asked = OpenAIResponsesProvider(Connection("http://models.example/v1", "k"), "m", client=client)

    assert (await failure(asked, request()))[1].code == "server_error"
    assert seen == [True]
    await client.close()


@pytest.mark.parametrize(
    ("finish", "code"),
    [
        ("failed:server_error", "server_error"),
        ("failed:rate_limit_exceeded", "rate_limited"),
        ("failed:context_length_exceeded", "context_overflow"),
        ("cancelled", "server_error"),
    ],
)
async def test_failed_response_has_our_code_and_leaves_no_item(upstream, finish, code):
    upstream.script([{"reasoning": "Hm.", "content": "It ro", "finish": finish}])

    received, error = await failure(provider(upstream), request())

    assert error.code == code
    assert not items(received)


@pytest.mark.parametrize("form", ["response.failed", "error"])
@pytest.mark.parametrize("code", ["rate_limit_exceeded", None])
async def test_error_in_an_open_stream_has_our_code(upstream, form, code):
    upstream.script([{**STEP, "faults": [{"kind": "error_event", "at": "event:6", "event": form, "code": code}]}])

    received, error = await failure(provider(upstream), request())

    assert error.code == ("rate_limited" if code else "server_error")
    assert text(received, "reasoning_summary")


@pytest.mark.parametrize("index", range(0, EVENTS, 4))
async def test_break_before_any_event_is_disconnected(upstream, index):
    fault = {"kind": "disconnect", "at": f"event:{index}", "mode": ("fin", "rst")[index % 2]}
    upstream.script([{**STEP, "chunk": 16, "faults": [fault]}])

    received, error = await failure(provider(upstream), request())

    assert (error.code, error.retryable) == ("disconnected", True)
    assert not any(isinstance(delta, RawEnd) for delta in received)


# Events that leave something out


def decoded(*events: dict[str, Any]) -> list[RawDelta]:
    decoder = ResponsesDecoder()
    found = [delta for event in events for delta in decoder.feed(json.dumps(event).encode())]
    return [*found, *decoder.finish()]


def item_event(kind: str, arguments: Any, **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": arguments, **more}
    return {"type": f"response.output_item.{kind}", "output_index": 0, "item": item}


def arguments_event(kind: str, value: str, **more: Any) -> dict[str, Any]:
    name = "delta" if kind == "delta" else "arguments"
    event_type = f"response.function_call_arguments.{kind}"
    return {"type": event_type, "item_id": "fc_1", "output_index": 0, name: value, **more}


def completed(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"object": "response", "status": status, "output": list(output), **more}
    return {"type": f"response.{status}", "response": response}


WHOLE = '{"query": "x"}'
ADDED = item_event("added", "")
PIECES = (arguments_event("delta", '{"query":'), arguments_event("delta", ' "x"}'))


@pytest.mark.parametrize(
    "events",
    [
        (ADDED, arguments_event("done", WHOLE), completed()),
        (ADDED, *PIECES, completed()),
        (ADDED, *PIECES, item_event("done", ""), completed()),
        (ADDED, *PIECES, item_event("done", "{}"), completed()),
        (ADDED, item_event("done", ""), completed(item_event("done", WHOLE)["item"])),
        (ADDED, item_event("done", WHOLE), completed(item_event("done", "")["item"])),
        (ADDED, *PIECES, arguments_event("done", WHOLE), item_event("done", WHOLE), completed()),
        (ADDED, arguments_event("delta", '{"query":'), arguments_event("delta", WHOLE), completed()),
        (ADDED, arguments_event("done", WHOLE, item_id="another"), item_event("done", "", id="a third"), completed()),
        (arguments_event("done", WHOLE, name="look"), item_event("done", ""), completed()),
        (completed(item_event("done", WHOLE)["item"]),),
    ],
)
def test_call_has_its_arguments_from_any_event(events):
    calls = [call for delta in decoded(*events) if isinstance(delta, RawFields) for call in delta.fields["tool_calls"]]

    function = {"name": "look", "arguments": WHOLE}
    assert [(call["id"], call["function"]) for call in calls] == [("c1", function)]


def test_arguments_that_are_a_list_are_passed_on():
    found = decoded(item_event("done", [{"query": "x"}]), completed())

    calls = [call for delta in found if isinstance(delta, RawFields) for call in delta.fields["tool_calls"]]
    assert [call["function"]["arguments"] for call in calls] == [[{"query": "x"}]]


def test_two_calls_that_are_both_numbered_0_are_two():
    second = {"id": "fc_2", "call_id": "c2"}
    events = (ADDED, item_event("added", "", **second), arguments_event("done", "{}", item_id="fc_2"), *PIECES)

    found = decoded(*events, completed())

    calls = [call for delta in found if isinstance(delta, RawFields) for call in delta.fields["tool_calls"]]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [("c1", WHOLE), ("c2", "{}")]


def test_calls_that_the_final_event_has_under_other_ids_are_read_once():
    items = [item_event("done", WHOLE, id=f"fc_{at}", call_id=f"c{at}") for at in (1, 2)]
    other = item_event("done", '{"query": "y"}', id="fc_8", call_id="c8")["item"]
    renamed = [{**event["item"], "id": f"x{at}", "call_id": f"y{at}"} for at, event in enumerate(items)]

    found = decoded(*items, completed(*renamed, other))

    calls = [call for delta in found if isinstance(delta, RawFields) for call in delta.fields["tool_calls"]]
    assert [call["id"] for call in calls] == ["c1", "c2", "c8"]


@pytest.mark.parametrize("stated", ["response.created", "response.failed", "message"])
def test_type_of_the_data_wins_over_the_name_of_its_event(stated):
    events = [{"type": "response.output_text.delta", "item_id": "m", "delta": "So."}, completed()]
    sse = "".join(f"event: {stated}\ndata: {json.dumps(event)}\n\n" for event in events).encode()

    found = decoded(*map(json.loads, BodyParser().feed(sse)))

    assert (text(found), found[-1]) == ("So.", RawEnd("stop"))


def test_name_of_an_event_is_its_type_where_the_data_has_none():
    events = [{"type": "response.output_text.delta", "item_id": "m", "delta": "So."}, ADDED, *PIECES, completed()]
    sse = "".join(f"event: {event.pop('type')}\ndata: {json.dumps(event)}\n\n" for event in deepcopy(events))

    assert decoded(*map(json.loads, BodyParser().feed(sse.encode()))) == decoded(*events)


def test_text_whose_deltas_are_counted_as_parts_is_read_once():
    events = [
        {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": at, "delta": piece}
        for at, piece in enumerate(("So", "."))
    ]
    end = {"type": "response.output_text.done", "item_id": "m", "output_index": 0, "content_index": 2, "text": "So."}

    assert text(decoded(*events, end, completed(MESSAGE))) == "So."


def test_pieces_that_name_their_call_by_its_call_id_are_of_that_call():
    second = {"id": "fc_2", "call_id": "c2"}
    pieces = (
        arguments_event("delta", piece, item_id=None, call_id=call) for piece in ("{", "}") for call in ("c1", "c2")
    )
    events = [ADDED, item_event("added", "", **second), *pieces, completed()]

    found = decoded(*({**event, "output_index": None} for event in events))

    calls = [call for delta in found if isinstance(delta, RawFields) for call in delta.fields["tool_calls"]]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [("c1", "{}"), ("c2", "{}")]


@pytest.mark.parametrize("kind", ["reasoning_text", "reasoning"])
def test_thinking_in_deltas_is_read(kind):
    event = {"type": f"response.{kind}.delta", "item_id": "rs", "output_index": 0, "delta": "Hm."}

    assert decoded(event)[0] == RawFields({"reasoning_content": "Hm."})


MESSAGE = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "So."}]}
PART = {"item_id": "m", "output_index": 0, "content_index": 0}


@pytest.mark.parametrize(
    "events",
    [
        ({"type": "response.output_text.done", **PART, "text": "So."}, completed()),
        ({"type": "response.content_part.done", **PART, "part": MESSAGE["content"][0]}, completed()),
        (
            {"type": "response.output_text.delta", **PART, "delta": "So."},
            {"type": "response.output_text.done", **PART, "text": "So."},
            {"type": "response.content_part.done", **PART, "part": MESSAGE["content"][0]},
            {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
            completed(MESSAGE),
        ),
        (
            {"type": "response.output_text.delta", "item_id": "m", "delta": "So."},
            {"type": "response.output_text.done", **PART, "text": "So."},
            completed(MESSAGE),
        ),
        (completed(output_text="So."),),
        (completed({**MESSAGE, "content": "So."}),),
        (completed({**MESSAGE, "content": [{"type": "text", "text": "So."}]}),),
        ({"type": "response.done", "response": completed(MESSAGE)["response"]},),
        (completed(MESSAGE, id="r"), completed(MESSAGE, id="r")),
    ],
)
def test_text_is_read_once_from_any_event(events):
    found = decoded(*events)

    assert text(found) == "So."
    assert RawEnd("stop") in found


@pytest.mark.parametrize("late", [("So.",), ("S", "o."), ("o.",)])
@pytest.mark.parametrize(
    "before",
    [
        ({"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},),
        (
            {"type": "response.output_text.delta", **PART, "delta": "So."},
            {"type": "response.output_text.done", **PART, "text": "So."},
        ),
        (
            {"type": "response.output_text.delta", **PART, "delta": "So."},
            {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
        ),
    ],
)
def test_delta_behind_the_whole_text_adds_nothing(before, late):
    deltas = [{"type": "response.output_text.delta", **PART, "delta": piece} for piece in late]

    assert text(decoded(*before, *deltas, completed(MESSAGE))) == "So."


@pytest.mark.parametrize("output", [[], [{**MESSAGE, "content": [{"type": "output_text", "text": "So. It is."}]}]])
@pytest.mark.parametrize("late", [(" It", " is."), ("S", "o.", " It is."), (" It",)])
@pytest.mark.parametrize("ends", ["response.output_text.done", "response.output_item.done"])
def test_message_may_go_on_behind_its_end(ends, late, output):
    delta = {"type": "response.output_text.delta", **PART, "delta": "So."}
    done = {"type": ends, **PART, "text": "So.", "item": MESSAGE}

    found = text(decoded(delta, done, *[{**delta, "delta": piece} for piece in late], completed(*output)))

    assert found == ("So. It" if late == (" It",) and not output else "So. It is.")


@pytest.mark.parametrize("ends", ["response.output_item.done", "response.completed"])
def test_text_that_came_in_part_is_completed(ends):
    delta = {"type": "response.output_text.delta", **PART, "delta": "S"}
    done = {"type": ends, "output_index": 0, "item": MESSAGE, "response": completed(MESSAGE)["response"]}

    assert text(decoded(delta, done, completed())) == "So."


@pytest.mark.spec("spec 002 decision 1")
@pytest.mark.parametrize("last", ["response.output_item.done", "response.completed"])
@pytest.mark.parametrize("lacks", [{"encrypted_content": None}, {"encrypted_content": ""}, {"summary": []}])
def test_item_has_its_ciphertext_from_any_event(lacks, last):
    item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"}
    first = {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {**item, "encrypted_content": None, **lacks},
    }
    done = {"type": last, "output_index": 0, "item": item, "response": completed(item)["response"]}

    assert items(decoded(first, done)) == [item]


@pytest.mark.parametrize("late", [("So.",), ("o.",), ("S", "o", ".")])
def test_delta_under_another_id_that_repeats_a_message_adds_nothing(late):
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}
    deltas = [{"type": "response.output_text.delta", **PART, "item_id": "x", "delta": piece} for piece in late]

    assert text(decoded(done, *deltas, completed(MESSAGE))) == "So."


def test_message_that_begins_as_the_one_before_it_is_read_whole():
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}
    deltas = [{"type": "response.output_text.delta", **PART, "item_id": "x", "delta": piece} for piece in ("S", "ome.")]

    assert text(decoded(done, *deltas, completed())) == "So.Some."


def test_message_that_is_repeated_under_another_id_is_read_once():
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}
    again = {**done, "item": {**MESSAGE, "id": "x"}}
    whole = {"type": "response.output_text.done", **PART, "item_id": "y", "text": "So."}

    assert text(decoded(done, again, whole, completed())) == "So."


def test_delta_behind_an_item_is_known_by_its_index():
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}

    assert text(decoded(done, {"type": "response.output_text.delta", "output_index": 0, "delta": "So."})) == "So."


def test_end_of_a_text_may_come_behind_its_final_event():
    deltas = [{"type": "response.output_text.delta", **PART, "delta": piece} for piece in ("S", "o.")]
    done = {"type": "response.output_text.done", **PART, "text": "So."}

    assert text(decoded(deltas[0], done, deltas[1], completed(MESSAGE))) == "So."


def test_part_with_the_number_of_one_that_ended_is_read():
    delta = {"type": "response.output_text.delta", **PART, "delta": "So."}
    done = {"type": "response.output_text.done", **PART, "text": "So."}
    added = {"type": "response.content_part.added", **PART, "part": {"type": "output_text", "text": ""}}

    assert text(decoded(added, delta, done, added, delta, done)) == "So.So."


@pytest.mark.parametrize("has_deltas", [False, True])
@pytest.mark.parametrize("ends", ["response.reasoning_text.done", "response.output_item.done"])
def test_thought_behind_its_final_event_adds_nothing(ends, has_deltas):
    thought = {"item_id": "rs", "output_index": 0, "content_index": 0}
    item = {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    delta = {"type": "response.reasoning_text.delta", **thought, "delta": "Hm."}
    done = {"type": ends, **thought, "text": "Hm.", "item": item}

    found = decoded(*[delta] * has_deltas, done, delta, {**done, "type": "response.output_item.done"}, completed(item))

    assert text(found, "reasoning_content") == "Hm."


def test_arguments_behind_their_final_event_add_nothing():
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "look", "arguments": '{"q": 1}'}
    delta = {"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 0, "delta": '{"q": 1}'}
    done = {"type": "response.function_call_arguments.done", "item_id": "fc", "arguments": '{"q": 1}'}

    found = decoded(delta, done, delta, {"type": "response.output_item.done", "item": item}, delta, completed(item))

    calls = [call for one in found if isinstance(one, RawFields) for call in one.fields.get("tool_calls", ())]
    assert [call["function"]["arguments"] for call in calls] == ['{"q": 1}']


def test_end_mark_ends_a_response():
    decoder = ResponsesDecoder()
    decoder.feed(json.dumps({"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}).encode())

    assert RawEnd("stop") in decoder.feed(b"[DONE]")
    assert (decoder.ended, decoder.done) == (True, True)


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("details", "reason"),
    [
        (None, "length"),
        ({}, "length"),
        ({"reason": None}, "length"),
        ({"reason": "max_output_tokens"}, "length"),
        ({"reason": "content_filter"}, "content_filter"),
        ({"reason": "a_new_word"}, "length"),
    ],
)
def test_incomplete_response_says_why(details, reason):
    delta = {"type": "response.output_text.delta", **PART, "delta": "So"}

    found = decoded(delta, completed(status="incomplete", incomplete_details=details))

    assert [each.finish_reason for each in found if isinstance(each, RawEnd)] == [reason]


@pytest.mark.spec("product 32")
@pytest.mark.parametrize("response", [None, {}, {"status": "in_progress"}, {"status": "completed"}])
@pytest.mark.parametrize(("event", "reason"), [("completed", "stop"), ("done", "stop"), ("incomplete", "length")])
def test_final_event_says_how_a_response_ended(event, reason, response):
    delta = {"type": "response.output_text.delta", **PART, "delta": "So"}

    found = decoded(delta, {"type": f"response.{event}", "response": response})

    assert [each.finish_reason for each in found if isinstance(each, RawEnd)] == [reason]


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    "response",
    [
        {"output": [{"type": "message", "id": "m", "status": "incomplete", "content": "So"}]},
        {"incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_answer_is_not_complete_where_any_part_of_the_snapshot_says_so(response):
    found = decoded({"type": "response.completed", "response": {"status": "completed", **response}})

    assert [each.finish_reason for each in found if isinstance(each, RawEnd)] == ["length"]


@pytest.mark.spec("product 32")
@pytest.mark.parametrize("response", [None, {}, {"status": "completed"}])
@pytest.mark.parametrize("event", ["failed", "cancelled"])
def test_final_event_of_a_failure_is_one_without_a_status(event, response):
    with pytest.raises(ProviderError) as caught:
        decoded({"type": f"response.{event}", "response": response})

    assert caught.value.code == "server_error"
