"""S0 to S22: the Responses API. Reasoning items come back as they were issued, in their places."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from replay_contract_server.ledger import (
    REASONING_KEYS,
    IssuedItem,
    Item,
    Seal,
    is_assistant,
    item_type,
    may_come_from,
    read_seal,
)
from replay_contract_server.rules.base import CheckedRequest, Refusal, Rule, own
from replay_contract_server.rules.opaque import unverifiable
from replay_contract_server.script import text_of

OTHER_ID = "Encrypted content item_id did not match the target item id."
ENCRYPTED = "reasoning.encrypted_content"
ITEM_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_output", "item_reference"})
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
PREFIXES = {"reasoning": "rs", "message": "msg", "function_call": "fc"}
CHAT_KEYS = (*REASONING_KEYS, "tool_calls", "tool_call_id")
MAX_ID_CHARS = 64
REASONING_VALUES = {
    "effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "summary": ("auto", "concise", "detailed"),
    "context": ("auto", "current_turn", "all_turns"),
    "mode": ("standard", "pro"),
}


def _input_shape(request: CheckedRequest) -> Refusal | None:
    """S0: the input is a text or a list of items, whose parts have the types of their role."""
    given = request.body.get("input")
    if isinstance(given, str) and given:
        return None
    if not (isinstance(given, list) and given):
        return own("input", "Invalid value for 'input'", "input")
    for i, item in enumerate(given):
        if not _is_item(item):
            return own("input", f"Invalid value for 'input[{i}]'", f"input[{i}]")
        if wrong := _wrong_part(item):
            return Refusal(f"Invalid value: '{wrong}'.", "invalid_value", f"input[{i}].content")
    return None


def _is_item(item: Any) -> bool:
    if not isinstance(item, Mapping) or item_type(item) not in ITEM_TYPES:
        return False
    match item_type(item):
        case "message":
            has_content = isinstance(item.get("content"), str | list) or any(key in item for key in CHAT_KEYS)
            return has_content and str(item.get("role")) in ROLES
        case "function_call":
            return all(isinstance(item.get(key), str) and item[key] for key in ("call_id", "name", "arguments"))
        case "function_call_output":
            has_id = isinstance(item.get("call_id"), str) and bool(item["call_id"])
            return has_id and isinstance(item.get("output"), str | list)
    return True


def _wrong_part(item: Mapping[str, Any]) -> str | None:
    """Return the type of a content part that this role cannot have."""
    content = item.get("content")
    if item_type(item) != "message" or not isinstance(content, list):
        return None
    types = [str(part.get("type")) if isinstance(part, Mapping) else "" for part in content]
    fits = ("output_text", "refusal") if is_assistant(item) else ("input_text", "input_image", "input_file")
    return next((one for one in types if one not in fits), None)


def _store(request: CheckedRequest) -> Refusal | None:
    return None if request.body.get("store") is False else own("store", "store must be false.", "store")


def _include(request: CheckedRequest) -> Refusal | None:
    given = request.body.get("include")
    if isinstance(given, list) and ENCRYPTED in given:
        return None
    return own("include", f"include must contain {ENCRYPTED}.", "include")


def _no_earlier_response(request: CheckedRequest) -> Refusal | None:
    for name in ("previous_response_id", "conversation"):
        if request.body.get(name) is not None:
            text = f"Previous response with id '{request.body[name]}' not found."
            return Refusal(text, "previous_response_not_found", name)
    return None


def _nothing_persisted(request: CheckedRequest) -> Refusal | None:
    for item in request.input:
        is_bare = item_type(item) == "reasoning" and not item.get("encrypted_content")
        if is_bare or item_type(item) == "item_reference":
            text = (
                f"Item with id '{item.get('id', '')}' not found. Items are not persisted when `store` is set to false. "
                "Try again with `store` set to true, or remove this item from your input."
            )
            return Refusal(text, param="input", status=404)
    return None


def _summary(request: CheckedRequest) -> Refusal | None:
    for i, item in enumerate(request.input):
        if item_type(item) == "reasoning" and not isinstance(item.get("summary"), list):
            place = f"input[{i}].summary"
            return Refusal(f"Missing required parameter: '{place}'.", "missing_required_parameter", place)
    return None


def _ids(request: CheckedRequest) -> Refusal | None:
    for i, item in enumerate(request.input):
        id_, prefix, place = item.get("id"), PREFIXES.get(item_type(item)), f"input[{i}].id"
        if id_ is None or not prefix:
            continue
        if not isinstance(id_, str) or not id_.startswith(prefix):
            text = f"Invalid '{place}': '{id_}'. Expected an ID that begins with '{prefix}'."
            return Refusal(text, "invalid_value", place)
        if len(id_) > MAX_ID_CHARS:
            text = f"Invalid '{place}': string too long. Expected a string with maximum length {MAX_ID_CHARS}."
            return Refusal(text, "invalid_value", place)
    return None


def _reasonings(request: CheckedRequest) -> Iterator[tuple[int, Item, Seal | None]]:
    """Yield the reasoning items with their index and the payload of their ciphertext."""
    for i, item in enumerate(request.input):
        if item_type(item) == "reasoning":
            yield i, item, read_seal(item.get("encrypted_content"))


def _issued_reasonings(request: CheckedRequest) -> Iterator[tuple[int, Item, IssuedItem]]:
    for i, item, seal in _reasonings(request):
        if seal and (issued := request.ledger.item(seal.item)):
            yield i, item, issued


def _readable(request: CheckedRequest) -> Refusal | None:
    """S7: ciphertext is intact, and made for this model and account."""
    for _, item, seal in _reasonings(request):
        if seal is None or seal.model != request.model or seal.account != request.account:
            return unverifiable(item.get("id"), item.get("encrypted_content"))
    return None


def _own_id(request: CheckedRequest) -> Refusal | None:
    for _, item, seal in _reasonings(request):
        if seal and item.get("id") not in (None, seal.item):
            return unverifiable(item["id"], item.get("encrypted_content"), OTHER_ID)
    return None


def _unaltered(request: CheckedRequest) -> Refusal | None:
    for i, item, seal in _reasonings(request):
        issued = request.ledger.item(seal.item) if seal else None
        if "status" in item and not (issued and "status" in issued.item):
            place = f"input[{i}].status"
            return Refusal(f"Unknown parameter: '{place}'.", "unknown_parameter", place)
        if issued and not _equal({"id": issued.item["id"], **item}, issued.item):
            return own("item_altered", f"input[{i}] is not the reasoning item that was issued.", f"input[{i}]")
    return None


def _equal(one: Item, other: Item) -> bool:
    """Compare as JSON: values that are equal in Python may differ there (1, 1.0 and true)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _unique_ids(request: CheckedRequest) -> Refusal | None:
    counts = Counter(item["id"] for item in request.input if isinstance(item.get("id"), str))
    twice = next((id_ for id_, n in counts.items() if n > 1), None)
    text = f"Duplicate item found with id {twice}. Remove duplicate items from your input and try again."
    return Refusal(text, param="input") if twice else None


def _follower(request: CheckedRequest, index: int) -> Item | None:
    return next((one for one in request.input[index + 1 :] if item_type(one) != "reasoning"), None)


def _alone(item: Item, item_id: str) -> Refusal:
    id_ = item.get("id") or item_id
    text = f"Item '{id_}' of type 'reasoning' was provided without its required following item."
    return Refusal(text, param="input")


def _followed(request: CheckedRequest) -> Refusal | None:
    for i, item, seal in _reasonings(request):
        follower = _follower(request, i)
        if follower is None or not (item_type(follower) == "function_call" or is_assistant(follower)):
            return _alone(item, seal.item if seal else "")
    return None


def _paired(request: CheckedRequest) -> Refusal | None:
    """S12: where pairing is strict, the item is followed by what it was issued before."""
    if request.knobs.pairing == "strict":
        for i, item, issued in _issued_reasonings(request):
            if not _is_same(_follower(request, i), issued.follower):
                return _alone(item, issued.item["id"])
    return None


def _is_same(item: Item | None, issued: Item | None) -> bool:
    if item is None or issued is None or item_type(item) != item_type(issued):
        return False
    if item_type(issued) == "function_call":
        return bool(item["call_id"] == issued["call_id"])
    return may_come_from(text_of(item.get("content")), text_of(issued["content"]))


def _of_good_responses(request: CheckedRequest) -> Refusal | None:
    for _, item, issued in _issued_reasonings(request):
        if not request.ledger.is_settled(issued.step):
            return _alone(item, issued.item["id"])
    return None


def _preserve_reasoning(request: CheckedRequest, kind: str) -> Refusal | None:
    """S14, S15: an item that comes with its id needs the reasoning that it was issued after."""
    before: set[str] = set()
    for item in request.input:
        if item_type(item) == "reasoning" and (seal := read_seal(item.get("encrypted_content"))):
            before.add(seal.item)
        issued = request.ledger.item(item.get("id")) if item_type(item) == kind else None
        if issued and issued.thought and issued.thought["id"] not in before:
            thought = f"its required 'reasoning' item: '{issued.thought['id']}'."
            return Refusal(f"Item '{item['id']}' of type '{kind}' was provided without {thought}", param="input")
    return None


def _calls_have_outputs(request: CheckedRequest) -> Refusal | None:
    waiting: list[str] = []
    seen: set[tuple[str, str]] = set()
    for item in request.input:
        kind = item_type(item)
        if kind in ("function_call", "function_call_output"):
            call_id = item["call_id"]
            if (kind, call_id) in seen:
                return own("duplicate_call", f"Call {call_id} is made or answered more than once.", "input")
            seen.add((kind, call_id))
            waiting = [*waiting, call_id] if kind == "function_call" else [one for one in waiting if one != call_id]
        elif item.get("role") == "user" and waiting:
            break
    return Refusal(f"No tool output found for function call {waiting[0]}.", param="input") if waiting else None


def _outputs_have_calls(request: CheckedRequest) -> Refusal | None:
    made: set[str] = set()
    for item in request.input:
        if item_type(item) == "function_call":
            made.add(item["call_id"])
        elif item_type(item) == "function_call_output" and item["call_id"] not in made:
            text = f"No tool call found for function call output with call_id {item['call_id']}."
            return Refusal(text, param="input")
    return None


def _in_order(request: CheckedRequest) -> Refusal | None:
    last = -1
    for i, item in enumerate(request.input):
        if item_type(item) == "reasoning":
            seal = read_seal(item.get("encrypted_content"))
            sources = [found] if seal and (found := request.ledger.item(seal.item)) else []
        else:
            sources = request.ledger.item_sources(item)
        # A text may have been issued more than once: the earliest that fits leaves most room for what follows.
        later = [one.place for one in sources if one.place > last]
        if sources and not later:
            return own("order", f"input[{i}] was issued before the items that it now follows.", f"input[{i}]")
        last = min(later, default=last)
    return None


def _same_arguments(request: CheckedRequest) -> Refusal | None:
    for i, item in enumerate(request.input):
        issued = request.ledger.call(item["call_id"]) if item_type(item) == "function_call" else None
        if issued and issued.arguments != item["arguments"]:
            return own("arguments_altered", f"The arguments of call {issued.id} in input[{i}] are altered.")
    return None


def _no_chat_keys(request: CheckedRequest) -> Refusal | None:
    for i, item in enumerate(request.input):
        key = next((key for key in CHAT_KEYS if key in item), "role" if item.get("role") == "tool" else None)
        if key:
            place = f"input[{i}].{key}"
            return Refusal(f"Unknown parameter: '{place}'.", "unknown_parameter", place)
    return None


def _reasoning_values(request: CheckedRequest) -> Refusal | None:
    given = request.body.get("reasoning")
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return Refusal(f"Invalid value: '{given}'.", "invalid_value", "reasoning")
    for key, value in given.items():
        if key not in REASONING_VALUES:
            return Refusal(f"Unknown parameter: 'reasoning.{key}'.", "unknown_parameter", f"reasoning.{key}")
        if value is not None and value not in REASONING_VALUES[key]:
            return Refusal(f"Invalid value: '{value}'.", "invalid_value", f"reasoning.{key}")
    return None


RESPONSES_RULES = (
    Rule("S0", _input_shape),
    Rule("S1", _store),
    Rule("S2", _include),
    Rule("S3", _no_earlier_response),
    Rule("S4", _nothing_persisted),
    Rule("S5", _summary),
    Rule("S6", _ids),
    Rule("S7", _readable),
    Rule("S8", _own_id),
    Rule("S9", _unaltered),
    Rule("S10", _unique_ids),
    Rule("S11", _followed),
    Rule("S12", _paired),
    Rule("S13", _of_good_responses),
    Rule("S14", lambda request: _preserve_reasoning(request, "function_call")),
    Rule("S15", lambda request: _preserve_reasoning(request, "message")),
    Rule("S17", _calls_have_outputs),
    Rule("S18", _outputs_have_calls),
    Rule("S19", _in_order),
    Rule("S20", _same_arguments),
    Rule("S21", _no_chat_keys),
    Rule("S22", _reasoning_values),
)
