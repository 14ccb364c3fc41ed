"""Output items as issued, found again by id, by call or by text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract_server.script import text_of

PART_CHARS = 16  # shorter texts ("Yes.") occur in anybody's answer
Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Issued:
    """One item. ``place`` counts over everything that was issued, ``step`` is the serial of its response.

    ``thought`` is the nearest reasoning item before it in the response, ``follower`` the first other item behind it.
    """

    step: int
    place: int
    item: Item
    thought: Item | None
    follower: Item | None


class IssuedItems:
    """All items in the order of issue."""

    def __init__(self) -> None:
        self._all: list[Issued] = []
        self._by_id: dict[str, Issued] = {}
        self._by_call: defaultdict[str, list[Issued]] = defaultdict(list)

    def add(self, step: int, items: Sequence[Item]) -> None:
        thought: Item | None = None
        for n, item in enumerate(items):
            follower = next((one for one in items[n + 1 :] if kind_of(one) != "reasoning"), None)
            issued = Issued(step, len(self._all), item, thought, follower)
            self._all.append(issued)
            if item.get("id"):
                self._by_id[item["id"]] = issued
            if kind_of(item) == "function_call":
                self._by_call[item["call_id"]].append(issued)
            thought = item if kind_of(item) == "reasoning" else thought

    def with_id(self, id_: object) -> Issued | None:
        return self._by_id.get(id_) if isinstance(id_, str) else None

    def behind(self, item: Item) -> list[Issued]:
        """Return what a call or an assistant message in a request can have been issued as, in the order of issue."""
        if known := self.with_id(item.get("id")):
            return [known]
        if kind_of(item) == "function_call":
            return list(self._by_call.get(item["call_id"], ()))
        if not is_assistant(item):
            return []
        text = text_of(item.get("content"))
        return [
            one for one in self._all if is_assistant(one.item) and may_come_from(text, text_of(one.item["content"]))
        ]


def kind_of(item: Item) -> str:
    """Return the item's type; a message may go without."""
    return str(item.get("type") or ("message" if "role" in item else ""))


def is_assistant(item: Item) -> bool:
    return kind_of(item) == "message" and item.get("role") == "assistant"


def may_come_from(text: str, issued: str) -> bool:
    """Say whether a client can have this text from what was issued.

    It may be a part: a client need not replay sections that it shows elsewhere.
    """
    text = text.strip()
    return bool(text) and (text == issued.strip() or (len(text) >= PART_CHARS and text in issued))
