"""Masking of secrets and personal data in arguments, traces, texts and streams.

Promises: the input is never changed; the output is strict JSON or text that can be stored; a second redaction changes
nothing; an exception inside shows ``[unavailable]``. Spec 004 redaction, product 12.
"""

from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.policy import (
    DEFAULT,
    REDACTED,
    SECRETS_ONLY,
    TRUNCATED,
    UNAVAILABLE,
    RedactionPolicy,
    SafeText,
)
from reasoning.redaction.private_text import mask_private
from reasoning.redaction.redactor import REPEAT, Redactor, redact_args, redact_text, redact_trace
from reasoning.redaction.stream import ShownMask, StreamRedactor

__all__ = [
    "DEFAULT",
    "REDACTED",
    "REPEAT",
    "SECRETS_ONLY",
    "TRUNCATED",
    "UNAVAILABLE",
    "KeyKind",
    "RedactionPolicy",
    "Redactor",
    "SafeText",
    "ShownMask",
    "StreamRedactor",
    "classify",
    "mask_private",
    "redact_args",
    "redact_text",
    "redact_trace",
]
