"""What services have sent that no specification foresees, through ``replay_stream``'s whole path."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from chat.management.commands.replay_stream import Replay
from chat.providers.recorded import read_recording
from chat.providers.responses import ResponsesDecoder
from reasoning.deltas import RawItem

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Said."}]}
SHOWN_THOUGHT = {"id": "rs_1", "has_encrypted_content": True}


def told(*events: dict[str, Any] | str) -> dict[str, Any]:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return Replay().run(read_recording("".join(f"data: {text}\n\n" for text in texts).encode()))


def chunk(*, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def calling(*pieces: dict[str, Any]) -> dict[str, Any]:
    return chunk(tool_calls=list(pieces))


def piece(arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {"name": more.pop("name", None), "arguments": arguments}
    return {**more, "function": {name: value for name, value in function.items() if value is not None}}


def done(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item, **more}


def call_item(number: int, arguments: Any = "{}") -> dict[str, Any]:
    names = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": f"look_{number}"}
    return {"type": "function_call", **names, "arguments": arguments}


def completed(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(items), **more}}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, **more}


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        pytest.param(
            [
                calling(piece("", index=0, id="a", name="f"), piece("", index=1, id="b", name="g")),
                calling(piece('{"x"', index=0)),
                calling(piece('{"y" ', index=1)),
                calling(piece(":1}", index=0), piece(": 2}", index=1)),
            ],
            [("f", '{"x":1}'), ("g", '{"y" : 2}')],
            id="interleaved by index",
        ),
        pytest.param(
            [calling(piece('{"x"', id="a", name="f")), calling(piece(":1}")), calling(piece("{}", id="b", name="g"))],
            [("f", '{"x":1}'), ("g", "{}")],
            id="no index",
        ),
        pytest.param(
            [calling(piece('{"x":1}', index=0, id="a", name="f")), calling(piece("{}", index=0, id="b", name="f"))],
            [("f", '{"x":1}'), ("f", "{}")],
            id="every index 0, told apart by id",
        ),
        pytest.param(
            [calling(piece('{"x":1}', index=0, id="", name="f"), piece("{}", index=0, id="", name="f"))],
            [("f", '{"x":1}'), ("f", "{}")],
            id="every index 0 and no id, in one list",
        ),
        pytest.param(
            [calling(piece('{"x"', index=0, name="f")), calling(piece(":1}", index=0, id="a"))],
            [("f", '{"x":1}')],
            id="id comes late",
        ),
        pytest.param([calling(piece({"x": "é"}, index=0, id="a", name="f"))], [("f", '{"x": "é"}')], id="an object"),
        pytest.param([calling(piece({}, index=0, id="a", name="f"))], [("f", "{}")], id="an empty object"),
        pytest.param(
            [calling(piece('"\ud83d', index=0, id="a", name="f")), calling(piece('\ude00"', index=0))],
            [("f", '"😀"')],
            id="half a character in each of two pieces",
        ),
    ],
)
def test_calls_are_put_together(events: list[dict[str, Any]], calls: list[tuple[str, str]]) -> None:
    form = told(*events, chunk(finish="tool_calls"))

    assert [(call["name"], call["arguments"]) for call in form["tool_calls"]] == calls


@pytest.mark.parametrize("field", ["content", "reasoning_content", "reasoning"])
def test_character_in_two_deltas_is_one(field: str) -> None:
    form = told(chunk(**{field: "so \ud83d"}), chunk(**{field: "\ude00"}), chunk(finish="stop"))

    assert (form["visible"] or form["thinking"]) == "so 😀"


def test_character_in_two_events_of_a_response_is_one() -> None:
    assert told(said("\ud83d", output_index=0), said("\ude00", output_index=0), completed())["visible"] == "😀"


def test_item_with_half_a_character_can_be_written_down() -> None:
    item = {**THOUGHT, "summary": [{"type": "summary_text", "text": "a\ud83d"}]}
    decoder = ResponsesDecoder()
    deltas = [*decoder.feed(json.dumps(done(item, output_index=0)).encode()), *decoder.finish()]
    kept = [delta.item for delta in deltas if isinstance(delta, RawItem)]

    assert msgspec.json.decode(msgspec.json.encode(kept)) == [
        {**THOUGHT, "summary": [{**item["summary"][0], "text": "a\ufffd"}]}
    ]


def test_half_a_character_in_a_name_or_an_error_can_be_written_down() -> None:
    named = told(calling(piece("{}", index=0, id="a\ud83d", name="f\ud83d")), chunk(finish="tool_calls"))
    failed = told(chunk(content="a"), {"error": {"message": "no\ud83d", "type": "invalid_request_error"}})

    assert named["tool_calls"] == [{"name": "f\ufffd", "arguments": "{}"}]
    assert "no\ufffd" in failed["error"]["message"]


def test_numbers_that_json_does_not_have_are_passed_over() -> None:
    event = '{"choices": [{"delta": {"content": "a"}, "logprobs": [-Infinity, NaN], "finish_reason": "stop"}]}'

    assert told(event)["visible"] == "a"
    assert told(said("b", output_index=0, logprobs=[float("nan")]), completed())["visible"] == "b"


@pytest.mark.spec("003 precedence")
def test_thoughts_among_the_parts_are_not_added_to_a_native_field() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "So."}]
    form = told(chunk(content=parts, reasoning_content="hm", finish="stop"))

    assert (form["thinking"], form["visible"]) == ("hm", "So.")


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        ([chunk(content="a", finish="stop"), {"choices": [], "usage": {"prompt_tokens": 1}}], 1),
        ([{"choices": [{"delta": {"content": "a"}, "finish_reason": "stop", "usage": {"prompt_tokens": 2}}]}], 2),
        ([{**chunk(content="a"), "usage": {"prompt_tokens": 3}}, {**chunk(finish="stop"), "usage": None}], 3),
        ([{**chunk(content="a"), "usage": {"prompt_tokens": 3}}, {"choices": [], "usage": {"prompt_tokens": 4}}], 4),
        ([chunk(content="a", finish="stop")], None),
        ([said("a"), completed(usage={"input_tokens": 5})], 5),
        ([said("a"), completed(usage=None)], None),
        ([{"type": "response.failed", "response": {"status": "failed", "usage": {"input_tokens": 6}}}], 6),
    ],
)
def test_counts_are_found_wherever_they_stand(events: list[dict[str, Any]], tokens: int | None) -> None:
    usage = told(*events)["usage"]

    assert (usage and usage["input_tokens"]) == tokens


def test_unknown_events_and_items_are_passed_over() -> None:
    form = told(
        {"type": "response.shiny.delta", "delta": "zzz"},
        {"type": ["odd"], "delta": "zzz"},
        {"type": "keepalive"},
        done({"type": "image_generation_call", "id": "ig", "result": "zzz"}, output_index=0),
        done({"type": "compaction", "id": "cmp", "encrypted_content": "zzz"}, output_index=1),
        said("Said.", output_index=[2], item_id={}),
        completed(),
    )

    assert (form["visible"], form["reasoning_items"], form["tool_calls"]) == ("Said.", [], [])


@pytest.mark.parametrize("index", [{}, {"output_index": 0}, {"output_index": None}])
def test_items_without_a_usable_index_are_told_apart_by_id(index: dict[str, Any]) -> None:
    items = [THOUGHT, call_item(1), call_item(2), MESSAGE]
    events = [said("Said.", item_id="msg_1", **index), *(done(item, **index) for item in items)]
    form = told(*events, completed(*items))

    assert form["reasoning_items"] == [SHOWN_THOUGHT]
    assert [call["name"] for call in form["tool_calls"]] == ["look_1", "look_2"]
    assert form["visible"] == "Said."


def test_done_event_that_comes_twice_counts_once() -> None:
    form = told(done(call_item(1), output_index=0), done(call_item(1), output_index=0), completed(call_item(1)))

    assert len(form["tool_calls"]) == 1


def test_items_of_a_final_snapshot_under_other_ids_are_not_new() -> None:
    renamed = {**THOUGHT, "id": "rs_other"}

    assert told(done(THOUGHT, output_index=0), completed(renamed))["reasoning_items"] == [SHOWN_THOUGHT]


def test_responses_on_end_are_read_on_end() -> None:
    first = [done(THOUGHT, output_index=0), done(call_item(1), output_index=1), completed(usage={"input_tokens": 1})]
    second = [done(call_item(2), output_index=0), said("So ", output_index=1), completed(call_item(2), MESSAGE)]
    third = [done(MESSAGE, output_index=1), completed(MESSAGE, MESSAGE, usage={"input_tokens": 3})]
    form = told(*first, *second, *third)

    assert form["visible"] == "So Said."
    assert [call["name"] for call in form["tool_calls"]] == ["look_1", "look_2"]
    assert form["reasoning_items"] == [SHOWN_THOUGHT]
    assert form["usage"]["input_tokens"] == 3


@pytest.mark.parametrize(
    ("arguments", "shown"), [({}, "{}"), ({"a": 1}, '{"a": 1}'), (None, ""), ('{"a":  1}', '{"a":  1}')]
)
def test_arguments_of_a_response_come_as_they_are(arguments: Any, shown: str) -> None:
    form = told(done(call_item(1, arguments), output_index=0), completed())

    assert form["tool_calls"] == [{"name": "look_1", "arguments": shown}]


def test_incomplete_response_keeps_what_it_has() -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}, "usage": {"output_tokens": 9}}
    response = {"status": "incomplete", "output": [THOUGHT, MESSAGE], **details}
    form = told({"type": "response.incomplete", "response": response})

    assert (form["visible"], form["usage"]["output_tokens"]) == ("Said.", 9)
    assert form["reasoning_items"] == [SHOWN_THOUGHT]
    assert "error" not in form


def test_failed_response_keeps_what_came_before() -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}}
    form = told(said("Half", output_index=1), done(THOUGHT, output_index=0), failed)

    assert (form["visible"], form["error"]["code"]) == ("Half", "server_error")
    assert form["reasoning_items"] == [SHOWN_THOUGHT]


def test_error_alone_is_told() -> None:
    assert told({"type": "error", "code": "rate_limit_exceeded", "message": "x"})["error"]["code"] == "rate_limited"
    assert told({"error": {"message": "no such thing", "type": "invalid_request_error"}})["error"]["code"] == "refused"


def test_response_that_is_still_being_worked_on_was_not_cut_off() -> None:
    form = Replay().run(read_recording(b'{"object": "response", "status": "queued", "output": []}'))

    assert form["visible"] == ""
    assert "error" not in form


def test_nesting_of_any_depth_ends_in_an_answer_or_an_error() -> None:
    codes = set()
    for depth in range(900, 1100):
        deep = "[" * depth + "]" * depth
        form = told(chunk(content="a"), f'{{"choices": [{{"delta": {{"content": "\\ud83d"}}}}], "usage": {deep}}}')
        codes.add(form["error"]["code"])

    assert codes == {"disconnected", "malformed"}


def test_only_the_first_alternative_counts() -> None:
    event = {"choices": [{"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}}]}

    assert told(event, chunk(finish="stop"))["visible"] == "A"
