"""Rows for the rules of the Responses API: S, and what of G differs there."""

from __future__ import annotations

from typing import Any

from tests.contract_server.rule_case import LOOPED, OTHER, SAID, STEP, Case, sealed, without
from tests.contract_server.talk import called, output, said, user

GPT = "gpt-5-mini"
ALONE = "of type 'reasoning' was provided without its required following item."
UNREADABLE = "could not be verified. Reason: Encrypted content could not be decrypted or parsed."
ANSWERED = [user(), sealed(1, "Easy enough."), said("Net sales rose."), user()]


def row(rule: str, good: Any, bad: Any, text: str, *issued: dict[str, Any], **more: Any) -> Case:
    return Case(rule, good, bad, text, GPT, issued, **more)


def changed(*summary: str, **changes: Any) -> list[dict[str, Any]]:
    """Return the loop with something else about its reasoning item."""
    return [user(), sealed(1, *summary, **changes), called(), output()]


GENERAL = [
    row("G3", "short", "long " * 100, "context_length_exceeded", knobs={"context_limit": 50}),
    row("G4", "x", "x", "Unknown parameter: 'messages'.", bad_body={"messages": []}),
    row("path", "x", "x", "contract_wrong_endpoint", bad_body={"model": "plain-model"}),
    row("S0", [user()], [], "Invalid value for 'input'"),
    row("S0", "x", [{"type": "novel"}], "Invalid value for 'input[0]'"),
    row("S0", [said("x"), user()], [{**said("x"), "content": [{"type": "input_text", "text": "x"}]}], "'input_text'"),
    row("S0", [user()], [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "Invalid value: 'text'."),
    row("S0", [called(), output()], [without(called(), "call_id")], "Invalid value for 'input[0]'"),
    row("S1", "x", "x", "contract_store", bad_body={"store": True}),
    row("S1", "x", "x", "contract_store", bad_body={"store": None}),
    row("S2", "x", "x", "contract_include", bad_body={"include": ["file_search_call.results"]}),
    row("S2", "x", "x", "contract_include", bad_body={"include": None}),
    row("S3", "x", "x", "Previous response with id 'resp_1' not found.", bad_body={"previous_response_id": "resp_1"}),
    row("S3", "x", "x", "previous_response_not_found", bad_body={"conversation": "conv_1"}),
    row(
        "S22",
        "x",
        "x",
        "Invalid value: 'huge'.",
        body={"reasoning": {"effort": "low"}},
        bad_body={"reasoning": {"effort": "huge"}},
    ),
    row("S22", "x", "x", "'low'", knobs={"effort_values": ["high"]}, bad_body={"reasoning": {"effort": "low"}}),
    row(
        "S22",
        "x",
        "x",
        "Invalid value: 'none'.",
        good_body={"reasoning": {"summary": "auto"}},
        bad_body={"reasoning": {"summary": "none"}},
    ),
    row(
        "S22",
        "x",
        "x",
        "'all'",
        good_body={"reasoning": {"context": "all_turns"}},
        bad_body={"reasoning": {"context": "all"}},
    ),
    row("S22", "x", "x", "'reasoning.max_tokens'", bad_body={"reasoning": {"max_tokens": 1}}),
]
SEALS = [
    row(
        "S4",
        LOOPED,
        [user(), {"type": "item_reference", "id": "rs_1"}],
        "Item with id 'rs_1' not found.",
        STEP,
        status=404,
    ),
    row(
        "S4",
        LOOPED,
        [user(), without(sealed(), "encrypted_content"), called(), output()],
        "Items are not persisted",
        STEP,
        status=404,
    ),
    row("S4", LOOPED, changed(encrypted_content=None), "Items are not persisted", STEP, status=404),
    row("S4", LOOPED, changed(encrypted_content=""), "Items are not persisted", STEP, status=404),
    row("S5", LOOPED, [user(), without(sealed(), "summary"), called(), output()], "'input[1].summary'", STEP),
    row("S6", LOOPED, changed(id="item_1"), "'input[1].id': 'item_1'. Expected an ID that begins with 'rs'.", STEP),
    row("S6", LOOPED, [user(), called(id="call_1"), output()], "begins with 'fc'", STEP),
    row("S6", "x", [said("x", id="1"), user()], "begins with 'msg'"),
    row("S6", [said("x", id="msg_" + "1" * 60), user()], [said("x", id="msg_" + "1" * 61), user()], "too long"),
    row("S7", LOOPED, changed(encrypted_content=sealed()["encrypted_content"][:-1] + "x"), UNREADABLE, STEP),
    row("S7", LOOPED, changed(encrypted_content="gAAAAABqPBJR"), "for item rs_1 could not be verified.", STEP),
    row(
        "S7",
        LOOPED,
        [user(), without(changed(encrypted_content="gAAAAABqPBJR")[1], "id"), called(), output()],
        "content gAAA...PBJR could",
        STEP,
    ),
    row(
        "S7", LOOPED, changed(encrypted_content=sealed()["encrypted_content"].replace("ENC1", "ENC0")), UNREADABLE, STEP
    ),
    row("S7", LOOPED, LOOPED, UNREADABLE, STEP, bad_body={"model": "gpt-5.4"}),
    row("S7", LOOPED, changed(encrypted_content="ENC[gpt-5-mini|rs_1|1]"), UNREADABLE, STEP),
    row(
        "S8",
        [user(), without(sealed(), "id"), called(), output()],
        changed(id="rs_2"),
        "item_id did not match the target item id.",
        STEP,
    ),
    row("S9", LOOPED, changed(status="completed"), "Unknown parameter: 'input[1].status'.", STEP),
    row("S9", LOOPED, changed("Look it up"), "contract_item_altered", STEP),
    row(
        "S9",
        changed(future={"a": [1]}),
        LOOPED,
        "contract_item_altered",
        STEP,
        knobs={"extra_item_keys": {"future": {"a": [1]}}},
    ),
    row(
        "S9",
        changed(status="completed"),
        changed(status="done"),
        "contract_item_altered",
        STEP,
        knobs={"extra_item_keys": {"status": "completed"}},
    ),
    row(
        "S9",
        changed(mark=1),
        changed(mark=True),
        "contract_item_altered",
        STEP,
        knobs={"extra_item_keys": {"mark": 1}},
    ),
    row("S10", LOOPED, [user(), sealed(), sealed(), called(), output()], "Duplicate item found with id rs_1.", STEP),
    row(
        "S10",
        [user(), said("x", id="msg_1"), user()],
        [user(), said("x", id="msg_1"), said("x", id="msg_1")],
        "with id msg_1.",
    ),
]
PLACES = [
    row("S11", LOOPED, [user(), sealed()], ALONE, STEP),
    row("S11", LOOPED, [sealed(), user()], f"Item 'rs_1' {ALONE}", STEP),
    row("S11", LOOPED, [user(), called(), without(sealed(), "id"), output()], f"Item 'rs_1' {ALONE}", STEP),
    row(
        "S12",
        LOOPED,
        [user(), sealed(), said("Net sales rose.")],
        ALONE,
        STEP,
        {"content": "Net sales rose."},
        knobs={"pairing": "strict"},
    ),
    row(
        "S12", ANSWERED, [user(), sealed(1, "Easy enough."), said("It rose.")], ALONE, SAID, knobs={"pairing": "strict"}
    ),
    row("S12", LOOPED, [user(), sealed(), called("b"), output("b")], ALONE, STEP, OTHER, knobs={"pairing": "strict"}),
    row(
        "S14",
        LOOPED,
        [user(), called(id="fc_1"), output()],
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        STEP,
    ),
    row(
        "S14",
        [user(), called(), output()],
        [user(), called(id="fc_1"), sealed(), said("x")],
        "without its required",
        STEP,
    ),
    row(
        "S15",
        ANSWERED,
        [user(), said("Net sales rose.", id="msg_1"), user()],
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
        SAID,
    ),
    row(
        "S16",
        [user(), sealed(1, "Easy enough."), said("Net sales rose.", id="msg_1", status="completed"), user()],
        ANSWERED,
        ALONE,
        SAID,
        knobs={"message_id_after_reasoning": True},
    ),
    row("S17", LOOPED, [user(), sealed(), called()], "No tool output found for function call a.", STEP),
    row("S17", LOOPED, [called(), user(), output()], "No tool output found for function call a."),
    row("S17", LOOPED, [called(), output(), output()], "contract_duplicate_call", STEP),
    row(
        "S17", [called(), called("b"), output("b"), output()], [called(), called(), output()], "contract_duplicate_call"
    ),
    row("S18", LOOPED, [user(), output("z")], "No tool call found for function call output with call_id z.", STEP),
    row(
        "S19",
        [*LOOPED, sealed(2, "Look again."), called("b"), output("b")],
        [user(), sealed(2, "Look again."), called("b"), output("b"), *LOOPED[1:]],
        "contract_order",
        STEP,
        OTHER,
    ),
    row(
        "S19",
        [*LOOPED, said("Net sales rose."), user()],
        [said("Net sales rose."), *LOOPED],
        "contract_order",
        STEP,
        {"content": "Net sales rose."},
    ),
    row("S20", LOOPED, [user(), called(arguments="{ }"), output()], "contract_arguments_altered", STEP),
    row(
        "S21",
        [said("x"), user()],
        [said("x", reasoning_content="t"), user()],
        "Unknown parameter: 'input[0].reasoning_content'.",
    ),
    row("S21", "x", [{"role": "assistant", "content": None, "tool_calls": []}, user()], "'input[0].tool_calls'"),
    row("S21", "x", [user(), {"role": "tool", "content": "ok"}], "Unknown parameter: 'input[1].role'."),
]
UNFINISHED = [
    row("S13", [user(), called(), output()], LOOPED, ALONE, {**STEP, "finish": finish})
    for finish in ("failed:server_error", "incomplete:max_output_tokens", "length", "cancelled", None)
]

RESPONSES_CASES = [*GENERAL, *SEALS, *PLACES, *UNFINISHED]
