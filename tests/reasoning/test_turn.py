"""The turn machine: deltas of several steps in, updates and canonical events out."""

import json
from typing import Any

import pytest

from reasoning.citations import Source
from reasoning.deltas import Channel, RawDelta, RawEnd, RawFields, RawItem, RawMessage, RawUsage
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall
from reasoning.services.text_calls import BARE_CALLS, CALL_MARKS
from reasoning.stream.limits import TurnLimits
from reasoning.stream.step import MAX_STATUS_CHARS, StepOutcome
from reasoning.stream.turn import TokenUsage, TurnMachine
from reasoning.stream.updates import ReplaceText, ShowScratchpad, ShowStatus, ShowText, Update
from reasoning.trace import finish, start
from tests.reasoning.streamed import first_step, shown

SECRET = "sk-" + "a1b2c3d4" * 5
WORDS = [f"w{number} " for number in range(60)]
SOURCE = Source(
    ref=1,
    kind="filing",
    title="10-K",
    publisher="Northwind Tidal Power, Inc.",
    date="2026-02-26",
    period=None,
    section="Item 7",
    anchor="#item-7-p1",
    url="/filings/northwind/#item-7-p1",
    text="The ratio was 1.31 at year end.",
    snippet="The ratio was 1.31",
)


def new_turn(system_prompt: str = "Be brief and be plain.") -> TurnMachine:
    return TurnMachine(turn_id="0123456789abcdef", model="m", provider="p", system_prompt=system_prompt)


def run(
    *raws: RawDelta | dict[str, Any], turn: TurnMachine | None = None, partial: bool = False
) -> tuple[list[Update], StepOutcome]:
    """Run one step; return all its updates, and its outcome."""
    turn = turn or new_turn()
    step = turn.begin_step()
    updates = [update for raw in raws for update in step.feed(RawFields(raw) if isinstance(raw, dict) else raw)]
    outcome = step.end(partial=partial)
    return [*updates, *outcome.updates], outcome


def text_on(channel: Channel, updates: list[Update]) -> str:
    return "".join(update.text for update in updates if isinstance(update, ShowText) and update.channel is channel)


def call(index: int, call_id: str = "", arguments: str = "{}", name: str = "f", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": call_id, "function": function, **more}]}


def item(index: int) -> RawItem:
    return RawItem(index, {"type": "reasoning", "id": f"rs_{index}", "encrypted_content": "…"})


def names(events: tuple[Event, ...]) -> list[str]:
    found = []
    for event in events:
        match event:
            case Reasoning(kind="item"):
                found.append(event.item["id"])
            case ToolCall():
                found.append(event.call_id)
            case Reasoning():
                found.append(event.kind)
            case AssistantMessage():
                found.append("message")
    return found


def answer(outcome: StepOutcome) -> AssistantMessage:
    return next(event for event in outcome.events if isinstance(event, AssistantMessage))


def use_tool(turn: TurnMachine, arguments: str = "{}") -> None:
    """Run a step that calls a tool, and add its result."""
    _updates, outcome = run(call(0, "c", arguments, "searchFilings"), turn=turn)
    opened = start("c", "searchFilings", arguments, at_ms=0, shown=None)
    step = finish(opened, at_ms=5, status="ok", results=1, sources=[SOURCE])
    turn.tool_finished(outcome.calls[0], "{}", step, [SOURCE])


# What is shown and stored


def test_stored_text_is_the_shown_text():
    updates, outcome = run({"reasoning": "Hm."}, {"content": "Yes, "}, {"content": "it is. "})

    assert names(outcome.events) == ["text", "message"]
    assert text_on(Channel.THINKING, updates) == outcome.events[0].text == "Hm."  # type: ignore[union-attr]
    assert text_on(Channel.ANSWER, updates).rstrip() == answer(outcome).text == "Yes, it is."


@pytest.mark.parametrize(
    ("field", "opening"), [("content", ""), ("content", "Begun. \n\n"), ("content", "<think>"), ("reasoning", "so ")]
)
def test_each_word_is_shown_when_it_arrives(field, opening):
    step = first_step()
    shown(step, field, opening)

    assert "".join(WORDS) == "".join(shown(step, field, word).lstrip("\n") for word in WORDS)
    assert shown(step, field, "now ") == "now "


@pytest.mark.spec("normaliser 4")
@pytest.mark.parametrize("line_end", ["\n", ".\n\n", ":\n", "\n\n\n", " \n", "\r\n"])
def test_last_word_of_a_line_is_shown_before_its_line_break(line_end):
    step = first_step()
    shown(step, "content", "So it ")

    assert shown(step, "content", "ended" + line_end) == ("ended" + line_end).rstrip("\n")
    assert shown(step, "content", "Then ") == line_end.lstrip(" .:\r") + "Then "


@pytest.mark.parametrize("held", ["the password is\n", "<think\n", "sk-proj-a1B2c3\n", "api_key:\n", "AKIAX\n"])
def test_beginning_of_something_private_is_held_at_the_end_of_a_line(held):
    assert held.split()[-1] not in shown(first_step(), "content", held)


def test_trailing_line_breaks_are_held_back():
    step = first_step()

    assert [shown(step, "content", text) for text in ("Done. \n", " \n ")] == ["Done. ", ""]
    assert step.end().updates == ()


def test_secrets_are_masked_and_personal_data_only_in_thinking():
    text = f"Use {SECRET} of bo.li@example.com now"
    updates, outcome = run(*({"reasoning": letter} for letter in text), *({"content": letter} for letter in text))

    assert answer(outcome).text == text_on(Channel.ANSWER, updates) == "Use [redacted] of bo.li@example.com now"
    assert "bo.li@" not in text_on(Channel.THINKING, updates)
    assert SECRET not in text_on(Channel.THINKING, updates)
    assert outcome.events[0].text == text  # type: ignore[union-attr]  # encrypted by the log, whole (001 BR-002)


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_is_passed_on_and_in_no_event():
    updates, outcome = run({"content": "A.<scratchpad>quokka note</scratchpad>"})

    assert sum(isinstance(update, ShowScratchpad) for update in updates) == 1
    assert "quokka" not in repr((updates, outcome))


@pytest.mark.spec("004 scratchpad")
@pytest.mark.parametrize("field", ["content", "reasoning_content", "details"])
@pytest.mark.parametrize("unseen", ["\u200b", "\xad", "\u2060", "\x00"])
def test_tag_that_unseen_characters_hide_is_a_tag_in_every_field(field, unseen):
    text = f"Plan. <scratch{unseen}pad>quokka</scratchpad{unseen}> go"
    fields = {"reasoning_details": [{"type": "reasoning.text", "text": text}]} if field == "details" else {field: text}

    updates, outcome = run(fields)

    assert sum(isinstance(update, ShowScratchpad) for update in updates) == 1
    assert "quokka" not in repr((updates, outcome))


@pytest.mark.spec("003 precedence")
@pytest.mark.spec("product 36")
@pytest.mark.parametrize("seal", [{}, {"signature": "s"}, {"data": "x"}])
def test_details_are_stored_without_scratchpads_unless_they_are_sealed(seal):
    element = {"type": "reasoning.text", "index": 0}
    texts = ("alpha <scratch", "pad>canary</scr", "atchpad> beta")

    _updates, outcome = run(
        *({"reasoning_details": [{**element, "text": text}]} for text in texts),
        {"reasoning_details": [{**element, **seal}]} if seal else {"content": "Yes."},
    )

    [stored] = [event.details for event in outcome.events if isinstance(event, Reasoning) and event.kind == "details"]
    kept = texts if seal else ("alpha  beta", "", "")
    assert tuple(each["text"] for each in stored[:3]) == kept


@pytest.mark.spec("replay 7")
@pytest.mark.spec("004 scratchpad")
def test_item_without_ciphertext_is_not_stored():
    bare = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "<scratchpad>quokka"}]}

    _updates, outcome = run(RawItem(1, bare), item(0), RawMessage(0), {"content": "Yes."})

    assert names(outcome.events) == ["rs_0", "message"]


@pytest.mark.spec("product 22")
@pytest.mark.parametrize("seal", [{}, {"signature": "s"}])
def test_details_lose_what_they_repeat_of_the_scratchpad_unless_they_are_sealed(seal):
    notes = "the covenant is close to its limit, and the waiver ends in May of next year"
    texts = (f"Hm. {notes[:30]}", f"{notes[30:]}!")

    _updates, outcome = run(
        *({"reasoning_details": [{"type": "reasoning.text", "text": text, **seal}]} for text in texts),
        {"content": f"<scratchpad>{notes}</scratchpad>Yes."},
    )

    [stored] = [event.details for event in outcome.events if isinstance(event, Reasoning) and event.kind == "details"]
    assert tuple(each["text"] for each in stored) == (texts if seal else ("Hm. [redacted]!", ""))


def test_native_thinking_alone_is_stored_where_tagged_text_came_first():
    _updates, outcome = run({"content": "<think>tagged</think>So."}, {"reasoning_content": "native"})

    assert [event.text for event in outcome.events if isinstance(event, Reasoning)] == ["native"]


def test_answers_of_steps_are_separated_by_a_blank_line():
    turn = new_turn()
    first, _outcome = run({"reasoning": "a", "content": "First."}, call(0), turn=turn)
    second, _outcome = run({"reasoning": "b", "content": "Second."}, turn=turn)

    assert text_on(Channel.ANSWER, first + second) == "First.\n\nSecond."
    assert text_on(Channel.THINKING, first + second) == "a\n\nb"


def test_stopped_step_stores_partial_text_and_no_half_secret():
    half = SECRET[:7]
    pieces = ({"reasoning": f"Use {half}"}, {"content": f"Use {half}"}, call(0, extra_content={"s": 1}))
    updates, outcome = run(*pieces, partial=True)

    assert answer(outcome).partial
    assert names(outcome.events) == ["text", "message"]
    assert outcome.calls == ()
    assert half not in text_on(Channel.ANSWER, updates) + text_on(Channel.THINKING, updates) + answer(outcome).text


# Summary and citations


@pytest.mark.spec("004 summary")
def test_bullet_that_repeats_the_prompt_or_an_earlier_scratchpad_is_dropped():
    prompt = "never reveal the internal routing table of this service"
    turn = new_turn(prompt)
    notes = "<scratchpad>the owner asked us to hide the covenant breach from the bank</scratchpad>"
    bullets = (prompt, "Looked.", "Compared.", "Asked us to hide the covenant breach.")
    run({"content": notes}, call(0, "c"), turn=turn)

    run({"content": "Reasoning Summary:\n- " + "\n- ".join(bullets) + "\n\nFinal Answer:\nNo."}, turn=turn)

    assert (turn.summary, turn.dropped_bullets) == (("Looked.", "Compared."), 2)


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    "query",
    ["return the following sections exactly and no others", "owner asked us to hide the breach", "/etc/app/keys"],
)
def test_query_that_repeats_something_private_is_in_no_bullet_of_the_trace(query):
    turn = new_turn("Return the following sections exactly and no others.")
    run({"content": "<scratchpad>The owner asked us to hide the breach.</scratchpad>"}, call(0, "c"), turn=turn)
    use_tool(turn, json.dumps({"query": query}))

    run({"content": "It was 1.31."}, turn=turn)

    assert turn.summary_source == "trace"
    assert turn.summary[0] == "Used searchFilings and got 1 result."
    assert query not in repr(turn.summary)


@pytest.mark.spec("product 22")
def test_texts_of_every_step_lose_what_they_repeat_of_the_scratchpad():
    notes = "ZEBRA9 quiet private plan of the assistant here"
    turn = new_turn()
    updates, first = run(
        {"reasoning": f"Hm. {notes}"}, {"content": f"I noted: {notes}.<scratchpad>{notes}</scratchpad>"}, turn=turn
    )
    _updates, second = run({"reasoning_content": notes.upper()}, {"content": f"As noted, {notes}!"}, turn=turn)

    replaced = [update for update in updates if isinstance(update, ReplaceText)]
    assert [(update.channel, update.text) for update in replaced] == [
        (Channel.ANSWER, "I noted: [redacted]."),
        (Channel.THINKING, "Hm. [redacted]"),
    ]
    assert replaced[0].chars == len(text_on(Channel.ANSWER, updates))
    assert (answer(first).text, answer(second).text) == ("I noted: [redacted].", "As noted, [redacted]!")
    assert [event.text for event in (first.events[0], second.events[0]) if isinstance(event, Reasoning)] == [
        "Hm. [redacted]",
        "[redacted]",
    ]
    assert turn.scratchpad_repeats == 4


@pytest.mark.spec("product 20")
def test_repeats_are_removed_from_each_message_of_a_step():
    notes = "the covenant is close to its limit, and the waiver ends in May of next year"
    first, last = f"I noted: {notes}.", f"So {notes}!<scratchpad>{notes}</scratchpad>"

    updates, outcome = run(
        RawFields({"content": first}), RawFields({"content": "Between."}, 1), RawFields({"content": last}, 2)
    )

    texts = [event.text for event in outcome.events if isinstance(event, AssistantMessage)]
    assert texts == ["I noted: [redacted].", "Between.", "So [redacted]!"]
    replaced = next(update for update in updates if isinstance(update, ReplaceText))
    assert (replaced.chars, replaced.text) == (len(text_on(Channel.ANSWER, updates)), "\n\n".join(texts))


@pytest.mark.spec("product 22")
@pytest.mark.parametrize("size", [1, 4, 7, 30, 1_000])
@pytest.mark.parametrize("field", ["content", "reasoning"])
def test_repeats_of_notes_that_are_known_are_never_shown(field, size):
    notes = "the covenant is close to its limit, and the waiver ends in May of next year"
    text = f"I noted: {notes}. Then more, as the covenant is close."
    pieces = [{field: text[at : at + size]} for at in range(0, len(text), size)]

    updates, _outcome = run({"content": f"<scratchpad>{notes}</scratchpad>"}, *pieces)

    channel = Channel.ANSWER if field == "content" else Channel.THINKING
    assert text_on(channel, updates) == "I noted: [redacted]. Then more, as the covenant is close."
    assert not any(isinstance(update, ReplaceText) for update in updates)


@pytest.mark.spec("product 34")
@pytest.mark.parametrize(("model", "starts_in_reasoning"), [("m", True), ("apriel-1.5", False), ("qwq-32b", False)])
def test_answer_of_a_model_that_did_not_think_is_no_thought(model, starts_in_reasoning):
    turn = TurnMachine(
        turn_id="0" * 16, model=model, provider="p", system_prompt="", starts_in_reasoning=starts_in_reasoning
    )

    updates, outcome = run({"content": "Hello "}, {"content": "there."}, RawEnd("stop"), turn=turn)

    shown_thinking = text_on(Channel.THINKING, updates)
    assert answer(outcome).text == text_on(Channel.ANSWER, updates) == "Hello there."
    assert ReplaceText(Channel.THINKING, len(shown_thinking), "") in updates
    assert names(outcome.events) == ["message"]


@pytest.mark.spec("product 34")
@pytest.mark.parametrize("end", [[call(0, "c")], [RawEnd("length")], []])
def test_thought_that_was_cut_or_led_to_a_call_stays_one(end):
    turn = TurnMachine(turn_id="0" * 16, model="m", provider="p", system_prompt="", starts_in_reasoning=True)

    _updates, outcome = run({"content": "I look."}, *end, turn=turn, partial=not end)

    assert [event.text for event in outcome.events if isinstance(event, Reasoning)] == ["I look."]


@pytest.mark.spec("product 34")
@pytest.mark.parametrize(
    ("text", "thinking", "shown"),
    [
        ("one more look</think>Done.", "one more look", "Done."),
        ("Done.", "", "Done."),
        ("<think>on</think>Done.", "on", "Done."),
    ],
)
def test_thought_that_a_call_left_open_ends_in_the_next_response(text, thinking, shown):
    turn = new_turn()
    run({"content": "<think>I look."}, call(0, "c"), turn=turn)

    _updates, outcome = run({"content": text}, RawEnd("stop"), turn=turn)

    assert [event.text for event in outcome.events if isinstance(event, Reasoning)] == ([thinking] if thinking else [])
    assert answer(outcome).text == shown


@pytest.mark.spec("normaliser 7")
@pytest.mark.parametrize("field", ["content", "reasoning"])
@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("quokka rest</scratchpad>\nFinal Answer:\nfour", "four"),
        ("<think>quokka</think> rest</scratchpad>four", "four"),
        ("Done.", "Done."),
        ("one <scratchpad>quokka</scratchpad>two", "one two"),
    ],
)
def test_scratchpad_that_a_call_left_open_ends_in_the_next_response(text, expected, size, field):
    turn = new_turn()
    run({field: "Let me. <scratchpad>quokka plan"}, call(0, "c"), turn=turn)
    run(call(0, "c2"), turn=turn)

    updates, outcome = run(*({field: text[at : at + size]} for at in range(0, len(text), size)), turn=turn)

    channel = Channel.ANSWER if field == "content" else Channel.THINKING
    assert text_on(channel, updates).strip().removeprefix("Final Answer:\n") == expected
    assert "quokka" not in repr((updates, outcome))


@pytest.mark.spec("product 20")
def test_scratchpad_that_a_message_left_open_ends_in_the_next_message():
    updates, outcome = run(
        RawFields({"content": "Let me. <scratchpad>quokka"}), RawFields({"content": "quokka</scratchpad>four"}, 1)
    )

    assert [event.text for event in outcome.events if isinstance(event, AssistantMessage)] == ["Let me.", "four"]
    assert "quokka" not in repr((updates, outcome))


@pytest.mark.spec("product 35")
@pytest.mark.parametrize(
    ("text", "expected"), [("So <think>and", True), ("<think>and", False), ("So <think>and</think> on", False)]
)
def test_thought_that_took_the_rest_of_an_answer_is_reported(text, expected):
    _updates, outcome = run({"content": text}, RawEnd("stop"))

    assert outcome.is_thought_unclosed is expected


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("mark", CALL_MARKS)
def test_call_that_came_as_text_is_reported(mark):
    assert run({"content": f"I look.\n{mark}f"}, RawEnd("stop"))[1].has_text_call
    assert not run({"content": f"Write `{mark}` so:\n\n```xml\n{mark}\n```"}, RawEnd("stop"))[1].has_text_call


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("call", [example for _pattern, example in BARE_CALLS])
def test_call_without_a_mark_is_reported_where_it_is_the_whole_answer(call):
    assert run({"content": f"{call}\n"}, RawEnd("stop"))[1].has_text_call
    assert not run({"content": f"Write {call} there"}, RawEnd("stop"))[1].has_text_call


@pytest.mark.spec("product 39")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"content": 'Let me look. <tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'}, True),
        ({"content": 'Let me look: <tool_call>{"name": "f"}</tool_call>'}, True),
        ({"content": "Models write this: <tool_call> and then the call."}, False),
        ({"reasoning_content": "I look.\n<tool_call>\n<function=f>\n</function>\n</tool_call>"}, True),
        ({"content": "<think>I look.\n<tool_call>\n<function=f>\n</function>\n</tool_call>"}, True),
        ({"reasoning_content": "I look.\n<tool_call>\n<function=f>", "content": "It rose."}, False),
        ({"reasoning_content": "I look."}, False),
    ],
)
def test_call_behind_a_sentence_or_at_the_end_of_a_thought_is_reported(fields, expected):
    assert run(fields, RawEnd("stop"))[1].has_text_call is expected


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize(
    "text",
    [
        *("", "Plan: ", "Plan: Action: ```", "Thought: a\n", "Action: a\n", 'f {"a":', "```json\n"),
        *('{"name": "f", "arguments": {}}', '{"tool_calls": [{}]'),
    ],
)
def test_long_run_of_blanks_takes_no_time(text, field):
    assert not run({field: text + "\n " * 100_000 + "x"}, RawEnd("stop"))[1].has_text_call


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("blanks", [" ", "\n", " \n\n "])
@pytest.mark.parametrize("call", [example for _pattern, example in BARE_CALLS])
def test_call_without_a_mark_may_have_blanks_and_words_before_it(call, blanks):
    assert run({"content": f"{blanks}{call}{blanks}"}, RawEnd("stop"))[1].has_text_call
    if call.startswith("Action: ```"):
        assert run({"content": f"Plan: I look.{blanks}{call}"}, RawEnd("stop"))[1].has_text_call


@pytest.mark.spec("004 summary")
def test_turn_that_ends_between_its_steps_has_a_summary_from_its_trace():
    turn = new_turn()
    _updates, outcome = run(call(0, "c1", '{"query": "covenants"}', "searchFilings"), turn=turn)
    opened = start("c1", "searchFilings", '{"query": "covenants"}', at_ms=0, shown=None)
    turn.tool_finished(outcome.calls[0], "x", finish(opened, at_ms=8, status="ok", sources=[], results=0), [])

    (closing,) = turn.closing_events()

    assert isinstance(closing, AssistantMessage)
    assert (closing.text, closing.step, turn.summary_source) == ("", 0, "trace")
    assert "covenants" in closing.summary[0]
    assert turn.closing_events() == ()


@pytest.mark.spec("004 summary")
def test_summary_comes_from_the_trace_where_fewer_than_two_bullets_are_left():
    turn = new_turn()
    use_tool(turn, '{"query": "ratio"}')

    run({"content": "Reasoning Summary:\n- Only one.\n\nFinal Answer:\nIt was 1.31."}, turn=turn)
    assert turn.summary_source == "trace"
    assert len(turn.summary) >= 2

    run({"content": "Reasoning Summary:\n- Looked.\n- Compared.\n\nFinal Answer:\nIt was 1.31."}, turn=turn)
    assert (turn.summary_source, turn.summary) == ("model", ("Looked.", "Compared."))


def test_quotation_is_checked_against_its_source():
    turn = new_turn()
    use_tool(turn)

    _updates, outcome = run({"content": 'It said "The ratio was 1.31" [1], never "The ratio was 9.99" [1].'}, turn=turn)

    assert [citation["verified"] for citation in answer(outcome).citations] == [True, False]


# Order of events


@pytest.mark.spec("002 decision 2")
@pytest.mark.spec("001 EC-006")
@pytest.mark.parametrize(
    ("raws", "expected"),
    [
        (
            [item(0), call(0, "a"), item(2), {"content": "One moment."}, RawMessage(0), call(1, "b")],
            ["rs_0", "a", "rs_2", "message", "b"],
        ),
        ([item(2), item(0)], ["rs_0", "rs_2"]),
        ([item(0), RawMessage(0), call(0, "a")], ["rs_0", "a"]),
        (
            [{"content": "1"}, RawFields({"content": "2"}, 1), RawMessage(0), item(1), RawMessage(1), call(0, "a")],
            ["message", "rs_1", "message", "a"],
        ),
        ([call(0, "a"), {"content": "Looking."}, call(1, "b")], ["message", "a", "b"]),
        ([item(0), call(0, "a"), {"reasoning_content": "hm"}], ["text", "rs_0", "a"]),
    ],
    ids=["as sent", "by output index", "empty message", "several messages", "message unmarked", "thinking first"],
)
def test_events_are_in_the_order_of_the_service(raws, expected):
    assert names(run(*raws)[1].events) == expected


@pytest.mark.spec("002 drop")
@pytest.mark.parametrize(
    ("reason", "partial", "is_whole"),
    [("stop", False, True), ("length", False, False), ("content_filter", False, False), ("stop", True, False)],
)
def test_item_of_a_cut_answer_is_not_whole(reason, partial, is_whole):
    _updates, outcome = run(item(0), {"content": "Half"}, RawEnd(reason), partial=partial)

    assert [event.whole for event in outcome.events if isinstance(event, Reasoning)] == [is_whole]


# Tool calls


def test_calls_are_assembled_and_get_unique_ids():
    pieces = (call(0, "same", '{"q"'), call(0, "", ": 1}"), call(1, "same", ""), call(2))
    first, second = run(*pieces)[1], run(*pieces)[1]

    assert first.calls == second.calls
    assert [(one.call_id, one.arguments) for one in first.calls] == [
        ("same", '{"q": 1}'),
        ("call_01234567_0_1", ""),
        ("call_01234567_0_2", "{}"),
    ]


def test_signature_is_stored_before_the_calls_under_the_final_id():
    _updates, outcome = run(call(0, "a", extra_content={"s": 1}), call(1, extra_content={"s": 2}), call(2, "b"))

    assert names(outcome.events)[:2] == ["signature", "signature"]
    signed = [event.item for event in outcome.events if isinstance(event, Reasoning)]
    assert signed == [{"call_id": one.call_id, "extra_content": {"s": n}} for n, one in enumerate(outcome.calls[:2], 1)]


@pytest.mark.parametrize("extra", [None, "c2ln", ["c2ln"], 5])
def test_signature_of_another_type_is_ignored(extra):
    assert names(run(call(0, "a", extra_content=extra))[1].events) == ["a"]


# Status lines


def status_lines(text: str) -> list[str]:
    """Return the status lines of a service's summary that arrives a few characters at a time."""
    updates, outcome = run(*({"reasoning_summary": text[at : at + 7]} for at in range(0, len(text), 7)))
    assert outcome.events == ()
    return [update.text for update in updates if isinstance(update, ShowStatus)]


@pytest.mark.spec("product 7")
@pytest.mark.spec("product 12")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("**Comparing margins**\n\nThe first is higher.\nThe sec", ["Comparing margins", "The first is higher."]),
        (f"Trying {SECRET}\nAsking pat@example.com\n", ["Trying [redacted]", "Asking p***@example.com"]),
        *((f"Fine.\nAnd {tag} private\n", ["Fine."]) for tag in ("<think>", "</REASONING >", "<scratchpad>", "<thi")),
    ],
)
def test_finished_lines_of_a_service_summary_are_shown_redacted(text, lines):
    assert status_lines(text) == lines


def test_status_line_is_cut_after_it_was_redacted():
    lines = status_lines("word " * 1_000 + "\n") + status_lines("w" * (MAX_STATUS_CHARS - 10) + f" {SECRET}\n")

    assert [len(line) <= MAX_STATUS_CHARS for line in lines] == [True, True]
    assert SECRET[:6] not in "".join(lines)


@pytest.mark.parametrize("odd", [None, 5, ["Fine.\n"], {"text": "Fine.\n"}])
def test_summary_of_another_type_is_ignored(odd):
    assert run({"reasoning_summary": odd})[0] == []


# Usage


def test_usage_adds_up_and_reported_input_is_of_the_newest_request():
    turn = new_turn()
    for tokens in (10, 20):
        run(RawUsage(input_tokens=tokens, output_tokens=1), RawEnd("stop"), turn=turn)
    assert turn.usage == TokenUsage(input_tokens=30, output_tokens=2, reasoning_tokens=None)
    assert turn.reported_input == 20

    run(RawUsage(input_tokens=2**52), turn=turn)
    assert turn.usage.input_tokens == 2**31 - 1
    run(RawUsage(output_tokens=1), turn=turn)
    assert turn.reported_input == 0


def test_step_without_usage_has_no_reported_input_of_the_one_before():
    turn = new_turn()
    run(RawUsage(input_tokens=10), call(0, "c"), turn=turn)
    assert turn.reported_input == 10

    run({"content": "Yes."}, RawEnd("stop"), turn=turn)
    assert turn.reported_input == 0


@pytest.mark.spec("product 25")
@pytest.mark.parametrize(
    ("opening", "piece", "reached"),
    [
        ({"content": ""}, {"content": "word "}, "answer"),
        ({"content": ""}, {"content": "über "}, "answer"),
        ({"content": "<REASONING>"}, {"content": "held "}, "answer"),
        ({"content": "<scratchpad>"}, {"content": "held "}, "answer"),
        ({"content": "a"}, {"content": "\n\n\n\n"}, "answer"),
        ({"content": "Reasoning Summary:\n"}, {"content": "- one more point\n"}, "answer"),
        ({"content": "<think>"}, {"content": "thought "}, "thinking"),
        ({"reasoning": "t"}, {"reasoning": "thought "}, "thinking"),
        ({"reasoning": "t"}, {"reasoning": "\n\n\n\n"}, "thinking"),
        ({"reasoning": "t"}, {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x" * 50}]}, "thinking"),
        (call(0), {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 20}}]}, "arguments"),
        (call(0), {"tool_calls": [{"index": 0, "id": "c" * 20, "function": {"name": "n" * 20}}]}, "arguments"),
    ],
)
def test_endless_response_reaches_a_limit_whatever_it_consists_of(opening, piece, reached):
    limits = TurnLimits(answer_bytes=1_000, thinking_bytes=1_000, arguments_bytes=1_000)
    turn = TurnMachine(turn_id="0" * 16, model="m", provider="p", system_prompt="", limits=limits)
    step = turn.begin_step()
    updates = [*step.feed(RawFields(opening))]
    for _number in range(5_000):
        updates += step.feed(RawFields(piece))
        if turn.room.reached:
            break

    outcome = step.end(partial=True)

    updates += outcome.updates
    assert turn.room.reached == reached
    for channel in (Channel.ANSWER, Channel.THINKING):
        assert len(text_on(channel, updates).encode()) <= 1_000
    assert sum(len(repr(event)) for event in outcome.events) < 8_000
    assert outcome.calls == ()


@pytest.mark.slow
@pytest.mark.spec("product 25")
def test_flood_of_calls_in_one_piece_is_not_put_together():
    calls = [piece for index in range(100_000) for piece in call(index)["tool_calls"]]

    _updates, outcome = run({"tool_calls": calls}, turn=(turn := new_turn()), partial=True)

    assert turn.room.reached == "calls"
    assert outcome.events == ()


@pytest.mark.spec("product 25")
def test_limits_count_over_the_steps_of_a_turn():
    limits = TurnLimits(answer_bytes=1_000, thinking_bytes=1_000)
    turn = TurnMachine(turn_id="0" * 16, model="m", provider="p", system_prompt="", limits=limits)

    run({"reasoning": "t" * 600}, {"content": "a" * 600}, call(0), turn=turn)
    _updates, outcome = run({"reasoning": "t" * 600}, {"content": "a" * 600}, turn=turn, partial=True)

    [thought] = [event for event in outcome.events if isinstance(event, Reasoning)]
    assert (turn.room.reached, len(thought.text)) == ("thinking", 400)
