"""What the server has issued: the memory behind every rule that compares a replay with its original."""

import base64
import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from replay_contract_server.script import text_of

TEXT_KEYS = ("reasoning_content", "reasoning", "thinking")
REASONING_KEYS = (*TEXT_KEYS, "reasoning_details")
MIN_PART_CHARS = 16  # shorter texts ("Yes.") occur in any answer
SEAL_KEY = b"contract-server"
Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as issued; ``signature`` is set for the first call of a step, in the mode that signs."""

    id: str
    name: str
    arguments: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One response as issued. ``in_tags``: the reasoning was inside the content, so its edges may be trimmed.

    ``items``: the output items of a Responses reply; ``summaries``: the provider's account of its reasoning, which is
    never a reasoning text.
    """

    serial: int
    model: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    details: tuple[Mapping[str, Any], ...] = ()
    in_tags: bool = False
    items: tuple[Item, ...] = ()
    summaries: tuple[str, ...] = ()

    def issued_as(self, text: str) -> bool:
        """Return whether ``text`` is this step's reasoning, unaltered."""
        return text == self.reasoning or (self.in_tags and text == self.reasoning.strip())


@dataclass(frozen=True, slots=True)
class IssuedItem:
    """One item. ``place`` counts over everything issued, ``step`` is the serial of its response.

    ``thought``: the nearest reasoning item before it in the response; ``follower``: the first other item after it.
    """

    step: int
    place: int
    item: Item
    thought: Item | None
    follower: Item | None


class Ledger:
    """All steps and items in the order of issue. A step is settled once its answer was sent to a good end."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._by_call: dict[str, Step] = {}
        self._times: Counter[str] = Counter()
        self._settled: set[int] = set()
        self._items: list[IssuedItem] = []
        self._items_by_id: dict[str, IssuedItem] = {}
        self._items_by_call: defaultdict[str, list[IssuedItem]] = defaultdict(list)

    def issue(self, step: Step) -> None:
        self._steps.append(step)
        self._by_call |= {call.id: step for call in step.calls}
        if step.reasoning:
            self._times.update({step.reasoning, step.reasoning.strip()} if step.in_tags else {step.reasoning})
        self._times.update(step.summaries)
        self._add_items(step.serial, step.items or tuple(_as_items(step)))

    def _add_items(self, serial: int, items: Sequence[Item]) -> None:
        thought: Item | None = None
        for n, item in enumerate(items):
            follower = next((one for one in items[n + 1 :] if item_type(one) != "reasoning"), None)
            issued = IssuedItem(serial, len(self._items), item, thought, follower)
            self._items.append(issued)
            if item.get("id"):
                self._items_by_id[item["id"]] = issued
            if item_type(item) == "function_call":
                self._items_by_call[item["call_id"]].append(issued)
            thought = item if item_type(item) == "reasoning" else thought

    def settle(self, serial: int) -> None:
        self._settled.add(serial)

    def is_settled(self, serial: int) -> bool:
        return serial in self._settled

    def times_issued(self, reasoning: str) -> int:
        """Return how many steps had exactly this reasoning."""
        return self._times[reasoning]

    def step_of_call(self, call_id: str) -> Step | None:
        return self._by_call.get(call_id)

    def call(self, call_id: str) -> Call | None:
        step = self._by_call.get(call_id)
        return next((call for call in step.calls if call.id == call_id), None) if step else None

    def sources_of(self, message: Mapping[str, Any]) -> Sequence[Step]:
        """Return the steps that an assistant message can come from, by its calls, or else by its text.

        The text may be a part of what was issued: a client need not replay sections that it shows elsewhere. An exact
        match excludes partial ones.
        """
        if ids := [call["id"] for call in calls_of(message)]:
            steps = [self._by_call[id_] for id_ in ids if id_ in self._by_call]
            return list({step.serial: step for step in steps}.values())
        text = text_of(message.get("content"))
        found = [step for step in self._steps if not step.calls and may_come_from(text, step.content)]
        return [step for step in found if step.content.strip() == text.strip()] or found

    def has_detail(self, element: Mapping[str, Any], model: str) -> bool:
        """Return whether this element of ``reasoning_details`` was issued by this model."""
        return any(step.model == model and element in step.details for step in self._steps)

    def item(self, id_: object) -> IssuedItem | None:
        return self._items_by_id.get(id_) if isinstance(id_, str) else None

    def item_sources(self, item: Item) -> list[IssuedItem]:
        """Return what a call or an assistant message in a request may have been issued as, in the order of issue."""
        if known := self.item(item.get("id")):
            return [known]
        if item_type(item) == "function_call":
            return list(self._items_by_call.get(item["call_id"], ()))
        if not is_assistant(item):
            return []
        text = text_of(item.get("content"))
        return [
            one for one in self._items if is_assistant(one.item) and may_come_from(text, text_of(one.item["content"]))
        ]


def _as_items(step: Step) -> Iterator[Item]:
    """Yield a chat message as the items that it becomes when the conversation continues over Responses."""
    if step.content:
        yield {"type": "message", "role": "assistant", "content": step.content}
    yield from ({"type": "function_call", "call_id": call.id, "name": call.name} for call in step.calls)


def item_type(item: Item) -> str:
    """Return the item's type, which a message may leave out."""
    return str(item.get("type") or ("message" if "role" in item else ""))


def is_assistant(item: Item) -> bool:
    return item_type(item) == "message" and item.get("role") == "assistant"


def may_come_from(text: str, issued: str) -> bool:
    """Return whether ``text`` is what was issued, or a part of it that is long enough."""
    text = text.strip()
    return bool(text) and (text == issued.strip() or (len(text) >= MIN_PART_CHARS and text in issued))


def calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message's tool calls; rule C1 has checked that they are objects with an id."""
    return message.get("tool_calls") or []


def signature_of(call: Mapping[str, Any]) -> str | None:
    """Return the thought signature of a tool call in the form that a client sends."""
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    return google.get("thought_signature") if isinstance(google, Mapping) else None


def reasoning_texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the different non-empty reasoning texts of a message, whatever their keys."""
    values = (message.get(key) for key in TEXT_KEYS)
    yield from dict.fromkeys(value for value in values if isinstance(value, str) and value)


class Seal(Struct, frozen=True):
    """The payload of encrypted reasoning, which this server alone can make: the model, item and account it is for."""

    model: str
    item: str
    account: str
    response: str
    serial: int


def account_of(token: str) -> str:
    """Return the account that a bearer token belongs to."""
    return hashlib.sha256(token.encode()).hexdigest()[:12]


def seal(content: Seal, mark: str = "ENC1") -> str:
    """Return the ciphertext. With the mark ``ENC0`` it looks like one and is never accepted."""
    payload = base64.urlsafe_b64encode(msgspec.json.encode(content)).decode()
    return f"{mark}.{payload}.{_sign(payload)}"


def read_seal(text: object) -> Seal | None:
    """Return the payload of a ciphertext that is intact."""
    if not isinstance(text, str):
        return None
    mark, _, rest = text.partition(".")
    payload, _, signature = rest.partition(".")
    intact = mark == "ENC1" and hmac.compare_digest(_sign(payload).encode(), signature.encode("utf-8", "replace"))
    return msgspec.json.decode(base64.urlsafe_b64decode(payload), type=Seal) if intact else None


def _sign(payload: str) -> str:
    return hmac.new(SEAL_KEY, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
