"""C1 to C9: the shape of the message list that every chat-completions service expects."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from replay_contract_server.delimiters import has_delimiter
from replay_contract_server.ledger import REASONING_KEYS, calls_of
from replay_contract_server.rules.base import CheckedRequest, Refusal, Rule, own
from replay_contract_server.script import text_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
TAGS = ("<think>", "</think>", "<thinking>", "</thinking>")
FOREIGN_PREFIXES = ("rs_", "fc_")
STRAY_RESULT = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)


def _messages(request: CheckedRequest) -> Refusal | None:
    messages = request.body.get("messages")
    if isinstance(messages, list) and messages and all(map(_is_message, messages)):
        return None
    return Refusal("Invalid value for 'messages'", param="messages")


def _is_message(message: Any) -> bool:
    if not isinstance(message, Mapping) or str(message.get("role")) not in ROLES:
        return False
    calls = message.get("tool_calls")
    return calls is None or (isinstance(calls, list) and all(map(_is_call, calls)))


def _is_call(call: Any) -> bool:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return False
    return all(isinstance(value, str) and value for value in (call.get("id"), call["function"].get("name")))


def _content(request: CheckedRequest) -> Refusal | None:
    text = "Invalid value for 'content': expected a string, got null."
    for i, message in request.assistants():
        empty_list = [] in (message.get("content"), message.get("tool_calls"))
        if empty_list or not (message.get("content") or message.get("tool_calls")):
            return Refusal(text, param=f"messages.[{i}].content")
    return None


def _results_have_calls(request: CheckedRequest) -> Refusal | None:
    open_ids: set[object] = set()
    for i, message in enumerate(request.messages):
        if message["role"] != "tool":
            open_ids = {call["id"] for call in calls_of(message)} if message["role"] == "assistant" else set()
        elif result_id(message) not in open_ids:
            return Refusal(STRAY_RESULT, param=f"messages.[{i}].role")
    return None


def result_id(message: Mapping[str, Any]) -> str:
    """Return the id of the call that a tool message answers; empty if it names none."""
    found = message.get("tool_call_id")
    return found if isinstance(found, str) else ""


def _calls_have_results(request: CheckedRequest) -> Refusal | None:
    for i, message in request.with_calls():
        answered = set()
        for result in request.messages[i + 1 :]:
            if result["role"] != "tool":
                break
            answered.add(result_id(result))
        if missing := [call["id"] for call in calls_of(message) if call["id"] not in answered]:
            return Refusal(UNANSWERED + ", ".join(missing), param=f"messages.[{i}].tool_calls")
    return None


def _unique_calls(request: CheckedRequest) -> Refusal | None:
    made = Counter(call["id"] for _, message in request.with_calls() for call in calls_of(message))
    answered = Counter(result_id(one) for one in request.messages if one["role"] == "tool")
    twice = [id_ for counts in (made, answered) for id_, n in counts.items() if n > 1]
    return own("duplicate_call", f"Call {twice[0]} is made or answered more than once.") if twice else None


def _arguments(request: CheckedRequest) -> Refusal | None:
    for i, message in request.with_calls():
        for n, call in enumerate(calls_of(message)):
            if not _is_object_text(call["function"].get("arguments")):
                param = f"messages.[{i}].tool_calls.[{n}].function.arguments"
                return Refusal("Invalid 'arguments'", param=param)
    return None


def _is_object_text(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _reasoning_role(request: CheckedRequest) -> Refusal | None:
    for i, message in enumerate(request.messages):
        key = next((key for key in REASONING_KEYS if key in message), None)
        if key and message["role"] != "assistant":
            return own("reasoning_on_wrong_role", f"messages[{i}] has role {message['role']} and the key {key}.")
    return None


def _tags(request: CheckedRequest) -> Refusal | None:
    for i, message in request.assistants():
        text = text_of(message.get("content"))
        # In code a tag is text: an assistant may have explained it, and its words come back as it wrote them.
        if (found := next((tag for tag in TAGS if tag in text), None)) and has_delimiter(text):
            return own("tags_in_history", f"messages[{i}].content contains {found}.", f"messages.[{i}].content")
    return None


def _foreign_items(request: CheckedRequest) -> Refusal | None:
    found = next(_foreign(request.messages), None)
    return own("foreign_items", f"{found} belongs to another API.", "messages") if found else None


def _foreign(value: Any) -> Iterator[str]:
    """Yield what only the Responses API has: encrypted content, reasoning items, ids of items."""
    if isinstance(value, list):
        for one in value:
            yield from _foreign(one)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            is_id = (key == "id" or key.endswith("_id")) and isinstance(one, str) and one.startswith(FOREIGN_PREFIXES)
            if is_id or key == "encrypted_content" or (key == "type" and one == "reasoning"):
                yield f"{key}: {str(one)[:40]}"
            yield from _foreign(one)


SHAPE_RULES = (
    Rule("C1", _messages),
    Rule("C2", _content),
    Rule("C3", _results_have_calls),
    Rule("C4", _calls_have_results),
    Rule("C5", _unique_calls),
    Rule("C6", _arguments),
    Rule("C7", _reasoning_role),
    Rule("C8", _tags),
    Rule("C9", _foreign_items),
)
