"""The pure core: what is reasoning, what is answer, what is secret, what is kept, what goes back to the model.

Values in, values out: no framework, no sockets, no clock, no environment. The names below are its public face.
"""

from reasoning.delimiter import ParsedMessage, parse_message
from reasoning.deltas import Channel, Delta
from reasoning.egress import EgressPlan, RequestTarget, plan_request
from reasoning.errors import EventError, ReasoningError, ScratchpadError, SettingError
from reasoning.events import event_from_json, event_to_json
from reasoning.normalizer import Normalized, Normalizer, normalize_stream
from reasoning.policy import ReasoningSettings
from reasoning.redaction import StreamRedactor, redact_args, redact_text, redact_trace
from reasoning.sections import Sections, parse_sections
from reasoning.tokens import estimate_tokens

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
