"""What goes wrong at a model service, as one kind of error with words that say what to do.

Promises: every message is safe to show; a key is never in it; a service's own words are redacted and cut before they
are quoted. Nothing here depends on one envelope or on a whole sentence of a service: codes and parts of texts decide.
What a service said is read in ``error_words``; a connection that failed, in ``transport_errors``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from chat.providers.base import ProviderError
from chat.providers.error_reasons import advice, other_api, reason_of
from chat.providers.error_words import Words, read_object, read_words

MAX_QUOTED_CHARS = 300
_MAX_WAIT_S = 86_400.0
_RETRYABLE = frozenset({"unreachable", "timeout", "disconnected", "rate_limited", "server_error"})
_STATUS_CODES = {
    401: "authentication",
    403: "authentication",
    408: "timeout",
    429: "rate_limited",
    504: "timeout",
    522: "timeout",
    524: "timeout",
}
# What a service calls its error where there is no HTTP status: an error inside an open stream.
_NAMED_STATUS = (
    (re.compile(r"invalid_api_key|authentication|permission|unauthori"), 401),
    (re.compile(r"quota|rate_limit|too_many_requests|throttl|resource_exhausted"), 429),
    (re.compile(r"model_not_found|not_found"), 404),
    (re.compile(r"timeout|deadline"), 504),
    (re.compile(r"invalid|bad_request|unsupported|content_policy|content_filter|context_length"), 400),
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom we talked to, as messages name it. ``secrets`` are cut out of everything that is quoted."""

    host: str
    model: str = ""
    secrets: Sequence[str] = ()
    api: Literal["chat", "responses"] = "chat"


def failure_from_status(
    status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, *, replays_thinking: bool = False
) -> ProviderError:
    """Turn an HTTP answer of 3xx to 5xx into our error. Any envelope, or none.

    ``replays_thinking``: the request held earlier thinking. A refusal without a word is put down to it (Cerebras, seen
    2026-05), since there is nothing else to go by.
    """
    wordless = "reasoning_refused" if replays_thinking and status in (400, 422) and not body.strip() else ""
    return _failure(_Said(status, f"HTTP {status}", read_words(body), retry_after_s(headers), wordless), endpoint)


def failure_from_object(error: Any, endpoint: Endpoint) -> ProviderError:
    """Turn an error object that came inside a 200 answer into our error."""
    words = read_object(error)
    return _failure(_Said(words.status or _status_by_name(words.codes), "in the middle of its answer", words), endpoint)


def cut_off() -> ProviderError:
    """Return the error of a stream that ended without saying that it was over."""
    return ProviderError("disconnected", "The model service ended the answer in the middle. Try again.", retryable=True)


def malformed(what: str) -> ProviderError:
    """Return the error of an answer that cannot be read. ``what`` says what came instead."""
    message = f"The model service sent {what}. Check that OPENAI_BASE_URL is an OpenAI-compatible address."
    return ProviderError("malformed", message, retryable=False)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long to wait, in seconds, from any form of the header; None where it says nothing usable."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    plain = _seconds(value)
    return plain if plain is not None else _seconds_until(value, headers.get("date"))


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return min(number, _MAX_WAIT_S * 1000) if 0 <= number < float("inf") else None


def _seconds_until(value: str | None, now: str | None) -> float | None:
    """Measure against the service's own clock where it tells it."""
    moment = _moment(value)
    if moment is None:
        return None
    wait = (moment - (_moment(now) or datetime.now(UTC))).total_seconds()
    return min(max(wait, 0.0), _MAX_WAIT_S)


def _moment(value: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value or "")
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is known of a failure. ``status`` may be guessed from a name, so people see ``where``."""

    status: int
    where: str
    words: Words
    wait_s: float | None = None
    reason: str = ""


def _failure(said: _Said, endpoint: Endpoint) -> ProviderError:
    code = _code(said.status, said.words)
    if code in ("refused", "server_error") and not said.reason:
        said = replace(said, reason=reason_of(said.words, is_refusal=code == "refused"))
    code = "refused" if said.reason else code
    retryable = code in _RETRYABLE and not said.words.is_quota
    message = _message(code, said, endpoint)
    return ProviderError(code, message, retryable=retryable, retry_after_s=said.wait_s, reason=said.reason)


def _code(status: int, words: Words) -> str:
    if status not in (401, 403, 429) and words.is_overflow:
        return "context_overflow"
    if words.is_bad_key and 400 <= status < 500:
        return "authentication"
    if words.is_rate_limit and status in (400, 413, 503):
        return "rate_limited"
    if status == 413:
        return "context_overflow"
    return _STATUS_CODES.get(status, "server_error" if status >= 500 else "refused")


def _status_by_name(codes: str) -> int:
    return next((status for pattern, status in _NAMED_STATUS if pattern.search(codes)), 500)


def _message(code: str, said: _Said, endpoint: Endpoint) -> str:
    match code:
        case "authentication":
            return "The model service did not accept the key, or the key may not use this model. Check OPENAI_API_KEY."
        case "rate_limited" if said.words.is_quota:
            return "The account at the model service has no quota left. Top it up, or use another key."
        case "rate_limited":
            wait = f"in {said.wait_s:g} s" if said.wait_s else "in a moment"
            return f"The model service takes no more requests just now. Try again {wait}."
        case "context_overflow":
            return "The conversation is longer than the model can read. Start a new chat, or send a shorter message."
        case "timeout":
            return f"The model service gave up waiting ({said.where}). Try again."
        case "server_error":
            return f"The model service failed ({said.where}). Try again in a moment."
        case _:
            return _refusal(said, endpoint)


def _refusal(said: _Said, endpoint: Endpoint) -> str:
    status, words = said.status, said.words
    if status in (404, 405) and not said.reason and not other_api(words, endpoint.api):
        return _not_there(status, words, endpoint)
    text = quoted(words.message, endpoint.secrets)
    text += "" if text.endswith((".", "!", "?", "…", ")")) else "."
    told = (
        f"The model service refused the request: {text}"
        if words.message
        else f"The model service refused ({said.where})."
    )
    return f"{told} {advice(said.reason, words, api=endpoint.api)}".rstrip()


def _not_there(status: int, words: Words, endpoint: Endpoint) -> str:
    if status == 404 and (words.is_unknown_model or not words.is_bare):
        return f"The model service does not offer the model “{endpoint.model}”. Check OPENAI_MODEL."
    other = " Not every server speaks Responses: OPENAI_API=chat is the other way." if endpoint.api != "chat" else ""
    return (
        f"Nothing is served at that address of {endpoint.host} (HTTP {status}). "
        f"Check OPENAI_BASE_URL; it often ends in /v1.{other}"
    )


def quoted(text: str, secrets: Sequence[str]) -> str:
    """Return a service's words as they may be shown: one line, no key, redacted, at most 300 characters."""
    from reasoning.redaction import redact_text  # noqa: PLC0415  (its tables cost start-up time; errors are rare)

    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, "[redacted]")
    safe = redact_text(" ".join(text[: 20 * MAX_QUOTED_CHARS].split()))
    return safe if len(safe) <= MAX_QUOTED_CHARS else f"{safe[:MAX_QUOTED_CHARS].rstrip()}…"
