"""Tool calls as services send them: repaired arguments, leaked names, invented ids, signatures."""

import json
import sys
from typing import Any

import pytest

from reasoning.deltas import RawEnd, RawFields
from reasoning.events import Reasoning, ToolCall
from reasoning.services.arguments import REPAIRS
from reasoning.services.finish_reasons import FRAGMENTS, NAMES, is_open, read_finish_reason
from reasoning.services.signatures import FIELDS, SignatureJoiner
from reasoning.services.text_calls import CALL_MARKS
from reasoning.services.thinking_formats import LEFTOVERS
from reasoning.stream.step import StepOutcome
from reasoning.stream.tool_calls import NAME_PREFIXES
from reasoning.stream.turn import TurnMachine


def piece(arguments: str = "", call_id: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    return {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}, **more}


def step(*pieces: dict[str, Any], finish: str = "tool_calls", message: Any = None, offered: Any = ()) -> StepOutcome:
    machine = TurnMachine(turn_id="0123456789", model="m", provider="p", system_prompt="", tool_names=offered)
    running = machine.begin_step()
    for each in message or ():
        running.feed(RawFields({"signatures": each}))
    for each in pieces:
        running.feed(RawFields({"tool_calls": [each]}))
    running.feed(RawEnd(finish))
    return running.end()


def arguments_of(*texts: str) -> str:
    first, *rest = texts
    (call,) = step(piece(first, "c1", "search"), *map(piece, rest)).calls
    return call.arguments


def signatures_of(outcome: StepOutcome) -> list[Any]:
    return [event.item for event in outcome.events if isinstance(event, Reasoning) and event.kind == "signature"]


@pytest.mark.spec("product 37")
@pytest.mark.parametrize("repair", REPAIRS, ids=lambda repair: repair.read.__name__)
def test_broken_arguments_are_repaired(repair):
    assert arguments_of(*repair.example) == repair.meant
    assert isinstance(json.loads(repair.meant), dict)


@pytest.mark.spec("product 37")
@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (('{"q": "a"}{"q": "a"}',), '{"q": "a"}'),
        (('{"q": "a"}', '{"q": "b"}'), '{"q": "b"}'),
        (('{"q": "a"}', "{}"), '{"q": "a"}'),
        (("null", '{"q": "a"}'), '{"q": "a"}'),
        (('```\n{"q": "a\tb"}\n```',), '{"q": "a\\u0009b"}'),
        (('{"a": {"b": 1}', '{"a": {"b": 1}}'), '{"a": {"b": 1}}'),
        (("```python\n{'q': ['a', True]}\n```",), '{"q": ["a", true]}'),
        (("{'q': 'the \"a\" isn\\'t b'}",), '{"q": "the \\"a\\" isn\'t b"}'),
        (("\"{'q': null}\"",), '{"q": null}'),
        (('{"q": "a",}',), '{"q": "a"}'),
    ],
)
def test_kin_of_the_examples_are_repaired(texts, meant):
    assert arguments_of(*texts) == meant


@pytest.mark.spec("product 10")
@pytest.mark.parametrize(
    "texts",
    [
        ('{"q" :  "aa"', "}"),
        ("{", "}"),
        ('{"a": "{', '}"}'),  # a piece that repeats another one
        ("null",),
        ("[1]",),
        ('{"a": {"b": 1}',),  # cut off: the inner object isn't what was meant
        ('{"q": "a"}{"q": "b',),
        ('So: {"q": "a"}',),
        ("{'q': 'a'",),
        ("{'q'}",),
        ("{'q': a}",),
        ("{'q': f'a'}",),
        ("{'q': b'a'}",),
        ("{'q': 'a\\d'}",),
        ("{'q': " + "(" * 5_000,),
        ("{'" + "\\'" * 50_000 + "}",),  # a string that nobody closes
    ],
)
def test_arguments_that_are_right_or_in_doubt_stay_as_they_came(texts):
    assert arguments_of(*texts) == "".join(texts)


@pytest.mark.spec("product 37")
@pytest.mark.parametrize("start", ["x", "[", "```json", "```", "{}", '"', "{q: '", "a, "])
@pytest.mark.parametrize("run", ['\\"', " ", "\n", "`", "a ", ", ", "{}", "'", "\\"])
def test_long_broken_arguments_take_no_time(start, run):
    text = start + run * (200_000 // len(run)) + "x"

    assert arguments_of(text) == text


@pytest.mark.spec("product 10")
@pytest.mark.parametrize(
    "mark", [*LEFTOVERS, *CALL_MARKS, "<|tool_call_end|>", "</tool_call>", "<think>", "</think>", "```"]
)
def test_mark_inside_of_valid_arguments_stays(mark):
    text = json.dumps({"q": f"a {mark} b", "end": mark}, ensure_ascii=False)

    assert arguments_of(text) == arguments_of(*text) == text


@pytest.mark.spec("product 36")
@pytest.mark.parametrize(
    "name",
    ["<scratchpad>PRIVATE</scratchpad>", "<scratchpad>PRIVATE", "<think>PRIVATE</think>search", "s<think>PRIVATE"],
)
def test_name_has_no_private_text(name):
    assert "PRIVATE" not in step(piece("{}", "c1", name)).calls[0].name


@pytest.mark.spec("product 36")
@pytest.mark.parametrize("private", ["<scratchpad>PRIVATE</scratchpad>", "<think>PRIVATE", "Scratchpad: PRIVATE"])
def test_id_has_no_private_text(private):
    calls = step(piece("{}", private, "a"), piece("{}", "c2", "b", index=1)).calls

    assert [call.call_id for call in calls] == ["call_01234567_0_0", "c2"]


@pytest.mark.spec("product 12")
def test_name_that_no_tool_has_is_redacted():
    assert step(piece("{}", "c1", "sk-proj-a1B2c3D4e5F6g7H8i9J0kLmN")).calls[0].name == "[redacted]"


@pytest.mark.parametrize(
    "name",
    [
        *(example for example in NAME_PREFIXES.values() if "_search" not in example),
        "functions::search",
        "<search>",
        "search<|channel|>commentary",
        "search</function",
        "functions.search:0",
        " search",
        "`search`",
        "search()",
        "assistant<|channel|>commentary to=functions.search",
    ],
)
def test_name_is_what_the_tool_is_called(name):
    assert [call.name for call in step(piece("{}", "c1", name)).calls] == ["search"]


@pytest.mark.parametrize(
    ("name", "called"),
    [
        *((example.replace("search", "searchFilings"), "searchFilings") for example in NAME_PREFIXES.values()),
        ("SearchFilings", "searchFilings"),
        ("search_filings", "searchFilings"),
        ("search-filings", "searchFilings"),
        ("searchFilingssearchFilings", "searchFilings"),
        ("mcp__search_filings", "searchFilings"),
        ("tool_run", "tool_run"),  # the tool of that name, not the one called run
        ("READ_FILE", "READ_FILE"),  # two tools are called so
        ("filings", "filings"),
        ("other.searchFilings", "other.searchFilings"),
        ("", ""),
    ],
)
def test_name_that_means_one_offered_tool_is_its_name(name, called):
    offered = ("searchFilings", "tool_run", "run", "readFile", "read_file")

    assert [call.name for call in step(piece("{}", "c1", name), offered=offered).calls] == [called]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ((piece('{"q":', "x1", "f"), piece("1}", "x2")), [("x1", '{"q":1}')]),
        ((piece('{"q":', "x1", "f"), piece("1}", "x2", "f")), [("x1", '{"q":1}')]),
        ((piece("", "x1", "f"), piece('{"q":', "x2", "f"), piece("1}", "x3", "f")), [("x1", '{"q":1}')]),
        ((piece('{"q":', "x1", "f", index=None), piece("1}", "x2", index=None)), [("x1", '{"q":1}')]),
        ((piece("{}", "x1", "f"), piece("{}", "x2", "f")), [("x1", "{}"), ("x2", "{}")]),
        ((piece('{"q":', "x1", "f"), piece("{}", "x2", "g")), [("x1", '{"q":'), ("x2", "{}")]),
        (
            (piece('{"q":', "x1", "f", index="0"), piece("{", "x2", "f", index="1"), piece("1}", index="0")),
            [("x1", '{"q":1}'), ("x2", "{")],
        ),
        (
            (piece('{"q":', "x1", "f"), piece("1", "x1", index=1), piece("}", "x1", index=2)),
            [("x1", '{"q":1}')],
        ),
        (  # DeepSeek V4 behind a gateway, seen 2026-07
            (piece('{"q":1}', "x1", "f"), piece("", "x2", "f"), piece('{"q":2}', index=1)),
            [("x1", '{"q":1}'), ("x2", '{"q":2}')],
        ),
    ],
)
def test_piece_with_another_id_or_index_continues_an_unfinished_call(pieces, calls):
    assert [(call.call_id, call.arguments) for call in step(*pieces).calls] == calls


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ((piece('{"q":1}', "", "f"), piece('{"q":2}', "", "f")), [("f", '{"q":1}'), ("f", '{"q":2}')]),
        ((piece("{}", "", "f"), piece("{}", "", "g")), [("f", "{}"), ("g", "{}")]),
        ((piece('{"q":1}', "", "f"), piece('{"q":', "", "g"), piece("2}")), [("f", '{"q":1}'), ("g", '{"q":2}')]),
        ((piece('{"q":1}', "", "f"), piece('{"q": 1}', "", "f")), [("f", '{"q": 1}')]),
        ((piece("{}", "", "f"), piece('{"q":1}', "", "f")), [("f", '{"q":1}')]),
        ((piece('{"q":', "", "f"), piece("1}", "", "f")), [("f", '{"q":1}')]),
        ((piece('{"q":1}', "", "f"), piece("", "", "functions.f")), [("f", '{"q":1}')]),
    ],
)
def test_calls_without_ids_that_are_all_number_0_are_told_apart(pieces, calls):
    assert [(call.name, call.arguments) for call in step(*pieces).calls] == calls


@pytest.mark.parametrize(
    "names",
    [
        ("get_", "filing"),
        ("get_", "fil", "ing", ""),
        ("get_", "get_filing"),
        ("get_", "filing", "get_filing"),
        ("get_filing", "get_filing"),
    ],
)
def test_name_may_come_in_pieces_or_again(names):
    (call,) = step(*(piece("", "c1" * (not at), name) for at, name in enumerate(names)), piece("{}")).calls
    assert (call.name, call.arguments) == ("get_filing", "{}")


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        (({"id": "c1", "name": "get_"}, {"name": "filing"}, {"arguments": "{}"}), ["get_filing"]),
        (({"name": "get_"}, {"name": "filing"}, {"arguments": "{}"}), ["get_filing"]),
        (({"id": "c1", "name": "get_"}, {"name": "filing", "arguments": "{}"}), ["get_filing"]),
        (({"name": "get", "arguments": "{"}, {"name": "get", "arguments": "}"}), ["get"]),
        (({"name": "get", "arguments": "{}"}, {"name": "get", "arguments": "{}"}), ["get", "get"]),
        (({"name": "get"}, {"name": "put", "arguments": "{}"}), ["get", "put"]),
        (({"id": "c1", "name": "get"}, {"id": "c2", "name": "put"}), ["get", "put"]),
    ],
)
def test_name_may_come_in_pieces_without_an_index(pieces, calls):
    assert [call.name for call in step(*pieces).calls] == calls


@pytest.mark.parametrize(
    "tool_calls",
    [
        {"id": "c1", "function": {"name": "get", "arguments": '{"q": 1}'}},
        {"0": {"id": "c1", "function": {"name": "get", "arguments": '{"q": 1}'}}},
        '[{"id": "c1", "function": {"name": "get", "arguments": "{\\"q\\": 1}"}}]',
        [{"id": "c1", "function": "get", "arguments": '{"q": 1}'}],
        [{"id": "c1", "function": {"name": "get", "args": {"q": 1}}}],
    ],
)
def test_calls_are_read_in_every_form(tool_calls):
    running = TurnMachine(turn_id="0123456789", model="m", provider="p", system_prompt="").begin_step()
    running.feed(RawFields({"tool_calls": tool_calls}))

    (call,) = running.end().calls
    assert (call.call_id, call.name, call.arguments) == ("c1", "get", '{"q": 1}')


def test_whole_name_may_come_with_each_piece_of_the_arguments():
    (call,) = step(piece('{"q":', "c1", "get"), piece("1", "", "get"), piece("}", "", "other")).calls
    assert (call.name, call.arguments) == ("get", '{"q":1}')


def test_name_and_arguments_may_be_in_the_call_itself():
    (call,) = step({"id": "c1", "name": "f", "arguments": {"q": 1}}).calls

    assert (call.name, call.arguments) == ("f", '{"q": 1}')


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(("arguments", "count"), [('{"q": "a', 0), ("", 0), ('{"q": "a"}', 1)])
def test_call_that_was_cut_off_is_not_run(arguments, count):
    outcome = step(piece(arguments, "c1", "f"), finish="length")

    assert (len(outcome.calls), outcome.finish_reason) == (count, "length")
    assert sum(isinstance(event, ToolCall) for event in outcome.events) == count


@pytest.mark.spec("product 38")
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: next(iter(field.example)))
def test_signature_is_stored_with_its_call_or_message(field):
    on_call = step(piece("{}", "c1", "f", **field.example))
    on_message = step(piece("{}", "c1", "f"), message=[field.example])

    assert signatures_of(on_call) == [{"call_id": "c1", **field.example}]
    assert signatures_of(on_message) == [{"message": field.example}]


@pytest.mark.spec("product 38")
def test_signature_of_any_piece_belongs_to_the_call_of_that_piece():
    outcome = step(
        piece("{}", "a", "f"),
        piece("{", "b", "f", index=1),
        piece("}", index=1, thought_signature="S2"),
        {"index": 0, "extra_content": {"google": {"thought_signature": "S1"}}},
        {"index": 1, "function": {"thoughtSignature": "S3"}},
    )

    assert signatures_of(outcome) == [
        {"call_id": "a", "extra_content": {"google": {"thought_signature": "S1"}}},
        {"call_id": "b", "thought_signature": "S2", "function": {"thoughtSignature": "S3"}},
    ]


@pytest.mark.spec("product 38")
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (
            [{"type": "thinking", "thinking": "I "}, {"thinking": "see."}, {"thinking": "", "signature": "S"}],
            [{"type": "thinking", "thinking": "I see.", "signature": "S"}],
        ),
        (
            [{"index": 0, "thinking": "a"}, {"index": 1, "data": "D"}, {"index": 0, "signature": "S"}],
            [{"index": 0, "thinking": "a", "signature": "S"}, {"index": 1, "data": "D"}],
        ),
        (
            [{"thinking": "a", "signature": "S"}, {"thinking": "b", "signature": "T"}],
            [{"thinking": "a", "signature": "S"}, {"thinking": "b", "signature": "T"}],
        ),
        ([{"thinking": "a", "signature": "S"}] * 2, [{"thinking": "a", "signature": "S"}]),
        (
            [{"thinking": "a"}, {"thinking": "a"}, {"thinking": "b"}, {"signature": "S"}],
            [{"thinking": "aab", "signature": "S"}],
        ),
        (
            [{"thinking": "a"}, {"thinking": "b"}, {"thinking": "ab", "signature": "S"}],
            [{"thinking": "ab", "signature": "S"}],
        ),
    ],
)
def test_pieces_of_thinking_blocks_are_joined(pieces, whole):
    outcome = step(piece("{}", "c1", "f"), message=[{"thinking_blocks": [each]} for each in pieces])

    assert signatures_of(outcome) == [{"message": {"thinking_blocks": whole}}]


def test_last_signature_counts():
    outcome = step(message=[{"reasoning_opaque": "S1"}, {"reasoning_opaque": "S2"}], finish="stop")

    assert signatures_of(outcome) == [{"message": {"reasoning_opaque": "S2"}}]


def test_thinking_without_a_signature_and_an_answer_that_was_cut_leave_none():
    blocks = {"thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]}

    assert signatures_of(step(message=[blocks])) == []
    assert signatures_of(step(message=[{"reasoning_opaque": "S"}], finish="length")) == []


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(("reason", "names"), NAMES.items())
def test_every_name_of_a_finish_reason_is_read_in_any_case(reason, names):
    for name in names.split():
        forms = (name, name.upper(), name.replace("_", "-"), f"FinishReason.{name}", f"FINISH_REASON_{name.upper()}")
        assert {read_finish_reason(form) for form in forms} == {reason}


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(("reason", "name"), [(row[0], name) for row in FRAGMENTS for name in row[2]])
def test_name_that_is_not_known_is_read_by_its_words(reason, name):
    assert read_finish_reason(name) == reason
    assert read_finish_reason(name.upper().replace("_", "-")) == reason


@pytest.mark.parametrize("name", ["natural", "not_truncated", "generation_in_progress", "partial", "x"])
def test_name_without_a_word_for_a_failure_is_not_known(name):
    assert read_finish_reason(name) is None


@pytest.mark.spec("product 32")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("generating", True), ("GENERATION_IN_PROGRESS", True), ("still-streaming", True), ("not_finished", True)]
    + [(name, False) for name in ("not_truncated", "natural", "stop", "length", "incomplete")],
)
def test_word_for_a_response_that_goes_on_ends_none(name, expected):
    assert is_open(name) is expected


def test_cost_of_a_piece_does_not_grow_with_the_thought():
    def calls(pieces: int) -> int:
        joiner, count = SignatureJoiner(), 0

        def note(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        for _each in range(pieces):
            joiner.add([{"type": "thinking", "thinking": "Hm. "}])
        sys.setprofile(None)
        assert joiner.whole == [{"type": "thinking", "thinking": "Hm. " * pieces}]
        return count

    assert calls(200) <= 2.1 * calls(100)
