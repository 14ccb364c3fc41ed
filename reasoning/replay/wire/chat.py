"""Chat completions: one assistant message for each response, with all its calls, and their results directly behind it.

A call without a result gets a constant one, so that no request carries an open call. Replay rules 6 and 8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reasoning.replay.dialects import AS_RECEIVED, Control, Dialect
from reasoning.replay.history import HistoryStep
from reasoning.replay.wire.base import (
    NOT_REASONING,
    Entry,
    Origin,
    Parameters,
    Part,
    Repair,
    SelectedStep,
    WireFormat,
    missing,
    set_names,
)
from reasoning.replay.wire.calls import (
    NOT_RUN,
    CallIds,
    call_output,
    needs_stand_in,
    stand_in_id,
    wire_arguments,
    wire_id,
    wire_name,
    without_tags,
)
from reasoning.settings import ReasoningSettings

_FIELDS = {"reasoning": "reasoning", "thinking": "thinking", "reasoning_details": "reasoning"}
_ALWAYS_REASONING = re.compile(r".*(?:thinking|reasoner|-r1)")  # models that can't be switched off
_SWITCH_VALUES = ("none", "medium")  # efforts that mean no more than off and on


class ChatFormat(WireFormat):
    """Chat completions."""

    name = "chat"
    label = "Chat completions"
    about = "chat completions"
    mention = re.compile(r"\bchat/completions\b|\bchat completions\b", re.IGNORECASE)
    entries_key = "messages"
    text_part = "text"
    reasoning_kinds = frozenset({"text", "details", "signature"})

    def question(self, text: str, images: Sequence[str]) -> Entry:
        if not images:
            return {"role": "user", "content": text}
        shown = [{"type": "image_url", "image_url": {"url": url}} for url in images]
        return {"role": "user", "content": [{"type": self.text_part, "text": text}, *shown]}

    def step(self, selected: SelectedStep, dialect: Dialect, origin: Origin, call_ids: CallIds) -> list[Entry]:
        """Return a step as one assistant message with all its calls, and their results; nothing where it has neither.

        A reasoning field is present only where there is something for it (spec 001 EC-007), or a placeholder.
        """
        step, placeholder = selected.step, selected.placeholder
        message: Entry = {"role": "assistant"}
        results: list[Entry] = []
        if step.text:
            message["content"] = without_tags(step.text)
        if step.calls:
            # Where a service signs a step, it refuses one that has some of its ids and not others.
            needs_stand_ins = dialect.takes_signatures and any(needs_stand_in(call) for call in step.calls)
            signatures = {
                block.item["call_id"]: {"extra_content": block.item["extra_content"]}
                for block in step.reasoning
                if block.kind == "signature" and isinstance(block.item, Mapping)
            }
            message["tool_calls"] = []
            for call in step.calls:
                call_id = call_ids.unique(stand_in_id(call) if needs_stand_ins else wire_id(call))
                function = {"name": wire_name(call), "arguments": wire_arguments(call)}
                signature = signatures.get(call.call_id, {})
                message["tool_calls"].append({"id": call_id, "type": "function", "function": function, **signature})
                results.append({"role": "tool", "tool_call_id": call_id, "content": call_output(call, step)})
        if len(message) == 1:
            return []
        message.update(reasoning_fields(step, dialect) or ({dialect.text_field: placeholder} if placeholder else {}))
        return [message, *results]

    def repaired(self, entries: Sequence[Entry], dialect: Dialect) -> tuple[list[Entry], tuple[Repair, ...]]:
        return repair_messages(self.join_roles(entries) if dialect.alternates_roles else entries)

    def join_roles(self, messages: Sequence[Entry]) -> list[Entry]:
        """Join neighbours of one role, for services that want questions and answers to alternate. Replay 9."""
        joined: list[Entry] = []
        for message in messages:
            before = joined[-1] if joined else None
            if before and before["role"] == message["role"] and message["role"] in ("user", "assistant"):
                joined[-1] = {**before, "content": self.joined_content(before.get("content"), message.get("content"))}
            else:
                joined.append(message)
        return joined

    def params(
        self, settings: ReasoningSettings, model: str, dialect: Dialect, *, sends_all: bool, may_switch_off: bool
    ) -> Parameters:
        body = dict(dialect.always)
        if not (settings.enabled or may_switch_off):
            return Parameters(body)
        service = f"this service ({dialect.name})"
        notes: tuple[str, ...] = ()
        if settings.include_in_context and not dialect.text_field and dialect.takes_details is False:
            notes = (f"reasoning.includeInContext: {service} takes no reasoning back",)
        if not settings.enabled:
            off = {} if _ALWAYS_REASONING.match(model.lower()) else dialect.off
            notes += () if off else missing(service, "reasoning.enabled")
            return Parameters({**body, **off}, notes, dict.fromkeys(off, "reasoning.enabled"))
        if dialect.name == "openai" and NOT_REASONING.match(model):
            return Parameters(body, notes + missing(model, *set_names(settings)))

        asked, unasked = asked_params(settings, dialect)
        body |= asked
        # A service that is asked to use earlier thinking refuses a history without it.
        if sends_all and settings.effort != "none":
            body |= dialect.keeps_all
        return Parameters(
            body, notes + unasked, dict.fromkeys(asked, "reasoning.effort") if dialect.models_differ else {}
        )

    def output_limit(self, dialect: Dialect) -> str:
        return dialect.output_limit

    def control(self, dialect: Dialect) -> Control:
        return dialect.control

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


def repair_messages(messages: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
    """Return chat messages with each call answered once, directly behind it, and no result without its call.

    The last check before a request leaves. Selection is built so that nothing is found here; what is found all the same
    (an old row, a broken event) must not end a conversation for good. Replay 10.
    """
    repairs: list[Repair] = []
    repaired: list[Entry] = []
    open_ids: list[str] = []

    def close_calls(index: int) -> None:
        for call_id in open_ids:
            repairs.append(Repair("a call without its result", index))
            repaired.append({"role": "tool", "tool_call_id": call_id, "content": NOT_RUN})

    for index, message in enumerate(messages):
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
    close_calls(len(messages))
    return repaired, tuple(repairs)


def reasoning_fields(step: HistoryStep, dialect: Dialect) -> Entry:
    details = [element for block in step.reasoning if block.kind == "details" for element in block.details]
    if details:
        return {"reasoning_details": details}  # they contain the text, too
    blocks = [block for block in step.reasoning if block.kind == "text" and block.text]
    if not blocks:
        return {}
    name = dialect.text_field
    if name == AS_RECEIVED:
        name = _FIELDS.get(blocks[0].source_field, "reasoning_content")
    return {name: "\n\n".join(block.text for block in blocks)}


def asked_params(settings: ReasoningSettings, dialect: Dialect) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters for effort and budget, and notes on what they can't ask for."""
    service = f"this service ({dialect.name})"
    notes: tuple[str, ...] = ()
    effort, budget = settings.effort, settings.max_tokens
    asked, takes_budget = effort_params(effort, dialect), dialect.control in ("openrouter", "enable_thinking")
    if dialect.control == "openrouter" and budget and not effort:
        asked = {"reasoning": {"max_tokens": budget}}
    elif dialect.control == "enable_thinking" and budget:
        asked = {**asked, "thinking_budget": budget}
    if effort and dialect.control == "none":
        notes += missing(service, "reasoning.effort")
    elif effort not in (None, *_SWITCH_VALUES) and dialect.control in ("thinking", "template", "enable_thinking"):
        notes += (f"reasoning.effort: {service} can only be switched on and off",)
    if budget and not takes_budget:
        notes += missing(service, "reasoning.maxTokens")
    elif budget and effort and dialect.control == "openrouter":
        # It refuses both together.
        notes += (f"reasoning.maxTokens: {service} takes none beside reasoning.effort",)
    if settings.summary not in (None, "none"):
        notes += missing(service, "reasoning.summary")
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
