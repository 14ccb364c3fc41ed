"""Tool calls of one provider response: read their pieces, and put them together.

A piece belongs to the call of its ``index``; servers also leave it out, send null, or number every call 0 and separate
the calls by id, or by nothing but that they are in one list, each with its name; or they make up another id for each
piece. Arguments come as pieces of a string, as null, or whole as an object; names whole, with each piece, or in pieces
before the arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reasoning.deltas import Channel, Delta
from reasoning.events import ToolCall
from reasoning.redaction import mask_private, redact_text
from reasoning.services.arguments import is_json_object, join_arguments
from reasoning.services.signatures import SignatureJoiner, signatures_of_call
from reasoning.stream.limits import utf8_bytes
from reasoning.stream.surrogates import SurrogateJoiner, repair_surrogates

# What gateways and models put before the name of a tool, with a separator, and an example.
NAME_PREFIXES = {
    "functions": "functions.search",  # gpt-oss, Kimi
    "function": "function:search",
    "api": "api.search",
    "tools": "tools/search",
    "tool": "tool_search",
    "to=functions": "to=functions.search",  # gpt-oss
    "default_api": "default_api:search",  # Gemini
    "mcp": "mcp__search",
}
# Also a name that no tool has may be dotted so.
_DOTTED = re.compile(rf"(?:{'|'.join(NAME_PREFIXES)})(?:[.:/]+)(?=\w)")
_PREFIX = re.compile(rf"(?:{'|'.join(NAME_PREFIXES)})(?:[.:/_-]+)(?=\w)", re.IGNORECASE)
# Behind a name: a mark of a template, ``search<|channel|>commentary``, or the number of a call, ``search:0`` (Kimi).
_LEAKED_END = re.compile(r"(?<=.)<.*|:\d+\s*\Z|\(\)\s*\Z", re.DOTALL)
_LEAKED_START = re.compile(r".*\bto=(?=functions\.)", re.DOTALL)  # assistant<|channel|>commentary to=functions.search

_SEPARATORS = re.compile(r"[\W_]+")
_ARGUMENTS = ("arguments", "parameters", "input", "args")  # Llama's and Anthropic's names behind gateways
_NUMBER = re.compile(r"[0-9]{1,6}")  # an index that a service has quoted
_MAX_NAME_CHARS = 1_000  # longer than any tool's: pieces are no longer joined


class ToolCallReader:
    """Turn ``tool_calls`` fields into deltas whose ``index`` identifies the calls of one response."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}  # call ids, by our index
        self._by_server_index: dict[int, int] = {}
        self._latest = -1
        self._listed: set[int] = set()  # calls in the current list
        self._joiners: dict[int, SurrogateJoiner] = {}
        self.signatures: dict[int, SignatureJoiner] = {}  # what the service put on its calls, by our index
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def feed(self, tool_calls: object) -> Iterator[Delta]:
        """Yield one delta for each piece that has an id, a name or arguments."""
        self._listed.clear()
        for piece in pieces_in(tool_calls):
            function = piece.get("function")
            # Some gateways leave out the level between, or have the name there.
            inner = {**piece, "name": function} if isinstance(function, str) else piece
            function = function if isinstance(function, Mapping) else inner
            given = piece.get("index")
            if isinstance(given, str) and _NUMBER.fullmatch(given):
                given = int(given)
            server_index = given if isinstance(given, int) and given >= 0 else None
            call_id, name = _string(piece.get("id")), _string(function.get("name"))
            arguments = _arguments(next((function[key] for key in _ARGUMENTS if function.get(key) is not None), None))
            if call_id or name or arguments:
                index = self._index(server_index, call_id, name, arguments)
                text = self._joiners.setdefault(index, SurrogateJoiner()).feed(arguments)
                if not any(self._arguments.get(index, ())):
                    self._names[index] = joined_name(self._names.get(index, ""), name)
                self._arguments.setdefault(index, []).append(text)
                yield Delta(Channel.TOOL, text, index, call_id or None, name or None)
            else:
                known = self._known_index(server_index, "", "", "")
                index = max(0, self._latest) if known is None else known
            if signatures := signatures_of_call(piece):
                self.signatures.setdefault(index, SignatureJoiner()).add(signatures)

    def finish(self) -> Iterator[Delta]:
        """Yield what was held back of arguments that end in half a character."""
        for index, joiner in self._joiners.items():
            rest = joiner.finish()
            if rest:
                yield Delta(Channel.TOOL, rest, index)

    def _index(self, server_index: int | None, call_id: str, name: str, arguments: str) -> int:
        index = self._known_index(server_index, call_id, name, arguments)
        if index is None:  # a call that begins
            is_free = server_index is not None and server_index not in self._joiners
            index = server_index if server_index is not None and is_free else max(self._joiners, default=-1) + 1
        if server_index is not None:
            self._by_server_index[server_index] = index
        self._listed.add(index)
        if call_id:
            self._ids[index] = call_id
        self._latest = index
        return index

    def _known_index(self, server_index: int | None, call_id: str, name: str, arguments: str) -> int | None:
        """Return the index of the call that this piece continues, or None for a call that begins."""
        known = next((index for index, known in self._ids.items() if known == call_id), None) if call_id else None
        if server_index is not None:
            index = self._by_server_index.get(server_index)
            if index is None and not name and not (call_id and known is None):
                # By a relay that numbers the pieces, or one that counted the head of the call as another's.
                begun = self._latest if known is None else known
                return begun if self._continues(begun, name) else None
            if index is None or not name:
                return index
            # Some servers number every call 0: another id, or a second name in one list, begins another call.
            is_other = self._ids.get(index, call_id) != call_id if call_id else self._is_over(index, name, arguments)
            return None if is_other and not (call_id and self._continues(index, name)) else index
        if call_id:
            return self._latest if known is None and self._continues(self._latest, name) else known
        if self._latest < 0 or (name and not self._continues_name(name, arguments)):
            return None
        return self._latest

    def _is_over(self, index: int, name: str, arguments: str) -> bool:
        """Whether a piece with a name and no id begins another call than this one.

        It does in the same list, and behind whole arguments, unless it repeats the call, or the first were a filler.
        """
        before = "".join(self._arguments[index])
        if index in self._listed or not is_json_object(before):
            return index in self._listed
        if tool_name(name) != tool_name(self._names[index]):
            return True
        return is_json_object(arguments) and json.loads(before) not in ({}, json.loads(arguments))

    def _continues_name(self, name: str, arguments: str) -> bool:
        """Whether a piece without an index and an id says more of the latest call's name, or the same once more.

        A call has all of its name before its arguments. One that brings both begins another call, unless the first
        alone has an id.
        """
        index = self._latest
        if index in self._listed or any(self._arguments[index]):
            return self._continues(index, name)
        return not arguments or index in self._ids

    def _continues(self, index: int, name: str) -> bool:
        """Whether a piece with another id continues this call: its arguments are unfinished, and it names no other."""
        if index not in self._names or name not in ("", self._names[index]) or index in self._listed:
            return False
        return not is_json_object("".join(self._arguments[index]))


@dataclass(slots=True)
class _PartialCall:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    bytes: int = 0  # of id, name and arguments


class ToolCallAssembler:
    """Put the calls of one step together from the deltas on the tool channel."""

    def __init__(self) -> None:
        self._calls: dict[int, _PartialCall] = {}
        self.longest_bytes = 0  # of the longest call, with its id and name

    def __len__(self) -> int:
        return len(self._calls)

    def feed(self, delta: Delta) -> bool:
        """Add a piece of a call; return whether it begins one."""
        index = delta.index or 0
        is_new = index not in self._calls
        call = self._calls.setdefault(index, _PartialCall())
        call.call_id = call.call_id or delta.call_id or ""
        if delta.name and not any(call.arguments):
            call.name = joined_name(call.name, delta.name)
        call.name = call.name or delta.name or ""
        call.arguments.append(str(delta.text))
        call.bytes += utf8_bytes(f"{delta.call_id or ''}{delta.name or ''}{delta.text}")
        self.longest_bytes = max(self.longest_bytes, call.bytes)
        return is_new

    def finish(self, *, turn_id: str, step: int, offered: Collection[str] = ()) -> dict[int, ToolCall]:
        """Return the calls by index, each under an id of its own: ours where none came, it was used, or is private.

        ``offered``: the names of all tools that the model may call.
        """
        used = {""}
        finished: dict[int, ToolCall] = {}
        for index, call in sorted(self._calls.items()):
            # Derived, not random: the same deltas give the same events.
            # Ids are stored in the open, where no private text may be.
            is_usable = call.call_id not in used and mask_private(call.call_id) == call.call_id
            call_id = call.call_id if is_usable else f"call_{turn_id[:8]}_{step}_{index}"
            used.add(call_id)
            # First, since a tag in front of a name is cut off there, and its text would stay.
            name = offered_name(tool_name(mask_private(call.name)), offered)
            # A tool's own name is exact; any other one may be anything that a model wrote.
            name = name if name in offered else redact_text(mask_private(name))
            arguments = join_arguments(call.arguments)
            finished[index] = ToolCall(call_id=call_id, name=name, arguments=arguments, step=step)
        return finished


def joined_name(name: str, piece: str) -> str:
    """Return a name with what came next: a piece of it, or all of it once more."""
    if piece.startswith(name):
        return piece
    return name if len(name) >= _MAX_NAME_CHARS else name + piece


def is_cut_off(calls: Iterable[ToolCall]) -> bool:
    """Say whether one of these calls of a response that reached its limit has no complete arguments. Product 32."""
    return not all(is_json_object(call.arguments) for call in calls)


def tool_name(name: str) -> str:
    """Return a name without what leaks from a template: a prefix, and a control token or a number behind it."""
    name = _LEAKED_END.sub("", _LEAKED_START.sub("", name)).strip(" \t\r\n`'\"<>")
    return _DOTTED.sub("", name, count=1) if _DOTTED.match(name) else name


def offered_name(name: str, offered: Collection[str]) -> str:
    """Return the offered tool that a name certainly means; the name itself where that is none, or could be several.

    Models write names in another case, with other separators, with a prefix or twice.
    """
    if name in offered:
        return name
    meant = {_letters(name), _letters(_PREFIX.sub("", name, count=1) if _PREFIX.match(name) else name)}
    found = [tool for tool in offered if not meant.isdisjoint({_letters(tool), _letters(tool) * 2})]
    return found[0] if len(found) == 1 else name


def _letters(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()


def pieces_in(tool_calls: object) -> Iterator[Mapping[str, Any]]:
    """Yield the pieces of calls in a list, of a call without one, in an object by their numbers, or in JSON."""
    if isinstance(tool_calls, str):
        try:
            tool_calls = json.loads(tool_calls)
        except (ValueError, RecursionError):
            return
    if isinstance(tool_calls, Mapping):
        is_numbered = all(_NUMBER.fullmatch(str(key)) for key in tool_calls)
        tool_calls = list(tool_calls.values()) if is_numbered else [tool_calls]
    yield from mappings_in(tool_calls)


def mappings_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; anything else that a server sends is ignored."""
    if isinstance(value, list | tuple):
        yield from (element for element in value if isinstance(element, Mapping))


def _string(value: object) -> str:
    return repair_surrogates(value) if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
