"""The fields of a delta: native text, tool calls, and what no server should send but some do."""

from __future__ import annotations

from typing import Any

import pytest

from reasoning.deltas import Channel
from reasoning.normalizer import Normalizer, normalize_stream
from tests.reasoning.streamed import channels


def _call(
    arguments: object, call_id: str | None = None, name: str | None = None, **index: int | None
) -> dict[str, Any]:
    return {**index, "id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.spec("normaliser 8")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_native_text_is_one_block_untrimmed(field: str) -> None:
    deltas = [{field: " a"}, {"content": "x"}, {field: "b \n"}, {"content": "y"}]
    result = normalize_stream(deltas)

    assert (result.visible, result.thinking) == ("xy", " ab \n")


@pytest.mark.spec("normaliser 8")
def test_mirrored_fields_count_once() -> None:
    details = [{"type": "reasoning.text", "text": "a"}]
    normalizer = Normalizer()
    normalizer.feed({"reasoning_content": "", "reasoning": "a", "thinking": "a", "reasoning_details": details})

    assert normalizer.thinking == "a"
    assert normalizer.source_field == "reasoning"
    assert normalizer.reasoning_details == tuple(details)


@pytest.mark.spec("normaliser 8")
def test_text_that_details_repeat_in_deltas_of_their_own_counts_once() -> None:
    sealed = {"type": "reasoning.encrypted", "data": "opaque"}
    details = [{"type": "reasoning.text", "text": "ab", "signature": "s"}, sealed]
    normalizer = Normalizer()
    for delta in ({"reasoning": "a"}, {"reasoning": "b"}, *({"reasoning_details": [one]} for one in details)):
        normalizer.feed(delta)

    assert (normalizer.thinking, normalizer.source_field) == ("ab", "reasoning")
    assert normalizer.reasoning_details == tuple(details)


@pytest.mark.spec("normaliser 8")
def test_first_native_field_counts_where_they_differ() -> None:
    normalizer = Normalizer()
    normalizer.feed({"thinking": "c", "reasoning": "b", "reasoning_content": "a"})
    normalizer.feed({"thinking": "e", "reasoning": "d"})

    assert (normalizer.thinking, normalizer.source_field) == ("ad", "reasoning_content")


@pytest.mark.spec("normaliser 8")
def test_details_alone_give_text_and_are_kept_as_received() -> None:
    details = [
        {"type": "reasoning.summary", "summary": "a"},
        {"type": "reasoning.text", "text": "b", "signature": None},
        {"type": "reasoning.encrypted", "data": "opaque"},
    ]
    normalizer = Normalizer()
    normalizer.feed({"reasoning_details": details[:2]})
    normalizer.feed({"reasoning_details": details[2:]})

    assert normalizer.thinking == "ab"
    assert normalizer.source_field == "reasoning_details"
    assert normalizer.reasoning_details == tuple(details)


@pytest.mark.spec("001 EC-001")
@pytest.mark.spec("001 EC-002")
@pytest.mark.parametrize("native", [{}, {"reasoning_content": ""}, {"reasoning": None}, {"reasoning_details": []}])
def test_no_native_text_is_no_thinking(native: dict[str, Any]) -> None:
    normalizer = Normalizer()
    normalizer.feed({**native, "content": "x"})
    normalizer.finish()

    assert normalizer.thinking is None
    assert normalizer.source_field is None
    assert not normalizer.counters.native_reasoning


@pytest.mark.spec("001 EC-003")
def test_interleaved_native_text_and_content_part() -> None:
    deltas = [{"reasoning_content": "a", "content": "x"}, {"content": "y", "reasoning_content": "b"}]

    assert channels(deltas).visible == "xy"
    assert channels(deltas).thinking == "ab"


@pytest.mark.spec("normaliser 9")
def test_mention_of_the_scratchpad_in_native_code_is_a_literal() -> None:
    result = channels([{"reasoning": "use `<scratch"}, {"reasoning": "pad>` then </think>x"}])

    assert result.thinking == "use `‹scratchpad›` then x"
    assert result.scratchpads == ()


@pytest.mark.spec("normaliser 8")
def test_late_native_text_alone_is_kept() -> None:
    result = channels([{"content": "<think>tagged</think>x"}, {"reasoning": "native"}])

    assert result.thinking == "tagged\n\nnative"
    assert result.kept == "native"


def test_tagged_thinking_names_its_source() -> None:
    normalizer = Normalizer()
    normalizer.feed({"content": "<think>a</think>"})

    assert normalizer.source_field == "think_tags"


@pytest.mark.spec("normaliser 3")
def test_other_deltas_leave_a_held_candidate_alone() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
    deltas = [{"content": "a</thi"}, {"content": None}, {"content": ""}, {"reasoning": "n"}, call, {"content": "nk>b"}]

    assert channels(deltas).visible == "ab"


@pytest.mark.spec("normaliser 5")
@pytest.mark.spec("001 EC-006")
def test_tool_call_ends_an_open_thought_and_follows_it() -> None:
    normalizer = Normalizer()
    normalizer.feed({"content": "<thinking>a</think>b"})
    out = normalizer.feed({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]})

    assert [piece.channel for piece in out] == [Channel.VISIBLE, Channel.TOOL]
    assert [piece.text for piece in normalizer.feed({"content": "c"})] == ["c"]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([_call("", "a", "f", index=0), _call("{", index=0), _call("}", index=0)], ((0, "a", "f", "{}"),)),
        ([_call({"q": 1}, "a", "f"), _call(None, "b", "g")], ((0, "a", "f", '{"q": 1}'), (1, "b", "g", ""))),
        ([_call("{", None, "f", index=None), _call("}", index=None)], ((0, "", "f", "{}"),)),
        (
            [_call("{}", "a", "f", index=0), _call("[", "b", "f", index=0), _call("]", index=0)],
            ((0, "a", "f", "{}"), (1, "b", "f", "[]")),
        ),
        ([_call("{}", "a", "f", index=1)], ((1, "a", "f", "{}"),)),
        ([_call("{", "a", "f"), _call("[", "b", "g"), _call("}", "a")], ((0, "a", "f", "{}"), (1, "b", "g", "["))),
        ([_call("\ud83d", index=0), _call("\ude00", index=0)], ((0, "", "", "😀"),)),
        ([{}, None, 3, {"function": None}], ()),
    ],
    ids=["pieces", "objects", "null index", "all numbered 0", "from 1", "by id", "half characters", "nothing"],
)
def test_tool_pieces_find_their_call(pieces: list[Any], calls: tuple[Any, ...]) -> None:
    assert channels({"tool_calls": [piece]} for piece in pieces).tools == calls


def test_content_parts_are_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
        {"type": "text", "text": "because"},
        {"type": "image_url", "image_url": {}},
    ]
    result = channels([{"content": parts}])

    assert (result.visible, result.thinking) == ("because", "why")


@pytest.mark.parametrize("odd", [None, 3, 1.5, True, b"x", [], [None, 3], {}, {"text": "x"}, object()])
@pytest.mark.parametrize("field", ["content", "reasoning", "thinking", "reasoning_details", "tool_calls"])
def test_odd_values_count_as_absent(field: str, odd: object) -> None:
    assert channels([{field: odd}, {"content": "x"}]).visible == "x"


def test_what_is_no_delta_is_passed_over() -> None:
    assert channels([None, [], "x", {}, {"content": "y"}]).visible == "y"  # type: ignore[list-item]
