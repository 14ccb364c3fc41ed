"""Steps of history as the input items of the Responses API.

Reasoning items are sent back verbatim, with their ids; calls and messages without ids, so that a dropped reasoning item
harms nothing (spec 002 decision 3). Items are sent in the order in which they came, a message with the phase that this
model gave it; outputs follow the last call of their step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reasoning.events import AssistantMessage, Reasoning, ToolCall
from reasoning.replay.dialects import Control, Dialect, IdRule
from reasoning.replay.wire.base import (
    NOT_REASONING,
    Entry,
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

CIPHERTEXT = "reasoning.encrypted_content"


class ResponsesFormat(WireFormat):
    """OpenAI's Responses API, stateless."""

    name = "responses"
    label = "Responses"
    about = "OpenAI Responses, with store=false"
    mention = re.compile(r"\bv1/responses\b|\bresponses (?:api|endpoint)\b", re.IGNORECASE)
    entries_key = "input"
    text_part = "input_text"
    call_ids = IdRule(64)
    dialect = "responses-strict"
    reasoning_kinds = frozenset({"item"})
    needs_follower = True

    def question(self, text: str, images: Sequence[str]) -> Entry:
        content: str | list[Entry] = text
        if images:
            shown = [{"type": "input_image", "image_url": url} for url in images]
            content = [{"type": self.text_part, "text": text}, *shown]
        return {"type": "message", "role": "user", "content": content}

    def step(self, selected: SelectedStep, dialect: Dialect, origin: Origin, call_ids: CallIds) -> list[Entry]:
        """Return the items of a step in their order, and the outputs of its calls behind them."""
        step = selected.step
        items: list[Entry] = []
        outputs: list[Entry] = []
        for part in step.parts:
            match part:
                case Reasoning(kind="item"):
                    # Refused without the key: ``Missing required field summary``.
                    items.append(dict(part.item))
                    if part.item.get("type", "reasoning") == "reasoning" and part.item.get("summary") is None:
                        items[-1]["summary"] = []
                case AssistantMessage() if part.text:
                    message = {"type": "message", "role": "assistant", "content": without_tags(part.text)}
                    has_phase = part.phase and origin.is_same_model(part)
                    items.append({**message, "phase": part.phase} if has_phase else message)
                case ToolCall():
                    call_id = call_ids.take(part, is_replaced=needs_stand_in(part), is_own=selected.is_running)
                    call = {"call_id": call_id, "name": wire_name(part), "arguments": wire_arguments(part)}
                    items.append({"type": "function_call", **call})
                    output = call_output(part, step)
                    outputs.append({"type": "function_call_output", "call_id": call_id, "output": output})
        return items + outputs

    def repair(self, entries: Sequence[Entry]) -> tuple[list[Entry], tuple[Repair, ...]]:
        """Return items where each reasoning item has a follower, and calls and outputs come in pairs."""
        repairs: list[Repair] = []
        calls = {item["call_id"] for item in entries if item.get("type") == "function_call"}
        outputs = {item["call_id"] for item in entries if item.get("type") == "function_call_output"}
        repaired: list[Entry] = []
        for index, item in enumerate(entries):
            kind = item.get("type")
            if kind == "reasoning" and not has_follower(entries, index):
                repairs.append(Repair("reasoning without its following item", index))
            elif kind == "function_call_output" and item["call_id"] not in calls:
                repairs.append(Repair("an output without its call", index))
            else:
                repaired.append(item)
            if kind == "function_call" and item["call_id"] not in outputs:
                repairs.append(Repair("a call without its output", index))
                repaired.append({"type": "function_call_output", "call_id": item["call_id"], "output": NOT_RUN})
        return repaired, tuple(repairs)

    def params(
        self, settings: ReasoningSettings, model: str, dialect: Dialect, *, sends_all: bool, may_switch_off: bool
    ) -> Parameters:
        """Return the parameters of a stateless request. Spec 002: ``include`` is part of each."""
        # Stateless: the log is the only memory. Ciphertext is requested even where reasoning is off (replay D7).
        body: dict[str, Any] = {"store": False, "include": [CIPHERTEXT]}
        if not settings.enabled:
            return Parameters(body)
        if NOT_REASONING.match(model):
            return Parameters(body, unsupported(model, *asked_settings(settings)))
        reasoning = {"effort": settings.effort} if settings.effort else {}
        if settings.summary != "none":
            reasoning["summary"] = settings.summary or "auto"
        rare = rare_params(settings)
        reasoning |= {name.removeprefix(PREFIX): value for name, value in rare.items()}
        if reasoning:
            body["reasoning"] = reasoning
        notes = unsupported("the Responses API", "reasoning.maxTokens") if settings.max_tokens else ()
        optional = {name: name for name in rare}
        if settings.effort:
            optional["reasoning.effort"] = "reasoning.effort"
        # What nobody chose must not fail the request: organisations that aren't verified get no summary.
        if not settings.summary:
            optional["reasoning.summary"] = ""
        return Parameters(body, notes, optional)

    def output_limit(self, dialect: Dialect) -> str:
        return "max_output_tokens"

    def control(self, dialect: Dialect) -> Control:
        return "effort"

    def has_rare_settings(self, dialect: Dialect) -> bool:
        return True

    def with_frame(
        self, body: Mapping[str, Any], instructions: str, tools: Sequence[Mapping[str, Any]], *, takes_system: bool
    ) -> dict[str, Any]:
        framed = dict(body)
        if instructions and takes_system:
            framed["instructions"] = instructions
        elif instructions:
            framed["input"] = self.with_first_question(body.get("input", ()), instructions)
        if tools:
            # A function is flat in this API, and ``strict`` is on by default.
            framed["tools"] = [
                {"type": "function", "strict": False, **tool["function"]}
                if tool.get("type") == "function"
                else dict(tool)
                for tool in tools
            ]
        return framed

    def part_of(self, entry: Mapping[str, Any]) -> Part:
        types: dict[object, Part] = {"reasoning": "thinking", "function_call_output": "result"}
        return types.get(entry.get("type"), "question" if entry.get("role") == "user" else "answer")


RESPONSES = ResponsesFormat()


def has_follower(items: Sequence[dict[str, Any]], index: int) -> bool:
    following = next((item for item in items[index + 1 :] if item.get("type") != "reasoning"), {})
    return following.get("type") == "function_call" or following.get("role") == "assistant"
