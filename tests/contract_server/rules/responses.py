"""S7 to S20: reasoning items come back as they went out, in their places, and S0 to S22 in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.contract_server.issued import Issued, Item, is_assistant, kind_of, may_come_from
from tests.contract_server.rules import responses_shape as shape
from tests.contract_server.rules.base import Asked, Refusal, Rule, own
from tests.contract_server.rules.ciphertext import unverifiable
from tests.contract_server.rules.general import bearer_of
from tests.contract_server.script import text_of
from tests.contract_server.sealing import Seal, account_of, read_seal

OTHER_ID = "Encrypted content item_id did not match the target item id."


def _reasonings(asked: Asked) -> Iterator[tuple[int, Item, Seal | None]]:
    """Yield the reasoning items with their index as sent and what their ciphertext says."""
    for i, item in enumerate(asked.input):
        if kind_of(item) == "reasoning":
            yield i, item, read_seal(item.get("encrypted_content"), plain=asked.knobs.plain_tokens)


def _issued(asked: Asked, seal: Seal | None) -> Issued | None:
    """Return the item that a ciphertext was issued with. Hand-written ones never were."""
    return asked.ledger.items.with_id(seal.item) if seal and seal.account is not None else None


def _sealed(asked: Asked) -> Refusal | None:
    account = account_of(bearer_of(asked.headers))
    for _, item, seal in _reasonings(asked):
        if seal is None or seal.model != asked.model or seal.account not in (None, account):
            return unverifiable(item.get("id"), item.get("encrypted_content"))
    return None


def _own_id(asked: Asked) -> Refusal | None:
    for _, item, seal in _reasonings(asked):
        if seal and item.get("id") not in (None, seal.item):
            return unverifiable(item["id"], item.get("encrypted_content"), OTHER_ID)
    return None


def _unaltered(asked: Asked) -> Refusal | None:
    if not asked.knobs.verify_verbatim:
        return None
    for i, item, seal in _reasonings(asked):
        issued = _issued(asked, seal)
        if "status" in item and not (issued and "status" in issued.item):
            place = f"input[{i}].status"
            return Refusal(f"Unknown parameter: '{place}'.", "unknown_parameter", place)
        if issued and not _equal({"id": issued.item["id"], **item}, issued.item):
            return own("item_altered", f"input[{i}] is not the reasoning item that was issued.", f"input[{i}]")
    return None


def _equal(one: Item, other: Item) -> bool:
    """Compare as JSON: what Python takes for equal may differ there (1, 1.0 and true)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _followed(asked: Asked) -> Refusal | None:
    for i, item, seal in _reasonings(asked):
        if not _is_follower(_follower(asked, i)):
            return _alone(item, seal)
    return None


def _follower(asked: Asked, index: int) -> Item | None:
    return next((one for one in asked.input[index + 1 :] if kind_of(one) != "reasoning"), None)


def _is_follower(item: Item | None) -> bool:
    return item is not None and (kind_of(item) == "function_call" or is_assistant(item))


def _alone(item: Item, seal: Seal | None) -> Refusal:
    id_ = item.get("id") or (seal.item if seal else "")
    text = f"Item '{id_}' of type 'reasoning' was provided without its required following item."
    return Refusal(text, param="input")


def _paired(asked: Asked) -> Refusal | None:
    for i, item, seal in _reasonings(asked):
        issued = _issued(asked, seal)
        if issued and asked.knobs.pairing == "strict" and not _is_same(_follower(asked, i), issued.follower):
            return _alone(item, seal)
    return None


def _is_same(item: Item | None, issued: Item | None) -> bool:
    if item is None or issued is None or kind_of(item) != kind_of(issued):
        return False
    if kind_of(issued) == "function_call":
        return bool(item["call_id"] == issued["call_id"])
    return may_come_from(text_of(item.get("content")), text_of(issued["content"]))


def _of_good_responses(asked: Asked) -> Refusal | None:
    for _, item, seal in _reasonings(asked):
        issued = _issued(asked, seal)
        if issued and not asked.ledger.is_settled(issued.step):
            return _alone(item, seal)
    return None


def _calls_keep_reasoning(asked: Asked) -> Refusal | None:
    return _keep_reasoning(asked, "function_call")


def _messages_keep_reasoning(asked: Asked) -> Refusal | None:
    return _keep_reasoning(asked, "message")


def _keep_reasoning(asked: Asked, kind: str) -> Refusal | None:
    """An item that comes with its id needs the reasoning that it was issued behind."""
    before: set[str] = set()
    for item in asked.input:
        if kind_of(item) == "reasoning":
            seal = read_seal(item.get("encrypted_content"), plain=asked.knobs.plain_tokens)
            before |= {seal.item} if seal else set()
        issued = asked.ledger.items.with_id(item.get("id")) if kind_of(item) == kind else None
        if issued and issued.thought and issued.thought["id"] not in before:
            thought = f"its required 'reasoning' item: '{issued.thought['id']}'."
            return Refusal(f"Item '{item['id']}' of type '{kind}' was provided without {thought}", param="input")
    return None


def _whole_messages(asked: Asked) -> Refusal | None:
    if not asked.knobs.message_id_after_reasoning:
        return None
    for i, item, seal in _reasonings(asked):
        behind = asked.input[i + 1] if i + 1 < len(asked.input) else None
        if behind and is_assistant(behind) and not (behind.get("id") and behind.get("status")):
            return _alone(item, seal)
    return None


def _in_order(asked: Asked) -> Refusal | None:
    last = -1
    seals = {i: seal for i, _, seal in _reasonings(asked)}
    for i, item in enumerate(asked.input):
        places = [one.place for one in _candidates(asked, item, seals.get(i))]
        # A text may have been issued more than once: the earliest that fits leaves most room for what follows.
        later = [place for place in places if place > last]
        if places and not later:
            return own("order", f"input[{i}] was issued before the items that it now follows.", f"input[{i}]")
        last = min(later, default=last)
    return None


def _candidates(asked: Asked, item: Item, seal: Seal | None) -> list[Issued]:
    if kind_of(item) == "reasoning":
        issued = _issued(asked, seal)
        return [issued] if issued else []
    return asked.ledger.items.behind(item)


def _same_arguments(asked: Asked) -> Refusal | None:
    if not asked.knobs.verify_arguments:
        return None
    for i, item in enumerate(asked.input):
        issued = asked.ledger.call(item["call_id"]) if kind_of(item) == "function_call" else None
        if issued and issued.arguments != item["arguments"]:
            return own("arguments_altered", f"The arguments of call {issued.id} in input[{i}] are altered.")
    return None


RESPONSES_RULES = (
    Rule("S0", shape.input_shape),
    Rule("S1", shape.store),
    Rule("S2", shape.include),
    Rule("S3", shape.no_earlier_response),
    Rule("S4", shape.nothing_persisted),
    Rule("S5", shape.summary),
    Rule("S6", shape.ids),
    Rule("S7", _sealed),
    Rule("S8", _own_id),
    Rule("S9", _unaltered),
    Rule("S10", shape.unique_ids),
    Rule("S11", _followed),
    Rule("S12", _paired),
    Rule("S13", _of_good_responses),
    Rule("S14", _calls_keep_reasoning),
    Rule("S15", _messages_keep_reasoning),
    Rule("S16", _whole_messages),
    Rule("S17", shape.calls_have_outputs),
    Rule("S18", shape.outputs_have_calls),
    Rule("S19", _in_order),
    Rule("S20", _same_arguments),
    Rule("S21", shape.no_chat_keys),
    Rule("S22", shape.reasoning_values),
)
