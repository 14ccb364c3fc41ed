"""The pure core: what is reasoning, answer or secret, what is stored, and what is sent back to the model.

No framework, no sockets, no clock, no environment. The names below are its public interface.
"""

from reasoning.delimiters.reasoning_block import ParsedMessage, parse_message
from reasoning.deltas import Channel, Delta
from reasoning.errors import EventError, ReasoningError, ScratchpadError, SettingError
from reasoning.events import event_from_json, event_to_json
from reasoning.redaction import StreamRedactor, redact_args, redact_text, redact_trace
from reasoning.replay.plan import EgressPlan, RequestTarget, plan_request
from reasoning.replay.tokens import estimate_tokens
from reasoning.settings import ReasoningSettings
from reasoning.stream.normalizer import Normalized, Normalizer, normalize_stream
from reasoning.stream.sections import Sections, parse_sections

__all__ = [
    "Channel",
    "Delta",
    "EgressPlan",
    "EventError",
    "Normalized",
    "Normalizer",
    "ParsedMessage",
    "ReasoningError",
    "ReasoningSettings",
    "RequestTarget",
    "ScratchpadError",
    "Sections",
    "SettingError",
    "StreamRedactor",
    "estimate_tokens",
    "event_from_json",
    "event_to_json",
    "normalize_stream",
    "parse_message",
    "parse_sections",
    "plan_request",
    "redact_args",
    "redact_text",
    "redact_trace",
]
