"""Chat completions: one assistant message for each response, with all its calls, and their results directly behind it.

A call without a result gets a constant one, so that no request carries an open call. Replay rules 6 and 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoning.replay.dialects import AS_RECEIVED, Control, Dialect, IdRule
from reasoning.replay.history import HistoryStep
from reasoning.replay.wire.base import (
    NOT_REASONING,
    Entry,
    Note,
    Origin,
    Parameters,
    Part,
    Repair,
    SelectedStep,
    WireFormat,
    asked_settings,
    rare_params,
    unsupported,
)
from reasoning.replay.wire.calls import (
    NOT_RUN,
    CallIds,
    call_output,
    needs_stand_in,
    wire_arguments,
    wire_name,
    without_tags,
)
from reasoning.settings import PREFIX, ReasoningSettings

NO_ANSWER = "(no answer followed)"  # between the results of calls and the next question
_FIELDS = {
    "reasoning": "reasoning",
    "thinking": "thinking",
    "reasoning_text": "reasoning_text",
    "reasoning_details": "reasoning",
}
# Of a call, and of a message: what the service may not overwrite with what it added.
_CALL_KEYS = frozenset({"call_id", "id", "type", "index"})
_JOINED = ("text", "summary", "data")
_MESSAGE_KEYS = frozenset({"role", "tool_calls"})
_ALWAYS_REASONING = re.compile(r".*(?:thinking|reasoner|-r1|qwq)")  # models that can't be switched off
_SWITCH_VALUES = ("none", "medium")  # efforts that mean no more than off and on


class ChatFormat(WireFormat):
    """Chat completions."""

    name = "chat"
    label = "Chat completions"
    about = "chat completions"
    mention = re.compile(r"\bchat/completions\b|\bchat completions\b", re.IGNORECASE)
    entries_key = "messages"
    text_part = "text"
    call_ids = IdRule(40)
    reasoning_kinds = frozenset({"text", "details", "signature"})

    def question(self, text: str, images: Sequence[str]) -> Entry:
        if not images:
            return {"role": "user", "content": text}
        shown = [{"type": "image_url", "image_url": {"url": url}} for url in images]
        return {"role": "user", "content": [{"type": self.text_part, "text": text}, *shown]}

    def step(self, selected: SelectedStep, dialect: Dialect, origin: Origin, call_ids: CallIds) -> list[Entry]:
        """Return a step as one assistant message with all its calls, and their results; nothing where it has neither.

        Where the service takes no parallel calls, each but the first has a message of its own.

        A reasoning field is present only where there is something for it (spec 001 EC-007), or a placeholder. The key
        of the content always is: some templates fail without it.
        """
        step = selected.step
        if not (step.text or step.calls):
            return []
        content = without_tags(step.text) if step.text else dialect.empty_content
        message: Entry = {"role": "assistant", "content": content}
        results: list[Entry] = []
        signatures = call_signatures(step)
        if step.calls and dialect.unsigned_call and not any(signature_items(step)):
            signatures = {step.calls[0].call_id: {**dialect.unsigned_call}}
        # Where a service signs a step, it refuses one that has some of its ids and not others.
        is_signed = dialect.takes_signatures or bool(signatures)
        replaces_all = is_signed and any(needs_stand_in(call) for call in step.calls)
        for call in step.calls:
            is_replaced = replaces_all or needs_stand_in(call)
            call_id = call_ids.take(call, is_replaced=is_replaced, is_own=selected.is_running)
            added = signatures.get(call.call_id, {})
            function = {
                **added.get("function", {}),
                "name": wire_name(call),
                "arguments": wire_arguments(call),
            }
            sent = {**added, "id": call_id, "type": "function", "function": function}
            message.setdefault("tool_calls", []).append(sent)
            name = {"name": wire_name(call)} if dialect.names_results else {}
            results.append({"role": "tool", "tool_call_id": call_id, **name, "content": call_output(call, step)})
        thinking = reasoning_fields(step, dialect)
        if not thinking and selected.placeholder:
            thinking = {thinking_field(dialect.text_field): selected.placeholder}
        signature = message_signature(step)
        if thoughts := signature.pop("content", None):  # they precede the text, as they came
            message["content"] = [*thoughts, *self.content_parts(content)]
        entries = [{**thinking, **signature, **message}, *results]
        return entries if dialect.takes_parallel_calls else one_by_one(entries, dialect)

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
        """Return messages with each call answered once, directly behind it, and no result without its call."""
        repairs: list[Repair] = []
        repaired: list[Entry] = []
        open_ids: list[str] = []

        def close_calls(index: int) -> None:
            for call_id in open_ids:
                repairs.append(Repair("a call without its result", index))
                repaired.append({"role": "tool", "tool_call_id": call_id, "content": NOT_RUN})

        for index, message in enumerate(entries):
            if message["role"] == "tool":
                if message["tool_call_id"] in open_ids:
                    open_ids.remove(message["tool_call_id"])
                    repaired.append(message)
                else:
                    repairs.append(Repair("a result without its call", index))
                continue
            close_calls(index)
            open_ids = [call["id"] for call in message.get("tool_calls", ())]
            if message["role"] == "assistant" and not (message.get("content") or open_ids):
                repairs.append(Repair("an assistant message without content", index))
            else:
                repaired.append(message)
        # The last message may have open calls, too.
        close_calls(len(entries))
        return repaired, tuple(repairs)

    def alternating(self, entries: Sequence[Entry]) -> list[Entry]:
        """Join neighbours of one role, and put an answer between a result and a question."""
        joined: list[Entry] = []
        for message in super().alternating(entries):
            before = joined[-1] if joined else {}
            if may_join(before, message):
                content = self.joined_content(before["content"], message["content"])
                # Thinking is sent back with its own calls, unaltered: that of an answer before them is left out.
                earlier = {} if message.get("tool_calls") else before
                shared = (earlier.keys() & message.keys()) - {"role", "content"}
                thinking = {name: f"{earlier[name]}\n\n{message[name]}" for name in shared}
                joined[-1] = {**earlier, **message, **thinking, "content": content}
                continue
            if before.get("role") == "tool" and message["role"] == "user":
                joined.append({"role": "assistant", "content": NO_ANSWER})
            joined.append(message)
        return joined

    def params(
        self, settings: ReasoningSettings, model: str, dialect: Dialect, *, sends_all: bool, may_switch_off: bool
    ) -> Parameters:
        body = dict(dialect.always)
        if not (settings.enabled or may_switch_off):
            return Parameters(body)
        service = f"this service ({dialect.name})"
        notes: tuple[Note, ...] = ()
        if settings.include_in_context and not dialect.text_field and dialect.takes_details is False:
            notes = (Note("reasoning.includeInContext", service, "takes no reasoning back"),)
        if not settings.enabled:
            off = {} if _ALWAYS_REASONING.match(model.lower()) else dialect.off
            notes += () if off else unsupported(service, "reasoning.enabled")
            return Parameters({**body, **off}, notes, dict.fromkeys(off, "reasoning.enabled"), switches_off=bool(off))
        if dialect.name == "openai" and NOT_REASONING.match(model):
            return Parameters(body, notes + unsupported(model, *asked_settings(settings)))

        asked, unasked = asked_params(settings, dialect)
        body |= asked
        # A service that is asked to use earlier thinking refuses a history without it.
        if sends_all and settings.effort != "none":
            body |= dialect.keeps_all
        optional = dict.fromkeys(asked, "reasoning.effort") if dialect.models_differ else {}
        if self.has_rare_settings(dialect) and (rare := rare_params(settings)):
            asked_within = {name.removeprefix(PREFIX): value for name, value in rare.items()}
            body["reasoning"] = {**body.get("reasoning", {}), **asked_within}
            optional |= {name: name for name in rare}
        return Parameters(body, notes + unasked, optional, switches_off=settings.effort == "none" and bool(asked))

    def output_limit(self, dialect: Dialect) -> str:
        return dialect.output_limit

    def control(self, dialect: Dialect) -> Control:
        return dialect.control

    def has_rare_settings(self, dialect: Dialect) -> bool:
        return dialect.control == "openrouter"

    def with_frame(
        self, body: Mapping[str, Any], instructions: str, tools: Sequence[Mapping[str, Any]], *, takes_system: bool
    ) -> dict[str, Any]:
        """Put instructions first, so that prompt caches find an unchanged start."""
        framed = dict(body)
        messages = body.get("messages", ())
        if instructions and takes_system:
            framed["messages"] = [{"role": "system", "content": instructions}, *messages]
        elif instructions:
            framed["messages"] = self.with_first_question(messages, instructions)
        if tools:
            framed["tools"] = list(tools)
        return framed

    def part_of(self, entry: Mapping[str, Any]) -> Part:
        roles: dict[object, Part] = {"system": "instructions", "user": "question", "tool": "result"}
        return roles.get(entry.get("role"), "answer")


CHAT = ChatFormat()


def may_join(before: Entry, message: Entry) -> bool:
    """Say whether two answers may be one message: the first has no calls, and nothing opaque is in both."""
    if not before.get("role") == message["role"] == "assistant" or before.get("tool_calls"):
        return False
    shared = (before.keys() & message.keys()) - {"role", "content"}
    return all(isinstance(one[name], str) for one in (before, message) for name in shared)


def one_by_one(entries: Sequence[Entry], dialect: Dialect) -> list[Entry]:
    """Return a message with calls and its results as one message for each call, with its result."""
    message, *results = entries
    later = {"role": "assistant", "content": dialect.empty_content}
    split: list[Entry] = []
    for number, (call, result) in enumerate(zip(message.get("tool_calls", ()), results, strict=True)):
        split += [{**(later if number else message), "tool_calls": [call]}, result]
    return split or [message]


def reasoning_fields(step: HistoryStep, dialect: Dialect) -> Entry:
    details = [element for block in step.reasoning if block.kind == "details" for element in block.details]
    if details:
        return {"reasoning_details": merge_details(details)}  # they contain the text, too
    blocks = [block for block in step.reasoning if block.kind == "text" and block.text]
    if not blocks:
        return {}
    return {thinking_field(dialect.text_field, blocks[0].source_field): "\n\n".join(block.text for block in blocks)}


def thinking_field(name: str, source_field: str = "") -> str:
    """Return the field for a dialect's ``text_field``, of text that came in ``source_field``."""
    return _FIELDS.get(source_field, "reasoning_content") if name == AS_RECEIVED else name


def signature_items(step: HistoryStep) -> Iterator[Mapping[str, Any]]:
    """Yield what a service added to the calls and the message of a step, to get it back. Product 38."""
    for block in step.reasoning:
        if block.kind == "signature" and isinstance(block.item, Mapping):
            yield block.item


def call_signatures(step: HistoryStep) -> dict[str, Entry]:
    """Return the opaque fields of each call that has some, by its id."""
    found: dict[str, Entry] = {}
    for item in signature_items(step):
        if "call_id" in item:
            added = {name: value for name, value in item.items() if name not in _CALL_KEYS}
            found[item["call_id"]] = found.get(item["call_id"], {}) | added
    return found


def message_signature(step: HistoryStep) -> Entry:
    """Return the opaque fields of the message."""
    found: Entry = {}
    for item in signature_items(step):
        if isinstance(item.get("message"), Mapping):
            found |= {name: value for name, value in item["message"].items() if name not in _MESSAGE_KEYS}
    return found


def merge_details(details: Sequence[Any]) -> list[Any]:
    """Join the pieces of one detail, as a stream has them: of the same type, and the same index or id. Product 38.

    Texts, summaries and data are joined; of the other fields the last value that is not null counts. A detail that has
    a text and its signature is complete.
    """
    merged: list[Any] = []
    for piece in details:
        whole = next((one for one in reversed(merged) if is_piece_of(piece, one)), None)
        if whole is None:
            merged.append(dict(piece) if isinstance(piece, Mapping) else piece)
            continue
        for name, value in piece.items():
            before = whole.get(name)
            if name in _JOINED and isinstance(before, str) and isinstance(value, str):
                # Some services send ciphertext whole, and again at the end.
                whole[name] = before if name == "data" and before == value else before + value
            elif value is not None or name not in whole:
                whole[name] = value
    return merged


def is_piece_of(piece: Any, whole: Any) -> bool:
    if not (isinstance(piece, Mapping) and isinstance(whole, Mapping)) or piece.get("type") != whole.get("type"):
        return False
    if whole.get("signature") and all(any(one.get(name) for name in _JOINED) for one in (piece, whole)):
        return False
    pairs = [(piece.get(name), whole.get(name)) for name in ("index", "id")]
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    return bool(known) and all(one == other for one, other in known)


def asked_params(settings: ReasoningSettings, dialect: Dialect) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return the parameters for effort and budget, and notes on what they can't ask for."""
    service = f"this service ({dialect.name})"
    notes: tuple[Note, ...] = ()
    effort, budget = settings.effort, settings.max_tokens
    asked, takes_budget = effort_params(effort, dialect), dialect.control in ("openrouter", "enable_thinking")
    if dialect.control == "openrouter" and budget and not effort:
        asked = {"reasoning": {"max_tokens": budget}}
    elif dialect.control == "enable_thinking" and budget:
        asked = {**asked, "thinking_budget": budget}
    if effort and dialect.control == "none":
        notes += unsupported(service, "reasoning.effort")
    elif effort not in (None, *_SWITCH_VALUES) and dialect.control in ("thinking", "template", "enable_thinking"):
        notes += (Note("reasoning.effort", service, "can only be switched on and off"),)
    if budget and not takes_budget:
        notes += unsupported(service, "reasoning.maxTokens")
    elif budget and effort and dialect.control == "openrouter":
        # It refuses both together.
        notes += (Note("reasoning.maxTokens", service, "takes none beside reasoning.effort"),)
    if settings.summary not in (None, "none"):
        notes += unsupported(service, "reasoning.summary")
    if dialect.control != "openrouter":
        notes += unsupported(service, *rare_params(settings))
    return asked, notes


def effort_params(effort: str | None, dialect: Dialect) -> dict[str, Any]:
    """Return the parameters that ask for an effort, in the service's own form."""
    if not effort:
        return {}
    switch = {"type": "disabled" if effort == "none" else "enabled"}
    match dialect.control:
        case "effort":
            return {"reasoning_effort": effort}
        case "openrouter":
            return {"reasoning": {"effort": effort}}
        case "thinking":
            return {"thinking": switch}
        case "thinking and effort":
            return {"thinking": switch} if effort == "none" else {"thinking": switch, "reasoning_effort": effort}
        case "enable_thinking":
            return {"enable_thinking": effort != "none"}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": effort != "none"}}
        case _:
            return {}
