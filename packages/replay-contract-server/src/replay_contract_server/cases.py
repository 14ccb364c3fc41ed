"""For every rule a request that passes and one that is refused: also for tests of a client's reading of refusals."""

from dataclasses import dataclass, field
from typing import Any

from replay_contract_server.client import assistant, call, called, output, result, said, user
from replay_contract_server.ledger import Seal, account_of, seal

STEP = {"reasoning": "Look it up.", "tool_calls": [{"name": "look", "id": "a"}]}
OTHER = {"reasoning": "Look again.", "tool_calls": [{"name": "look", "id": "b"}]}
WITHOUT_THOUGHT = {"tool_calls": [{"name": "look", "id": "c"}]}
SAID = {"reasoning": "Easy enough.", "content": "Net sales rose."}
SIGNED = {"tool_calls": [{"name": "look", "id": "a"}, {"name": "look", "id": "b"}]}
SIGNATURE = {"google": {"thought_signature": "SIG1.a"}}
DETAIL = {"type": "reasoning.encrypted", "data": "abcd-efgh", "index": 0}
DETAILED = {**STEP, "reasoning_details": [DETAIL, {"type": "reasoning.text", "text": "t", "index": 1}]}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
KEEP = {"thinking": {"type": "enabled", "clear_thinking": False}}
STRICT = {"pairing": "strict"}


@dataclass(frozen=True)
class RuleCase:
    """``issued`` is what the server says before; then ``good`` passes and ``bad`` is refused with ``text`` in it."""

    rule: str
    good: Any
    bad: Any
    text: str
    model: str = "plain-model"
    issued: tuple[dict[str, Any], ...] = ()
    knobs: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    good_body: dict[str, Any] = field(default_factory=dict)
    bad_body: dict[str, Any] = field(default_factory=dict)
    status: int = 400


def loop(message: dict[str, Any], *more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a history in which the calls of ``message`` are answered."""
    return [user(), message, *(result(one["id"]) for one in message.get("tool_calls", [])), *more]


def thought(text: Any, *calls: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return assistant(None, *(calls or (call(),)), reasoning_content=text, **extra)


def encrypted(n: int = 1, *summary: str, **changes: Any) -> dict[str, Any]:
    """Return the reasoning item of the n-th response, as its done event carried it."""
    content = Seal("gpt-5-mini", f"rs_{n}", account_of("test"), f"resp_{n}", n)
    parts = [{"type": "summary_text", "text": text} for text in summary or ("Look it up.",)]
    item = {"type": "reasoning", "id": f"rs_{n}", "summary": parts}
    return {**item, "encrypted_content": seal(content), **changes}


def without(item: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != key}


def chat(rule: str, good: Any, bad: Any, text: str, *issued: dict[str, Any], **more: Any) -> RuleCase:
    return RuleCase(rule, good, bad, text, issued=issued, **more)


def response(rule: str, good: Any, bad: Any, text: str, *issued: dict[str, Any], **more: Any) -> RuleCase:
    return RuleCase(rule, good, bad, text, "gpt-5-mini", issued, **more)


def changed(*summary: str, **changes: Any) -> list[dict[str, Any]]:
    """Return the loop of one response with something else about its reasoning item."""
    return [user(), encrypted(1, *summary, **changes), called(), output()]


CALL = assistant(None, call())
ANSWER = [user(), assistant("x"), user()]
LOOP = changed()
SECOND = [encrypted(2, "Look again."), called("b"), output("b")]
ANSWERED = [user(), encrypted(1, "Easy enough."), said("Net sales rose."), user()]
ALONE = "of type 'reasoning' was provided without its required following item."
UNREADABLE = "could not be verified. Reason: Encrypted content could not be decrypted or parsed."
MISSING_K1 = "reasoning_content is missing in assistant tool call message at index 1"
MISSING_E1 = "Missing `reasoning_content` field in the assistant message at message index 1"
CONTROLS = {"reasoning_effort": "low", "thinking": {"type": "enabled"}}
PRESERVED = [user(), assistant("Net sales rose.", reasoning_content="Easy enough."), user()]
R1, V32, V4, KIMI = "deepseek-r1", "deepseek-v3.2", "deepseek-v4-pro", "kimi-k2.6"

CHAT_CASES = [
    chat("G3", [user()], [user("x" * 400)], "exceeds the context window", knobs={"context_limit": 100}),
    chat("G4", [user()], [user()], "Unknown parameter: 'colour'.", bad_body={"colour": 1}),
    chat("G5", [user()], [user()], "contract_conflicting_reasoning_controls", bad_body=CONTROLS),
    chat("model", [user()], [user()], "model_not_found", bad_body={"model": "no-such-model"}, status=404),
    chat("path", [user()], [user()], "contract_wrong_endpoint", bad_body={"model": "gpt-5-mini"}),
    chat("A1", [user()], [user()], "not support tools", knobs={"refuses_tools": True}, bad_body={"tools": TOOLS}),
    chat("A1", [user()], loop(CALL, user()), "Bad Request", knobs={"refuses_tools": True, "gives_no_reason": True}),
    chat("A2", [user()], [{"role": "system", "content": "x"}, user()], "System role", knobs={"refuses_system": True}),
    chat("A3", ANSWER, [user(), user()], "roles must alternate", knobs={"must_alternate": True}),
    chat("A4", loop(CALL), loop(CALL, user()), "'user' after role 'tool'", knobs={"refuses_user_after_tool": True}),
    chat("A5", [user()], [{**user(), "content": [PICTURE]}], "image input", knobs={"refuses_images": True}),
    chat("C1", [user()], [], "Invalid value for 'messages'"),
    chat("C1", loop(CALL), [assistant(None, {"id": "a"})], "Invalid value for 'messages'"),
    chat("C2", ANSWER, [user(), assistant(None), user()], "expected a string, got null"),
    chat("C2", [user()], [user(), assistant("Yes.", tool_calls=[])], "expected a string, got null"),
    chat("C3", loop(CALL, user()), [*loop(CALL), user(), result()], "must be a response to a preceeding message"),
    chat(
        "C4",
        loop(assistant(None, call("a"), call("b"))),
        [user(), assistant(None, call("a"), call("b")), result("a"), user()],
        "tool_call_ids did not have response messages: b",
    ),
    chat("C5", [*loop(CALL), *loop(assistant(None, call("b")))], [*loop(CALL), *loop(CALL)], "duplicate_call"),
    chat("C5", [user()], loop(CALL, result()), "contract_duplicate_call"),
    chat("C6", loop(CALL), loop(assistant(None, call(arguments="{"))), "'arguments'"),
    chat("C6", [user()], loop(assistant(None, call(arguments="[]"))), "'arguments'"),
    chat("C7", loop(thought("t")), [{**user(), "reasoning_content": "t"}], "contract_reasoning_on_wrong_role"),
    chat("C8", [user("<think>")], [user(), assistant("a</think>b"), user()], "contract_tags_in_history"),
    chat("C9", [user("rs_1")], [user(), assistant("x", encrypted_content="ENC"), user()], "contract_foreign_items"),
    chat("C9", [user()], loop(assistant(None, call("fc_1"))), "contract_foreign_items"),
    chat("C10", loop(thought(" ")), loop(thought("")), "contract_empty_reasoning"),
    chat("C11", loop(thought("Look it up.")), loop(thought("Look it up")), "contract_reasoning_altered", STEP),
    chat(
        "C11",
        loop(thought("Look it up."), thought("Look again.", call("b")), result("b")),
        loop(thought("Look again.")),
        "contract_reasoning_borrowed",
        STEP,
        OTHER,
    ),
    chat(
        "C11",
        loop(thought(" ", call("c"))),
        loop(thought("Look it up.", call("c"))),
        "contract_reasoning_borrowed",
        STEP,
        WITHOUT_THOUGHT,
    ),
    chat(
        "C11",
        loop(thought("Look it up."), assistant("No."), user()),
        loop(thought("Look it up."), assistant("No.", reasoning_content="Look it up."), user()),
        "contract_reasoning_borrowed",
        STEP,
    ),
    chat("C12", loop(CALL), loop(assistant(None, call(arguments="{ }"))), "contract_arguments_altered", STEP),
    chat("X1", loop(CALL), loop(thought("t")), "property 'messages.1.assistant.rea", model="strict-model"),
    chat("K0", [user()], [user()], "always_on", model="kimi-k2.7-code", bad_body={"thinking": {"type": "disabled"}}),
    chat("K1", loop(thought("Look it up.")), loop(CALL), MISSING_K1, STEP, model=KIMI),
    chat("K1", loop(thought(" ")), loop(thought("")), MISSING_K1, model=KIMI),
    chat("K2", [user()], [user()], "contract_tool_choice", model=KIMI, bad_body={"tool_choice": "required"}),
    chat("K3", PRESERVED, [user(), assistant("Net sales rose."), user()], MISSING_K1, SAID, model="kimi-k2.7-code"),
    chat(
        "K3",
        [user()],
        [user(), assistant("Net sales rose.", reasoning_content="Easy."), user()],
        "contract_reasoning_altered",
        SAID,
        model="kimi-k2.7-code",
    ),
    chat("D1", ANSWER, [user(), assistant("x", reasoning_content=None), user()], "is an intermediate", model=R1),
    chat("D2", [user()], [user(), user()], "(messages[0] and messages[1] in your input)", model=R1),
    chat("D3", [user()], [user(), assistant("x")], "contract_last_role", model=R1),
    chat("D4", [user()], [user()], "contract_no_tools", model=R1, bad_body={"tools": TOOLS}),
    chat("D5", [user()], [user()], "no_logprobs", model=R1, bad_body={"logprobs": True}),
    chat("E1", loop(CALL, user()), loop(CALL), MISSING_E1, model=V32),
    chat("E1", loop(thought("")), loop(thought(None)), MISSING_E1, model=V32),
    chat("F1", loop(CALL), loop(CALL), "must be passed back", model=V4, bad_body={"tools": TOOLS}),
    chat("F1", loop(thought("t"), user()), loop(CALL, user()), "passed back", model=V4, body={"tools": TOOLS}),
    chat(
        "H1",
        loop(thought("Look it up."), *PRESERVED[1:]),
        loop(thought("Look it up."), assistant("Net sales rose."), user()),
        "contract_reasoning_altered",
        STEP,
        SAID,
        model="glm-4.7",
        body=KEEP,
    ),
    chat(
        "H1",
        loop(CALL),
        [*loop(thought("Look again.", call("b"))), *loop(thought("Look it up."))],
        "contract_reasoning_altered",
        STEP,
        OTHER,
        model="glm-4.7",
        bad_body=KEEP,
    ),
    chat(
        "O1",
        loop({**CALL, "reasoning_details": DETAILED["reasoning_details"]}),
        loop({**CALL, "reasoning_details": [DETAIL]}),
        "contract_details_altered",
        DETAILED,
        model="vendor/model-a",
    ),
    chat(
        "O2",
        loop({**CALL, "reasoning_details": DETAILED["reasoning_details"]}),
        loop({**CALL, "reasoning_details": [DETAIL]}),
        "The encrypted content abcd...efgh could not be verified.",
        DETAILED,
        model="vendor/model-a",
        bad_body={"model": "vendor/model-b"},
    ),
    chat(
        "Q1",
        loop(assistant(None, call("a", extra_content=SIGNATURE), call("b"))),
        loop(assistant(None, call("a"), call("b"))),
        "Function call is missing a thought_signature",
        SIGNED,
        model="signed-model",
    ),
]
RESPONSE_CASES = [
    response("G4", "x", "x", "Unknown parameter: 'messages'.", bad_body={"messages": []}),
    response("path", "x", "x", "contract_wrong_endpoint", bad_body={"model": "plain-model"}),
    response("A2", "x", "x", "System role", knobs={"refuses_system": True}, bad_body={"instructions": "Be brief."}),
    response("A4", LOOP, [*LOOP, user()], "'user' after", STEP, knobs={"refuses_user_after_tool": True}),
    response("S0", "x", [{"type": "novel"}], "Invalid value for 'input[0]'"),
    response("S0", [user()], [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "Invalid value: 'text'."),
    response("S0", [called(), output()], [without(called(), "call_id")], "Invalid value for 'input[0]'"),
    response("S1", "x", "x", "contract_store", bad_body={"store": None}),
    response("S2", "x", "x", "contract_include", bad_body={"include": ["file_search_call.results"]}),
    response("S3", "x", "x", "response with id 'resp_1' not found.", bad_body={"previous_response_id": "resp_1"}),
    response("S4", LOOP, [user(), {"type": "item_reference", "id": "rs_1"}], "'rs_1' not found.", STEP, status=404),
    response("S4", LOOP, changed(encrypted_content=""), "Items are not persisted", STEP, status=404),
    response("S5", LOOP, [user(), without(encrypted(), "summary"), *LOOP[2:]], "'input[1].summary'", STEP),
    response("S6", LOOP, changed(id="item_1"), "'input[1].id': 'item_1'. Expected an ID that begins with 'rs'.", STEP),
    response("S6", [said("x", id="msg_" + "1" * 60), user()], [said("x", id="msg_" + "1" * 61), user()], "too long"),
    response("S7", LOOP, changed(encrypted_content=encrypted()["encrypted_content"][:-1] + "x"), UNREADABLE, STEP),
    response("S7", LOOP, changed(encrypted_content="gAAAAABqPBJR"), "for item rs_1 could not be verified.", STEP),
    response("S7", LOOP, LOOP, UNREADABLE, STEP, bad_body={"model": "gpt-5.4"}),
    response(
        "S8", [user(), without(encrypted(), "id"), *LOOP[2:]], changed(id="rs_2"), "did not match the target", STEP
    ),
    response("S9", LOOP, changed(status="completed"), "Unknown parameter: 'input[1].status'.", STEP),
    response("S9", LOOP, changed("Look it up"), "contract_item_altered", STEP),
    response("S9", changed(x=1), changed(x=True), "item_altered", STEP, knobs={"extra_item_keys": {"x": 1}}),
    response("S10", LOOP, [user(), encrypted(), *LOOP[1:]], "Duplicate item found with id rs_1.", STEP),
    response("S11", LOOP, [encrypted(), user()], f"Item 'rs_1' {ALONE}", STEP),
    response("S12", LOOP, [user(), encrypted(), *SECOND[1:]], ALONE, STEP, OTHER, knobs=STRICT),
    response("S12", ANSWERED, [*ANSWERED[:2], said("It rose.")], ALONE, SAID, knobs=STRICT),
    response(
        "S14", LOOP, [user(), called(id="fc_1"), output()], "without its required 'reasoning' item: 'rs_1'.", STEP
    ),
    response("S15", ANSWERED, [user(), said("Net sales rose.", id="msg_1"), user()], "without its required", SAID),
    response("S17", LOOP, [called(), user(), output()], "No tool output found for function call a."),
    response("S17", LOOP, [called(), output(), output()], "contract_duplicate_call", STEP),
    response("S18", LOOP, [user(), output("z")], "No tool call found for function call output with call_id z.", STEP),
    response("S19", [*LOOP, *SECOND], [user(), *SECOND, *LOOP[1:]], "contract_order", STEP, OTHER),
    response(
        "S19",
        [*LOOP, said("Net sales rose."), user()],
        [said("Net sales rose."), *LOOP],
        "contract_order",
        STEP,
        {"content": "Net sales rose."},
    ),
    response("S20", LOOP, [user(), called(arguments="{ }"), output()], "contract_arguments_altered", STEP),
    response("S21", [said("x"), user()], [said("x", reasoning_content="t"), user()], "'input[0].reasoning_content'."),
    response("S21", "x", [user(), {"role": "tool", "content": "ok"}], "Unknown parameter: 'input[1].role'."),
    response("S22", "x", "x", "Invalid value: 'huge'.", bad_body={"reasoning": {"effort": "huge"}}),
    response("S22", "x", "x", "Invalid value: 'none'.", bad_body={"reasoning": {"summary": "none"}}),
    response("S22", "x", "x", "'reasoning.max_tokens'", bad_body={"reasoning": {"max_tokens": 1}}),
    *(
        response("S13", [user(), *LOOP[2:]], LOOP, ALONE, {**STEP, "finish": finish})
        for finish in ("failed:server_error", "length", "cancelled", None)
    ),
]
