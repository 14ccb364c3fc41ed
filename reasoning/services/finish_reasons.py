"""How a response ended, in whatever words its service says so. Product 32.

Names are compared without case, signs and the prefixes that some libraries write, so that ``MAX_TOKENS``,
``max-tokens`` and ``FinishReason.MAX_TOKENS`` are one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "error"]

# Names of the limit of a model's context: with no text the history left no room for an answer.
_CONTEXT_NAMES = """
    model_length model_context_window_exceeded context_window_exceeded context_window_full context_length_exceeded
    context_length context_limit max_context max_context_length error_limit
"""
# The names that services use, by ours. OpenAI and its kin, Anthropic, Gemini, Cohere, Bedrock, Mistral, DeepSeek, Z.ai,
# xAI, watsonx, TGI, vLLM and SGLang, seen until 2026-11.
NAMES: Mapping[FinishReason, str] = {
    "stop": """
        stop stopped stop_sequence stop_sequences stop_token end ended end_turn end_of_turn end_of_text
        end_of_sequence eos eos_token eos_token_id eot im_end complete completed done finish finished normal success
        pause_turn
    """,
    "tool_calls": "tool_calls tool_call tool_use tool_uses function_call function_calls",
    "length": f"""
        length max_tokens max_token max_length max_len max_output max_output_tokens max_completion_tokens
        max_new_tokens max_tokens_reached max_tokens_exceeded token_limit token_limit_reached output_limit output_length
        length_limit length_exceeded truncated incomplete {_CONTEXT_NAMES}
    """,
    "content_filter": """
        content_filter content_filtered content_filter_result content_policy content_policy_violation policy_violation
        safety safety_filter image_safety safety_block sensitive sensitive_content refusal refused recitation
        image_recitation blocklist blocked prohibited_content image_prohibited_content spii language
        guardrail guardrails guardrail_intervened guardrail_triggered moderation moderated error_toxic toxic flagged
        model_armor censored security risk content_risk unsafe
    """,
    "error": """
        error errored network_error connection_error api_error server_error internal_error internal_server_error
        upstream_error provider_error model_error system_error service_unavailable unavailable
        insufficient_system_resource insufficient_system_resources insufficient_resources overloaded
        overloaded_error engine_overloaded at_capacity busy server_busy system_busy
        rate_limit rate_limited rate_limit_exceeded too_many_requests
        abort aborted cancel cancelled canceled user_cancel interrupted failed failure fail
        exception timeout timed_out time_limit time_limit_exceeded deadline_exceeded unload invalid disconnected
        malformed_function_call malformed_tool_use malformed_tool_call malformed_model_output malformed_response
        unexpected_tool_call invalid_tool_call too_many_tool_calls missing_thought_signature
    """,
}
# Words for "not yet", which some services send with each chunk.
_OPEN_NAMES = "null none nil undefined unspecified not_finished unfinished in_progress running"
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_PREFIX = re.compile(r"^(?:finishreason|stopreason|reason)(?=.)")


def _plain(name: str) -> str:
    return _PREFIX.sub("", _NO_LETTER.sub("", name.lower()))


_BY_NAME = {_plain(name): reason for reason, names in NAMES.items() for name in names.split()}
_CONTEXT = frozenset(map(_plain, _CONTEXT_NAMES.split()))
_OPEN = frozenset({"", *map(_plain, _OPEN_NAMES.split())})


# Patterns for names that aren't in the table, without their signs, each with examples. None is needed for ``stop``: an
# unknown name counts as that if an answer came.
FRAGMENTS: tuple[tuple[FinishReason, str, tuple[str, ...]], ...] = (
    (
        "content_filter",
        r"filter|moderat|safety|guardrail|violat|policy|harm|toxic|jailbreak|copyright|sensitive|prohibited|blocked"
        r"|risk|abuse|protectedmaterial|inspection|responsibleai|hate$|illegal|malicious",
        ("content_moderation", "risk_control", "safety_violation", "RESPONSIBLE_AI", "data_inspection_failed"),
    ),
    (
        "error",
        r"error|fail|timed?out|abort|cancel|disconnect|connection|unavailable|overload|busy|exception|terminat|killed"
        r"|crash|memory|^oom$|preempt|evict|shutdown|shed$|quota|throttl|ratelimit|capacity|malformed|invalid|internal"
        r"|repetition|loopdetected|userstop|badtool",
        ("engine_error", "upstream_timeout", "client_disconnect", "out_of_memory", "preempted", "repetition_detected"),
    ),
    (
        "length",
        r"truncat|length|toolong|context|token(?:s)?(?:limit|budget)|max(?:imum)?\w*token|limit|maxoutput|budget",
        ("output_truncated", "max_generated_tokens", "output_limit_reached", "context_overflow"),
    ),
)
_FRAGMENTS = tuple((reason, re.compile(pattern)) for reason, pattern, _examples in FRAGMENTS)
# A response that continues says so with each chunk.
_GOES_ON = re.compile(r"^unfinish|progress|continu|pending|generating|running|streaming|ongoing")
_NOT_ENDED = re.compile(rf"^not|partial|{_GOES_ON.pattern}")  # also of what ended in its way: "not_truncated"


def read_finish_reason(name: str) -> FinishReason | None:
    """Return our name for a service's finish reason; None for one that is not known."""
    plain = _plain(name)
    if plain in _BY_NAME or _NOT_ENDED.search(plain):
        return _BY_NAME.get(plain)
    return next((reason for reason, pattern in _FRAGMENTS if pattern.search(plain)), None)


def is_open(name: str) -> bool:
    """Say whether this is no finish reason but a word for "not yet"."""
    plain = _plain(name)
    return plain in _OPEN or (plain not in _BY_NAME and _GOES_ON.search(plain) is not None)


def is_context_full(name: str) -> bool:
    """Say whether the model's context ended the response, not the limit of its output."""
    plain = _plain(name)
    return plain in _CONTEXT or (plain not in _BY_NAME and "context" in plain)
