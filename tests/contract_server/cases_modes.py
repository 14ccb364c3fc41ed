"""Rows for the rules of single modes: X, K, D, E, F, H, O, Q."""

from __future__ import annotations

from tests.contract_server.rule_case import (
    DETAILED,
    OTHER,
    SAID,
    SEALED,
    SIGNATURE,
    SIGNED,
    STEP,
    TOOLS,
    Case,
    loop,
    thought,
)
from tests.contract_server.talk import assistant, call, result, user

STRICT = [
    Case(
        "X1",
        loop(assistant(None, call())),
        loop(assistant(None, call(), reasoning="t")),
        "messages.1.assistant.reasoning: property 'messages.1.assistant.reasoning' is unsupported",
        model="strict-model",
    ),
    Case(
        "X1",
        [user()],
        loop(thought("t")),
        '"loc":["body","messages",1,"assistant","reasoning_content"]',
        model="strict-model",
        knobs={"style": "pydantic"},
        status=422,
    ),
]
MISSING_K1 = "reasoning_content is missing in assistant tool call message at index 1"
KIMI = [
    Case("K0", [user()], [user()], "thinking_always_on", "kimi-k2.7-code", bad_body={"thinking": {"type": "disabled"}}),
    Case("K1", loop(thought("Look it up.")), loop(assistant(None, call())), MISSING_K1, "kimi-k2.6", (STEP,)),
    Case("K1", loop(thought(" ")), loop(thought("")), MISSING_K1, "kimi-k2.6"),
    Case("K1", [user()], loop(thought(None)), MISSING_K1, "kimi-k2.6"),
    Case("K1", [user()], loop(thought("")), "(request id: ", "kimi-k2.6", knobs={"code_style": "nested"}),
    Case("K1", [user()], loop(thought("")), '"code":20015', "kimi-k2.6", knobs={"code_style": "gateway"}),
    Case(
        "K2",
        [user()],
        [user()],
        "contract_tool_choice",
        "kimi-k2.6",
        good_body={"tool_choice": "auto"},
        bad_body={"tool_choice": "required"},
    ),
    Case(
        "K3",
        [user(), assistant("Net sales rose.", reasoning_content="Easy enough."), user()],
        [user(), assistant("Net sales rose."), user()],
        MISSING_K1,
        "kimi-k2.7-code",
        (SAID,),
    ),
    Case(
        "K3",
        [user()],
        [user(), assistant("Net sales rose.", reasoning_content="Easy."), user()],
        "contract_reasoning_altered",
        "kimi-k2.7-code",
        (SAID,),
    ),
]
R1, V32, V4 = "deepseek-r1", "deepseek-v3.2", "deepseek-v4-pro"
MISSING_E1 = "Missing `reasoning_content` field in the assistant message at message index 1"
DEEPSEEK = [
    Case(
        "D1",
        [user(), assistant("x"), user()],
        [user(), assistant("x", reasoning_content="t"), user()],
        "is an intermediate result for display purposes only",
        R1,
    ),
    Case("D1", [user()], [user(), assistant("x", reasoning_content=None), user()], "intermediate result", R1),
    Case("D2", [user()], [user(), user()], "(messages[0] and messages[1] in your input)", R1),
    Case("D3", [user()], [user(), assistant("x")], "contract_last_role", R1),
    Case("D4", [user()], [user()], "contract_no_tools", R1, bad_body={"tools": TOOLS}),
    Case("D5", [user()], [user()], "no_logprobs", R1, good_body={"temperature": 1}, bad_body={"logprobs": True}),
    Case("E1", loop(thought("")), loop(assistant(None, call())), MISSING_E1, V32),
    Case("E1", loop(assistant(None, call()), user()), loop(thought(None)), MISSING_E1, V32),
    Case("E1", loop(thought(" ")), loop(thought("")), MISSING_E1, V32, knobs={"empty_is_missing": True}),
    Case(
        "F1",
        loop(thought("t"), user()),
        loop(assistant(None, call()), user()),
        "must be passed back",
        V4,
        body={"tools": TOOLS},
    ),
    Case("F1", loop(thought(" ")), loop(thought("")), "must be passed back", V4, body={"tools": TOOLS}),
    Case(
        "F1", loop(assistant(None, call())), loop(assistant(None, call())), "passed back", V4, bad_body={"tools": TOOLS}
    ),
    Case(
        "F2",
        [user(), assistant("x", reasoning_content="t"), user()],
        [user(), assistant("x"), user()],
        "passed back",
        V4,
        body={"tools": TOOLS},
        knobs={"all_messages": True},
    ),
]
KEEP = {"thinking": {"type": "enabled", "clear_thinking": False}}
OPAQUE = [
    Case(
        "H1",
        loop(thought("Look it up."), assistant("Net sales rose.", reasoning_content="Easy enough."), user()),
        loop(thought("Look it up."), assistant("Net sales rose."), user()),
        "contract_reasoning_altered",
        "glm-4.7",
        (STEP, SAID),
        body=KEEP,
    ),
    Case(
        "H1",
        loop(assistant(None, call())),
        [*loop(thought("Look again.", call("b"))), *loop(thought("Look it up."))],
        "contract_reasoning_altered",
        "glm-4.7",
        (STEP, OTHER),
        bad_body=KEEP,
    ),
    Case(
        "O1",
        loop(assistant(None, call(), reasoning_details=DETAILED["reasoning_details"])),
        loop(assistant(None, call(), reasoning_details=[SEALED])),
        "contract_details_altered",
        "vendor/model-a",
        (DETAILED,),
    ),
    Case(
        "O2",
        loop(assistant(None, call(), reasoning_details=DETAILED["reasoning_details"])),
        loop(assistant(None, call(), reasoning_details=[SEALED])),
        "The encrypted content abcd...efgh could not be verified.",
        "vendor/model-a",
        (DETAILED,),
        bad_body={"model": "vendor/model-b"},
    ),
    Case(
        "Q1",
        loop(assistant(None, call("a", extra_content=SIGNATURE), call("b"))),
        loop(assistant(None, call("a"), call("b"))),
        "Function call is missing a thought_signature",
        "signed-model",
        (SIGNED,),
    ),
    Case(
        "Q1",
        [user()],
        [*loop(assistant(None, call("a", extra_content=SIGNATURE))), assistant(None, call("b")), result("b")],
        "Function call is missing a thought_signature",
        "signed-model",
        (SIGNED,),
    ),
]

MODE_CASES = [*STRICT, *KIMI, *DEEPSEEK, *OPAQUE]
