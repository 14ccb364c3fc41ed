"""Knobs: how strict a mode is, with the specification's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct


class Knobs(Struct, frozen=True, forbid_unknown_fields=True):
    """All knobs of all modes. None means that the rule that reads it has its own default."""

    context_limit: int | None = None
    unknown_params: Literal["reject", "accept"] = "reject"
    single_flight: Literal["record", "reject"] = "record"
    think_tags: Literal["reject", "accept"] = "reject"
    empty_reasoning: Literal["reject", "accept"] = "reject"
    verify_verbatim: bool = True
    verify_arguments: bool = True
    style: Literal["openai", "pydantic"] = "openai"
    code_style: Literal["openai", "nested", "gateway"] = "openai"
    thinking_default: bool = True
    empty_is_missing: bool | None = None
    all_messages: bool = False
    lenient: bool = False
    plain_tokens: bool = False
    pairing: Literal["position", "strict"] = "position"
    message_id_after_reasoning: bool = False
    effort_values: tuple[str, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    extra_item_keys: dict[str, Any] = {}
    provisional_ciphertext: bool = True
    done_order: Literal["index", "reversed"] = "index"
    omit_reasoning_done: bool = False
    omit_completed_output: bool = False
    empty_summary: bool = False

    @classmethod
    def read(cls, *layers: Mapping[str, Any]) -> Knobs:
        """Return the knobs of all layers, later ones winning. Raises msgspec.ValidationError on an unknown one."""
        merged: dict[str, Any] = {}
        for layer in layers:
            merged |= layer
        return msgspec.convert(merged, cls)
