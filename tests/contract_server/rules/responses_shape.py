"""What every stateless Responses request must look like: its settings, its items, its calls with their outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.contract_server.issued import is_assistant, kind_of
from tests.contract_server.ledger import REASONING_KEYS
from tests.contract_server.rules.base import Asked, Refusal, own

SEALED_REASONING = "reasoning.encrypted_content"
ITEM_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_output", "item_reference"})
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc"}
CHAT_KEYS = (*REASONING_KEYS, "tool_calls", "tool_call_id")
MAX_ID_CHARS = 64
REASONING_VALUES = {
    "summary": ("auto", "concise", "detailed"),
    "context": ("auto", "current_turn", "all_turns"),
}


def input_shape(asked: Asked) -> Refusal | None:
    """S0: the input is a text or a list of items, whose parts have the types of their role."""
    given = asked.body.get("input")
    if isinstance(given, str) and given:
        return None
    if not (isinstance(given, list) and given):
        return _invalid("input")
    for i, item in enumerate(given):
        if not _is_item(item):
            return _invalid(f"input[{i}]")
        if wrong := _wrong_part(item):
            return Refusal(f"Invalid value: '{wrong}'.", "invalid_value", f"input[{i}].content")
    return None


def _invalid(place: str) -> Refusal:
    return own("input", f"Invalid value for '{place}'", place)


def _is_item(item: Any) -> bool:
    if not isinstance(item, Mapping) or kind_of(item) not in ITEM_TYPES:
        return False
    match kind_of(item):
        case "message":
            has_content = isinstance(item.get("content"), str | list) or any(key in item for key in CHAT_KEYS)
            return has_content and str(item.get("role")) in ROLES
        case "function_call":
            return all(_is_text(item.get(key)) for key in ("call_id", "name", "arguments"))
        case "function_call_output":
            return _is_text(item.get("call_id")) and isinstance(item.get("output"), str | list)
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _wrong_part(item: Mapping[str, Any]) -> str | None:
    """Return the type of a content part that this role cannot have."""
    content = item.get("content")
    if kind_of(item) != "message" or not isinstance(content, list):
        return None
    types = [str(part.get("type")) if isinstance(part, Mapping) else "" for part in content]
    fits = ("output_text", "refusal") if is_assistant(item) else ("input_text", "input_image", "input_file")
    return next((one for one in types if one not in fits), None)


def store(asked: Asked) -> Refusal | None:
    """S1."""
    return None if asked.body.get("store") is False else own("store", "store must be false.", "store")


def include(asked: Asked) -> Refusal | None:
    """S2."""
    given = asked.body.get("include")
    if isinstance(given, list) and SEALED_REASONING in given:
        return None
    return own("include", f"include must contain {SEALED_REASONING}.", "include")


def no_earlier_response(asked: Asked) -> Refusal | None:
    """S3."""
    for name in ("previous_response_id", "conversation"):
        if asked.body.get(name) is not None:
            text = f"Previous response with id '{asked.body[name]}' not found."
            return Refusal(text, "previous_response_not_found", name)
    return None


def nothing_persisted(asked: Asked) -> Refusal | None:
    """S4."""
    for item in asked.input:
        bare = kind_of(item) == "reasoning" and not item.get("encrypted_content")
        if bare or kind_of(item) == "item_reference":
            return Refusal(_not_found(item.get("id", "")), param="input", status=404)
    return None


def _not_found(id_: object) -> str:
    return (
        f"Item with id '{id_}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )


def summary(asked: Asked) -> Refusal | None:
    """S5."""
    for i, item in enumerate(asked.input):
        if kind_of(item) == "reasoning" and not isinstance(item.get("summary"), list):
            place = f"input[{i}].summary"
            return Refusal(f"Missing required parameter: '{place}'.", "missing_required_parameter", place)
    return None


def ids(asked: Asked) -> Refusal | None:
    """S6."""
    for i, item in enumerate(asked.input):
        id_, prefix = item.get("id"), PREFIXES.get(kind_of(item))
        if id_ is not None and prefix and (text := _wrong_id(f"input[{i}].id", id_, prefix)):
            return Refusal(text, "invalid_value", f"input[{i}].id")
    return None


def _wrong_id(place: str, id_: object, prefix: str) -> str | None:
    if not isinstance(id_, str) or not id_.startswith(prefix):
        return f"Invalid '{place}': '{id_}'. Expected an ID that begins with '{prefix}'."
    if len(id_) > MAX_ID_CHARS:
        return f"Invalid '{place}': string too long. Expected a string with maximum length {MAX_ID_CHARS}."
    return None


def unique_ids(asked: Asked) -> Refusal | None:
    """S10."""
    counts = Counter(item["id"] for item in asked.input if isinstance(item.get("id"), str))
    twice = next((id_ for id_, n in counts.items() if n > 1), None)
    text = f"Duplicate item found with id {twice}. Remove duplicate items from your input and try again."
    return Refusal(text, param="input") if twice else None


def calls_have_outputs(asked: Asked) -> Refusal | None:
    """S17."""
    waiting: list[str] = []
    seen: set[tuple[str, str]] = set()
    for item in asked.input:
        kind = kind_of(item)
        if kind in ("function_call", "function_call_output"):
            if (kind, item["call_id"]) in seen:
                return own("duplicate_call", f"Call {item['call_id']} is made or answered more than once.", "input")
            seen.add((kind, item["call_id"]))
            waiting = _waiting(waiting, kind, item["call_id"])
        elif item.get("role") == "user" and waiting:
            break
    return Refusal(f"No tool output found for function call {waiting[0]}.", param="input") if waiting else None


def _waiting(calls: list[str], kind: str, call_id: str) -> list[str]:
    """Return the calls that wait for their outputs after one more item."""
    return [*calls, call_id] if kind == "function_call" else [one for one in calls if one != call_id]


def outputs_have_calls(asked: Asked) -> Refusal | None:
    """S18."""
    made: set[str] = set()
    for item in asked.input:
        if kind_of(item) == "function_call":
            made.add(item["call_id"])
        elif kind_of(item) == "function_call_output" and item["call_id"] not in made:
            text = f"No tool call found for function call output with call_id {item['call_id']}."
            return Refusal(text, param="input")
    return None


def no_chat_keys(asked: Asked) -> Refusal | None:
    """S21."""
    for i, item in enumerate(asked.input):
        key = next((key for key in CHAT_KEYS if key in item), "role" if item.get("role") == "tool" else None)
        if key:
            place = f"input[{i}].{key}"
            return Refusal(f"Unknown parameter: '{place}'.", "unknown_parameter", place)
    return None


def reasoning_values(asked: Asked) -> Refusal | None:
    """S22."""
    given = asked.body.get("reasoning")
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return Refusal(f"Invalid value: '{given}'.", "invalid_value", "reasoning")
    allowed = {"effort": asked.knobs.effort_values, **REASONING_VALUES}
    for key, value in given.items():
        if key not in allowed:
            return Refusal(f"Unknown parameter: 'reasoning.{key}'.", "unknown_parameter", f"reasoning.{key}")
        if value is not None and value not in allowed[key]:
            return Refusal(f"Invalid value: '{value}'.", "invalid_value", f"reasoning.{key}")
    return None
