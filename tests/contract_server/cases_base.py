"""Rows for the rules that hold in every chat mode: G, C."""

from __future__ import annotations

from tests.contract_server.rule_case import BARE, OTHER, STEP, Case, loop, thought
from tests.contract_server.talk import assistant, call, result, user

GENERAL = [
    Case("G3", [user("short")], [user("long " * 100)], "context_length_exceeded", knobs={"context_limit": 50}),
    Case("G4", [user()], [user()], "Unknown parameter: 'colour'.", bad_body={"colour": 1}),
    Case(
        "G5",
        [user()],
        [user()],
        "contract_conflicting_reasoning_controls",
        good_body={"reasoning_effort": "low"},
        bad_body={"reasoning_effort": "low", "thinking": {"type": "enabled"}},
    ),
    Case(
        "G5",
        [user()],
        [user()],
        "contract_conflicting_reasoning_controls",
        "deepseek-v4-pro",
        good_body={"reasoning_effort": "low", "thinking": {"type": "enabled"}},
        bad_body={"reasoning": {"effort": "low"}, "thinking": {"type": "enabled"}},
    ),
    Case("model", [user()], [user()], "model_not_found", bad_body={"model": "no-such-model"}, status=404),
    Case("path", [user()], [user()], "contract_wrong_endpoint", bad_body={"model": "gpt-5-mini"}),
]
SHAPE = [
    Case("C1", [user()], [], "Invalid value for 'messages'"),
    Case("C1", [user()], [{"role": "narrator", "content": "x"}], "Invalid value for 'messages'"),
    Case("C1", loop(assistant(None, call())), [assistant(None, {"id": "a"})], "Invalid value for 'messages'"),
    Case("C2", [user(), assistant("Yes."), user()], [user(), assistant(None), user()], "expected a string, got null"),
    Case("C2", [user()], [user(), assistant("Yes.", tool_calls=[])], "expected a string, got null"),
    Case("C3", loop(assistant(None, call())), [user(), result("a")], "must be a response to a preceeding message"),
    Case(
        "C3",
        loop(assistant(None, call()), user()),
        [*loop(assistant(None, call())), user(), result("a")],
        "must be a response to a preceeding message",
    ),
    Case(
        "C4",
        loop(assistant(None, call("a"), call("b"))),
        [user(), assistant(None, call("a"), call("b")), result("a"), user()],
        "tool_call_ids did not have response messages: b",
    ),
    Case("C4", [user()], [user(), assistant(None, call("a"))], "did not have response messages: a"),
    Case(
        "C5",
        [*loop(assistant(None, call("a"))), *loop(assistant(None, call("b")))],
        [*loop(assistant(None, call("a"))), *loop(assistant(None, call("a")))],
        "contract_duplicate_call",
    ),
    Case("C5", [user()], loop(assistant(None, call()), result("a")), "contract_duplicate_call"),
    Case("C6", loop(assistant(None, call(arguments="{}"))), loop(assistant(None, call(arguments="{"))), "'arguments'"),
    Case("C6", [user()], loop(assistant(None, call(arguments={}))), "'arguments'"),
    Case("C6", [user()], loop(assistant(None, call(arguments="[]"))), "'arguments'"),
    Case(
        "C7",
        loop(thought("t")),
        [{**user(), "reasoning_content": "t"}],
        "contract_reasoning_on_wrong_role",
    ),
    Case("C8", [user("<think>")], [user(), assistant("a</think>b"), user()], "contract_tags_in_history"),
    Case("C9", [user("rs_1")], [user(), assistant("x", encrypted_content="ENC"), user()], "contract_foreign_items"),
    Case("C9", [user()], loop(assistant(None, call("fc_1"))), "contract_foreign_items"),
    Case(
        "C9",
        [user()],
        [user(), assistant("x", reasoning_details=[{"type": "reasoning"}]), user()],
        "contract_foreign_items",
    ),
    Case("C10", loop(thought(" ")), loop(thought("")), "contract_empty_reasoning"),
    Case("C10", [user()], loop(thought(None)), "contract_empty_reasoning"),
]
VERBATIM = [
    Case(
        "C11", loop(thought("Look it up.")), loop(thought("Look it up")), "contract_reasoning_altered", issued=(STEP,)
    ),
    Case(
        "C11",
        loop(thought("Look it up."), thought("Look again.", call("b")), result("b")),
        loop(thought("Look again.")),
        "contract_reasoning_borrowed",
        issued=(STEP, OTHER),
    ),
    Case(
        "C11",
        loop(thought(" ", call("c"))),
        loop(thought("Look it up.", call("c"))),
        "contract_reasoning_borrowed",
        issued=(STEP, BARE),
    ),
    Case(
        "C11",
        loop(thought(" ", call("c")), thought(" ", call("d")), result("d"), thought("  ", call("e")), result("e")),
        loop(thought(" ")),
        "contract_reasoning_altered",
        issued=(BARE, {"tool_calls": [{"name": "look", "id": "d"}]}, STEP),
    ),
    Case(
        "C11",
        loop(thought(" "), thought(" ", call("c")), result("c")),
        loop(thought("  "), thought(" ", call("c")), result("c")),
        "contract_reasoning_altered",
        issued=({**STEP, "reasoning": " "}, BARE),
    ),
    Case(
        "C11",
        [*loop(thought("Look it up."), assistant("No.")), user()],
        [*loop(thought("Look it up."), assistant("No.", reasoning_content="Look it up.")), user()],
        "contract_reasoning_borrowed",
        issued=(STEP,),
    ),
    Case(
        "C12",
        loop(assistant(None, call(arguments="{}"))),
        loop(assistant(None, call(arguments="{ }"))),
        "contract_arguments_altered",
        issued=(STEP,),
    ),
]

BASE_CASES = [*GENERAL, *SHAPE, *VERBATIM]
