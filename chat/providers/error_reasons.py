"""Why a service refused what has to do with thinking, and which setting lifts the refusal.

Told by codes and parts of texts, whatever the envelope, never by a whole sentence: services reword them from month to
month. The rules stand in the order in which they are tried, the plainest first. Replay 1, 1.1 and D4.
"""

from __future__ import annotations

import re

from chat.providers.error_words import Words

_ITEM = "Something of the earlier thinking cannot be sent back: set reasoning.includeInContext to false."
_NO_REASON_GIVEN = (
    "It did not say why. If this model takes no earlier thinking back, set reasoning.includeInContext to false; "
    "if the conversation is too long for it, start a new chat."
)
_ADVICE = {
    "ciphertext": _ITEM,
    "not_found_item": _ITEM,
    "unpaired_item": _ITEM,
    "missing_reasoning": "This model needs its earlier thinking back: set reasoning.includeInContext to true "
    "and reasoning.stripFromContext to none.",
    "reasoning_refused": "This model takes no earlier thinking back: set reasoning.includeInContext to false.",
    "effort": "Set reasoning.effort to another value, or unset it.",
    "max_tokens": "Unset reasoning.maxTokens.",
    "summary": "Set reasoning.summary to none.",
    "include": "This model keeps no thinking to send back: set OPENAI_API=chat for it.",
    "enabled": "This model always thinks: set reasoning.enabled to true.",
}

_NOT_TAKEN = (
    r"unsupported|not support|only supported|unknown|unrecognized|unexpected|extra_forbidden|not (?:permitted|allowed)"
    r"|invalid[ _]value|invalid reasoning|must be one of|should be|(?:supported|allowed|valid) values|expected one of"
)
_THINKING = r"reasoning_content|reasoning_details|\breasoning\b|\bthinking\b"
# Each rule: the reason, and the patterns that must all be found.
_RULES = tuple(
    (reason, tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns))
    for reason, *patterns in (
        ("ciphertext", r"invalid_encrypted_content"),
        (
            "ciphertext",
            r"(?:encrypted[ _]content|thought[ _]signature|`signature` in `thinking`).{0,160}?"
            r"(?:verified|decrypt|parsed|did not match|not match the|(?:is|are) (?:invalid|not valid|corrupt))"
            r"|(?:verify|decrypt|invalid|corrupted|malformed) (?:the )?"
            r"(?:encrypted[ _]content|thought[ _]signature|`signature` in `thinking`)",
        ),
        ("not_found_item", r"\bitem with id\b.{0,160}?not found|items are not persisted"),
        ("unpaired_item", r"provided without its required"),
        ("missing_reasoning", r"missing a `?thought[ _]signature|expected `?(?:thinking\b|redacted_thinking)"),
        ("include", r"encrypted[ _]content is not supported"),
        (
            "enabled",
            r"(?:reasoning|thinking)\b.{0,80}?(?:mandatory|cannot be disabled|can't be disabled"
            r"|not support disabl|only .{0,20}?enabled)",
        ),
        ("summary", r"reasoning\W{1,3}summar(?:y|ies)\b|reasoning_summary", f"{_NOT_TAKEN}|must be verified"),
        ("max_tokens", r"reasoning\W{1,3}max_tokens|budget_tokens|thinking_budget", _NOT_TAKEN),
        ("effort", r"reasoning\W{1,3}effort|\b(?:reasoning_|thinking_|output_)?effort\b", _NOT_TAKEN),
        ("effort", r"(?:invalid|unsupported) value\W{1,3}(?:none|minimal|low|medium|high|xhigh|max)\b"),
        (
            "effort",
            r"(?:parameter|argument)s?\b[^.]{0,20}[\s'\"`:](?:reasoning|thinking|chat_template_kwargs)(?=['\"`.\s]|$)"
            r"|\bbody (?:reasoning|thinking|chat_template_kwargs)\b",
            _NOT_TAKEN,
        ),
        ("missing_reasoning", _THINKING, r"missing|must be passed back|is required|must be provided"),
        (
            "reasoning_refused",
            _THINKING,
            r"unsupported|unknown|unrecognized|unexpected|extra_forbidden|not (?:permitted|supported|allowed)"
            r"|remove (?:the )?`?reasoning|not be included|cannot find field",
        ),
    )
)
# What a service that failed (5xx, or in mid-stream without a code) must say to be taken for one that refused.
_CERTAIN = frozenset({"ciphertext", "not_found_item", "unpaired_item"})
_FIELD = re.compile(r"reasoning_content|reasoning_details|thought[ _]signature", re.IGNORECASE)
_OTHER_APIS = {
    "chat": ("responses", re.compile(r"\bv1/responses\b|\bresponses (?:api|endpoint)\b", re.IGNORECASE)),
    "responses": ("chat", re.compile(r"\bchat/completions\b|\bchat completions\b", re.IGNORECASE)),
}


def reason_of(words: Words, *, is_refusal: bool) -> str:
    """Return the ``ProviderError.reason`` of what a service said; empty where it is not about thinking.

    ``is_refusal``: the status says that the request was at fault. Otherwise only unmistakable words count.
    """
    reason = next((reason for reason, patterns in _RULES if _all_found(patterns, words.everything)), "")
    is_certain = reason in _CERTAIN or (reason == "missing_reasoning" and bool(_FIELD.search(words.everything)))
    return reason if is_refusal or is_certain else ""


def _all_found(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    return all(pattern.search(text) for pattern in patterns)


def advice(reason: str, words: Words, *, api: str) -> str:
    """Name the setting that lifts a refusal; nothing where none does."""
    other = other_api(words, api)
    if other:
        return f"Set OPENAI_API={other}{', or reasoning.effort to none' if reason == 'effort' else ''}."
    if reason == "reasoning_refused" and not words.message:
        return _NO_REASON_GIVEN
    return _ADVICE.get(reason, "")


def other_api(words: Words, api: str) -> str:
    """Return the API that is not spoken here and that the service names, as the one to use."""
    name, named = _OTHER_APIS[api]
    return name if named.search(words.everything) else ""
