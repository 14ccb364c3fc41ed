"""Failures of a model service as ``ProviderError``: one code, and words that say what to do.

Services wrap their errors in many envelopes and reword them from month to month, so codes and fragments of texts
decide, never a whole sentence. Every message is safe to show: keys are cut out of a service's own words, which are
redacted and shortened before they are quoted. Replay D4.
"""

from __future__ import annotations

import json
import math
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from chat.providers.base import ProviderError, shown_model
from chat.providers.model_listing import stated_limit
from reasoning.redaction import redact_text

MAX_QUOTED_CHARS = 300
_MAX_WAIT_S, _TOMORROW_S = 86_400.0, 64_800.0  # a day; 18 hours
_MAX_DEPTH = 6
_CODE_KEYS = ("code", "type", "status", "param")
_TEXT_KEYS = ("message", "msg", "status_msg", "error_message", "error_msg", "detail", "reason", "raw", "error")
_NESTED_KEYS = ("errors", "details", "metadata", "response")
_HTTP_STATUS = re.compile(r"[45][0-9]{2}")
_RETRYABLE = frozenset({"unreachable", "timeout", "disconnected", "rate_limited", "server_error"})
_CODE_OF_STATUS = {
    **dict.fromkeys((401, 403), "authentication"),
    402: "rate_limited",  # payment required: the quota
    **dict.fromkeys((408, 504, 522, 524), "timeout"),
    413: "context_overflow",
    429: "rate_limited",
}
# The status that an error's name means. An error inside an open stream has no HTTP status.
_STATUS_OF_NAME = (
    (re.compile(r"invalid_api_key|authentication|permission|unauthori"), 401),
    (re.compile(r"payment_required|insufficient_(?:balance|credit|funds)"), 402),
    (re.compile(r"quota|rate_limit|too_many_requests|throttl|resource_exhausted"), 429),
    (re.compile(r"model_not_found|not_found"), 404),
    (re.compile(r"timeout|deadline"), 504),
    (re.compile(r"invalid|bad_request|unsupported|content_policy|content_filter|context_length"), 400),
)
_MESSAGES = {
    "authentication": "The model service did not accept the key, or the key may not use this model. "
    "Check OPENAI_API_KEY.",
    "context_overflow": "The conversation is longer than the model can read. "
    "Start a new chat, or send a shorter message.",
    "timeout": "The model service gave up waiting ({where}). Try again.",
    "server_error": "The model service failed ({where}). Try again in a moment.",
    "rate_limited": "The model is rate-limited. Try again {wait}.",
}
_STILL_LOADING = "The service is still loading the model. Try again in a moment."
_NO_QUOTA = "The account at the model service has no quota left. Top it up, or use another key."

# What a text of a service is about.
_OVERFLOW = re.compile(
    r"context_?length_?exceeded|exceed_context_size|model_context_window_exceeded|string_above_max_length"
    r"|context size has been exceeded"
    r"|(?:maximum|max|available|model'?s?|allowed) (?:model )?(?:context|prompt) (?:length|size|window)"
    r"|exceeds? (?:the |your |its )?(?:\w+ )?context|context (?:window|length|size)\W+(?:\w+ ){0,3}(?:exceed|limit)"
    r"|(?:longer|greater|larger) than the (?:model'?s? )?(?:maximum )?(?:context|model length)"
    r"|context length of only|context (?:the )?overflow"
    r"|(?:prompt|input|request|message)s?(?: \w+){0,2} (?:is|are) too (?:long|large)(?: for|:|;|\.|,|$| \()"
    r"|prompt too long|too large for model|exceeded model token limit"
    r"|reduce the length of (?:the|your) (?:input |messages|prompt)"
    r"|inputs?\W+tokens\W+max_(?:new_)?tokens\W+must be|inputs?\W+must have less than"
    r"|(?:input|prompt) token(?: count|s)?\b.{0,40}exceed|range of input length should be|too many (?:input )?tokens"
    r"|token limit exceeded|prompt exceeds",
    re.IGNORECASE,
)
_RATE_LIMIT = re.compile(
    r"per[ -](?:minute|min|day|hour|second)|\b[tr]p[md]\b|rate.?limit|too many requests|throttl", re.IGNORECASE
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded_current_quota|exceeded your current quota|insufficient (?:balance|credit|funds)"
    r"|credit balance is too low|requires more credits|key limit exceeded|budget has been exceeded"
    r"|\barrearage\b|(?:余额|额度)不足",
    re.IGNORECASE,
)
_BILLING = re.compile("billing", re.IGNORECASE)  # means the quota under a rate limit's status only
_BAD_KEY = re.compile(
    r"invalid_api_key|(?:incorrect|invalid|missing|expired|no) api[ _-]?key"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired)",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(
    r"model_not_(?:found|available|exist)|\binvalid_model\b|model_decommissioned|deploymentnotfound"
    r"|(?:unknown|no such|invalid) model(?! (?:config|parameter|output|input|response|state|provider))"
    r"|(?:not a valid|not found the|unable to access) model\b"
    r"|\bmodels?\W(?:(?!\btools?\b|\bfunction|\bparameter|\bimages?\b|[.!?] ).){0,120}?"
    r"(?:(?:is |was )?not (?:found|exist|available)|does not exist|is unknown|decommissioned|no longer|"
    r"has been (?:deprecated|retired|removed))"
    # Only the model itself, not what it lacks: a quoted name, or one with a digit or a sign.
    r"|\bmodels?\W{1,2}(?:['\"`“][^\s'\"`“”]{1,100}['\"`”]|(?=\S*[\d/:-])[^\s'\"`“”]{1,100}) (?:is )?not supported"
    # OpenRouter; Anthropic; Zhipu
    r"|no endpoints found for [\w.:-]+/|^model: \S+ .*not_found_error|模型不存在",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING_SAID = re.compile(  # beyond what the status says
    r"(?:40[45]\W*)?(?:(?:page|file|method|route|resource|endpoint|path|the requested url) )?(?:was )?"
    r"not (?:found|allowed)\W*$|invalid url \(|cannot post |no such (?:route|endpoint)"
    r"|unknown request url|404 route not found",
    re.IGNORECASE,
)
# What a 403 says of the key. Other ones are about the place, the content or the account.
_ABOUT_KEY = re.compile(
    r"\bkeys?\b|\btokens?\b|credential|permission|scopes?\b|unauthori[sz]ed|not authori[sz]ed|authenticat"
    r"|unregistered callers|^(?:forbidden|access denied|403)\W*$",
    re.IGNORECASE,
)
# llama.cpp, Hugging Face: under a 5xx status, so that there is no doubt.
_LOADING = re.compile(
    r"\bloading (?:the )?model|\bmodel\b.{0,120}?\b(?:is |still |currently )+(?:being loaded|loading)", re.IGNORECASE
)
_TITLE = re.compile(r"<title[^>]*>(.{1,200}?)</title", re.IGNORECASE | re.DOTALL)
# The folders of a path on the service's machine, up to its last part. Paths of addresses (/v1/…) aren't meant.
_HOST_FOLDERS = re.compile(
    r"(?<![\w/.:])(?:~|/(?:home|root|usr|opt|var|srv|mnt|media|data|tmp|models?|app|workspace|users|etc|private|volumes)"
    r"|[a-z]:|\\\\[\w.-]{1,60})(?:[\\/][^\\/\s'\"`:,;()]{1,100}){0,20}[\\/](?=[^\\/\s'\"`])",
    re.IGNORECASE,
)
_OTHER_API = {
    "chat": ("responses", re.compile(r"\bv1/responses\b|\bresponses (?:api|endpoint)\b", re.IGNORECASE)),
    "responses": ("chat", re.compile(r"\bchat/completions\b|\bchat completions\b", re.IGNORECASE)),
}

# Refusals that have to do with thinking (``ProviderError.reason``): the patterns that must all be found. Tried in
# order, the plainest first.
_UNSUPPORTED = (
    r"unsupported|not support|only supported|unknown|unrecognized|unexpected|extra_forbidden|not (?:permitted|allowed)"
    r"|invalid[ _]value|invalid reasoning|must be one of|should be|(?:supported|allowed|valid) values|expected one of"
)
_THINKING = r"reasoning_content|reasoning_details|\breasoning\b|\bthinking\b"
_REASONS = tuple(
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
        ("summary", r"reasoning\W{1,3}summar(?:y|ies)\b|reasoning_summary", f"{_UNSUPPORTED}|must be verified"),
        ("max_tokens", r"reasoning\W{1,3}max_tokens|budget_tokens|thinking_budget", _UNSUPPORTED),
        ("effort", r"reasoning\W{1,3}effort|\b(?:reasoning_|thinking_|output_)?effort\b", _UNSUPPORTED),
        ("effort", r"(?:invalid|unsupported) value\W{1,3}(?:none|minimal|low|medium|high|xhigh|max)\b"),
        (
            "effort",
            r"(?:parameter|argument)s?\b[^.]{0,20}[\s'\"`:](?:reasoning|thinking|chat_template_kwargs)(?=['\"`.\s]|$)"
            r"|\bbody (?:reasoning|thinking|chat_template_kwargs)\b",
            _UNSUPPORTED,
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
_REASONING_FIELD = re.compile(r"reasoning_content|reasoning_details|thought[ _]signature", re.IGNORECASE)
_DROP_ITEMS = "Something of the earlier thinking cannot be sent back: set reasoning.includeInContext to false."
_ADVICE = {
    "ciphertext": _DROP_ITEMS,
    "not_found_item": _DROP_ITEMS,
    "unpaired_item": _DROP_ITEMS,
    "missing_reasoning": "This model needs its earlier thinking back: set reasoning.includeInContext to true "
    "and reasoning.stripFromContext to none.",
    "reasoning_refused": "This model takes no earlier thinking back: set reasoning.includeInContext to false.",
    "effort": "Set reasoning.effort to another value, or unset it.",
    "max_tokens": "Unset reasoning.maxTokens.",
    "summary": "Set reasoning.summary to none.",
    "include": "This model keeps no thinking to send back: set OPENAI_API=chat for it.",
    "unknown_model": "Check OPENAI_MODEL.",
    "enabled": "This model always thinks: set reasoning.enabled to true.",
}
_ADVICE_WITHOUT_REASON = (
    "It did not say why. If this model takes no earlier thinking back, set reasoning.includeInContext to false; "
    "if the conversation is too long for it, start a new chat."
)

# Exceptions of the HTTP layer, by name: the SDK and what it builds on are imported late.
_TRANSPORT_CODES = {
    "unreachable": frozenset(
        """ClientConnectorError ConnectError ConnectTimeout ConnectionRefusedError ConnectionTimeoutError InvalidURL
        PoolTimeout ProxyError UnsupportedProtocol gaierror""".split()
    ),
    "disconnected": frozenset(
        """BrokenPipeError ClientOSError ClientPayloadError CloseError ConnectionResetError ReadError
        RemoteProtocolError ServerDisconnectedError WriteError""".split()
    ),
    "timeout": frozenset({"APITimeoutError", "ReadTimeout", "SocketTimeoutError", "WriteTimeout"}),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The service, as messages name it. ``secrets`` are cut out of everything that is quoted."""

    host: str
    model: str = ""
    secrets: Sequence[str] = ()
    api: Literal["chat", "responses"] = "chat"


UNKNOWN_ENDPOINT = Endpoint(host="the model service")


def failure_from_status(
    status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, *, replays_thinking: bool = False
) -> ProviderError:
    """Turn an HTTP answer of 3xx to 5xx into our error. Any envelope, or none.

    ``replays_thinking``: the request held earlier thinking. A refusal without a word is put down to it (Cerebras, seen
    2026-05), since there is nothing else to go by.
    """
    reason = "reasoning_refused" if replays_thinking and status in (400, 422) and not body.strip() else ""
    wait_s = retry_after_s(headers)
    text = body[:200_000].decode("utf-8", "replace").strip()
    try:
        details = read_object(json.loads(text))
    except (ValueError, RecursionError):
        # Plain text; but a web page says nothing beyond its title.
        title = _TITLE.search(text)
        is_page = text.startswith("<")
        details = ErrorDetails(title=title[1] if title else "") if is_page else ErrorDetails(message=text, text=text)
    error = build_error(status, f"HTTP {status}", details, endpoint, wait_s=wait_s, reason=reason)
    if error.code == "context_overflow":
        error.context_limit = stated_limit(text)
    return error


def failure_from_object(error: Any, endpoint: Endpoint) -> ProviderError:
    """Turn an error object that came inside a 200 answer into our error."""
    details = read_object(error)
    by_name = next((status for pattern, status in _STATUS_OF_NAME if pattern.search(details.codes)), 500)
    failure = build_error(details.status or by_name, "in the middle of its answer", details, endpoint)
    if failure.code == "context_overflow":
        failure.context_limit = stated_limit(json.dumps(error, default=str))
    return failure


def failure_from_transport(exc: BaseException, endpoint: Endpoint, *, connect_s: float, idle_s: float) -> ProviderError:
    """Turn an exception of the HTTP layer into ``unreachable``, ``timeout`` or ``disconnected``.

    Its own text is never shown, since it may hold an address with a key in it.
    """
    chain: list[BaseException] = []
    link: BaseException | None = exc
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    # The innermost known cause decides: the transport renames exceptions on the way out, and reports a dropped
    # connection as a connect time-out (SDK 3.54, seen 2026-11).
    names = ({kind.__name__ for kind in type(link).__mro__} for link in reversed(chain))
    codes = (code for found in names for code, known in _TRANSPORT_CODES.items() if found & known)
    code = next(codes, "disconnected")
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return ProviderError(code, f"{endpoint.host} shows a certificate that is not trusted here.", retryable=False)
    if any(type(link).__name__ == "TooManyRedirects" for link in chain):
        message = f"{endpoint.host} redirects requests in a circle. Check OPENAI_BASE_URL."
        return ProviderError("refused", message, retryable=False)
    messages = {
        "unreachable": f"Nothing answers at {endpoint.host} (waited at most {connect_s:g} s). "
        "Is the model server running, and is OPENAI_BASE_URL right?",
        "timeout": f"The model service at {endpoint.host} was silent for {idle_s:g} s. Try again.",
        "disconnected": f"The connection to the model service at {endpoint.host} broke off. Try again.",
    }
    return ProviderError(code, messages[code], retryable=True)


def cut_off() -> ProviderError:
    """Return the error of a stream that ended without an end mark."""
    return ProviderError("disconnected", "The model service ended the answer in the middle. Try again.", retryable=True)


def redirected(host: str, target: str, status: int) -> ProviderError:
    """Return the error of a redirect that is not followed; ``target``: a host, empty where it can't be read."""
    message = f"{host} redirects requests to {target or 'an unreadable address'} (HTTP {status}), which is not followed"
    return ProviderError("refused", f"{message}. Check OPENAI_BASE_URL.", retryable=False)


def malformed(received: str) -> ProviderError:
    """Return the error of an answer that cannot be read."""
    message = f"The model service sent {received}. Check that OPENAI_BASE_URL is an OpenAI-compatible address."
    return ProviderError("malformed", message, retryable=False)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long to wait, in seconds, from any form of the header; None where it says nothing usable."""
    value = headers.get("retry-after")
    milliseconds, seconds = parse_number(headers.get("retry-after-ms")), parse_number(value)
    if milliseconds is not None:
        seconds = milliseconds / 1000
    elif seconds is None and (until := parse_date(value)) is not None:
        seconds = (until - (parse_date(headers.get("date")) or datetime.now(UTC))).total_seconds()
    return None if seconds is None else min(max(seconds, 0.0), _MAX_WAIT_S)


def parse_number(value: str | None) -> float | None:
    """Read a number of a header that is neither negative nor infinite."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def parse_date(value: str | None) -> datetime | None:
    """Read a date of a header."""
    try:
        date = parsedate_to_datetime(value or "")
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def describe_wait(wait_s: float | None) -> str:
    """Say when to try again, in plain words, since services send anything up to years: ``in about 2 minutes``."""
    if wait_s is None or wait_s < 2:
        return "in a moment"
    if wait_s >= _TOMORROW_S:
        return "tomorrow"
    unit, unit_s = ("seconds", 1) if wait_s <= 90 else ("minutes", 60) if wait_s <= 5400 else ("hours", 3600)
    return f"in about {math.ceil(wait_s / unit_s)} {unit}"


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """What a service said. ``message`` is the first text meant for people, ``text`` all of it with the codes."""

    message: str = ""
    text: str = ""
    codes: str = ""
    status: int = 0  # an HTTP status that the error names itself
    title: str = ""  # of a web page, such as a proxy's: nothing for users


def build_error(
    status: int, where: str, details: ErrorDetails, endpoint: Endpoint, *, wait_s: float | None = None, reason: str = ""
) -> ProviderError:
    """``status`` may be guessed from an error's name, so people are shown ``where`` instead."""
    code = error_code(status, details.text)
    if code in ("refused", "server_error") and not reason:
        reason = refusal_reason(details.text, is_refusal=code == "refused")
    code = "refused" if reason else code
    if code == "refused" and not reason and _UNKNOWN_MODEL.search(details.text):
        reason = "unknown_model"
    is_loading = code == "server_error" and bool(_LOADING.search(details.text))
    is_quota = code == "rate_limited" and bool(
        status == 402 or _QUOTA.search(details.text) or _BILLING.search(details.text)
    )
    if code == "refused":
        message = describe_refusal(status, where, details, endpoint, reason)
    elif is_quota:
        message = _NO_QUOTA
    elif is_loading:
        message, reason = _STILL_LOADING, "loading"
    else:
        message = _MESSAGES[code].format(where=where, wait=describe_wait(wait_s))
    retryable = code in _RETRYABLE and not is_quota
    detail = quote_service(details.message or details.title, endpoint)
    return ProviderError(code, message, retryable=retryable, retry_after_s=wait_s, reason=reason, detail=detail)


def error_code(status: int, text: str) -> str:
    """Return the ``ProviderError.code`` of a status and what the service said."""
    is_rate_limit = bool(_RATE_LIMIT.search(text))
    if status not in (401, 403, 429) and not is_rate_limit and _OVERFLOW.search(text):
        return "context_overflow"
    if 400 <= status < 500 and _BAD_KEY.search(text):
        return "authentication"
    if status != 429 and _QUOTA.search(text):
        return "rate_limited"
    if status == 403 and text and (_UNKNOWN_MODEL.search(text) or not _ABOUT_KEY.search(text)):
        return "refused"
    if is_rate_limit and status in (400, 413, 503):
        return "rate_limited"
    return _CODE_OF_STATUS.get(status, "server_error" if status >= 500 else "refused")


def refusal_reason(text: str, *, is_refusal: bool) -> str:
    """Return the ``ProviderError.reason``; empty where the refusal is not about thinking.

    Where the status doesn't say that the request was at fault (5xx, or no code), only unmistakable words count.
    """
    reason = next((reason for reason, patterns in _REASONS if all(pattern.search(text) for pattern in patterns)), "")
    is_certain = reason in ("ciphertext", "not_found_item", "unpaired_item") or (
        reason == "missing_reasoning" and _REASONING_FIELD.search(text)
    )
    return reason if is_refusal or is_certain else ""


def describe_refusal(status: int, where: str, details: ErrorDetails, endpoint: Endpoint, reason: str) -> str:
    """Say what was refused and what to change."""
    other_api, mention = _OTHER_API[endpoint.api]
    names_other_api = bool(mention.search(details.text))
    is_bare = not details.message or bool(_NOTHING_SAID.match(details.message))
    if status in (404, 405) and is_bare and not reason and not names_other_api:
        hint = " Not every server speaks Responses: OPENAI_API=chat is the other way." if endpoint.api != "chat" else ""
        return (
            f"Nothing is served at that address of {endpoint.host} (HTTP {status}). "
            f"Check OPENAI_BASE_URL; it often ends in /v1.{hint}"
        )
    if status == 404 and reason == "unknown_model" and not names_other_api:
        return f"The model service does not offer the model “{shown_model(endpoint.model)}”. Check OPENAI_MODEL."
    if names_other_api:
        advice = f"Set OPENAI_API={other_api}{', or reasoning.effort to none' if reason == 'effort' else ''}."
    elif reason == "reasoning_refused" and not details.message:
        advice = _ADVICE_WITHOUT_REASON
    else:
        advice = _ADVICE.get(reason, "")
    if not details.message:
        return f"The model service refused ({where}). {advice}".rstrip()
    quotation = quote_service(details.message, endpoint)
    full_stop = "" if quotation.endswith((".", "!", "?", "…", ")")) else "."
    return f"The model service refused the request: {quotation}{full_stop} {advice}".rstrip()


def quote_service(text: str, endpoint: Endpoint) -> str:
    """Return a service's words on one line, without keys and its machine's folders, redacted and shortened."""
    for secret in endpoint.secrets:
        if len(secret) > 3:
            text = text.replace(secret, "[redacted]")
    if endpoint.model:
        text = text.replace(endpoint.model, shown_model(endpoint.model))
    safe = redact_text(_HOST_FOLDERS.sub("…/", " ".join(text[: 20 * MAX_QUOTED_CHARS].split())))
    return safe if len(safe) <= MAX_QUOTED_CHARS else f"{safe[:MAX_QUOTED_CHARS].rstrip()}…"


def read_object(value: Any) -> ErrorDetails:
    """Read the texts, codes and status of an error object."""
    texts: list[str] = []
    codes: list[str] = []
    collect_texts(value, texts, codes, 0)
    joined_codes = " ".join(codes).lower()
    status = next((int(code) for code in codes if _HTTP_STATUS.fullmatch(code)), 0)
    # A router's own sentence says nothing; what its upstream said comes after it.
    texts.sort(key=lambda text: "provider returned error" in text.lower())
    return ErrorDetails(texts[0] if texts else "", " ".join([*texts, joined_codes]), joined_codes, status)


def collect_texts(value: Any, texts: list[str], codes: list[str], depth: int) -> None:
    """Collect the texts and codes of an error in any envelope.

    Seen: ``{"error": {...}}``, ``{"error": "text"}``, ``{"message", "code"}``, ``{"detail": [...]}``, a list of these,
    and one service's answer as text inside a gateway's.
    """
    if depth > _MAX_DEPTH:
        return
    match value:
        case str():
            if value.lstrip().startswith(("{", "[")):
                try:
                    return collect_texts(json.loads(value), texts, codes, depth + 1)
                except (ValueError, RecursionError):
                    pass
            texts += [value.strip()] if value.strip() else []
        case list():
            for item in value[:20]:
                collect_texts(item, texts, codes, depth + 1)
        case dict():
            codes += [str(value[key]) for key in _CODE_KEYS if isinstance(value.get(key), str | int)]
            location = value.get("loc")
            codes += [part for part in location if isinstance(part, str)] if isinstance(location, list) else []
            for key in (*_TEXT_KEYS, *_NESTED_KEYS):
                inner = value.get(key)
                if isinstance(inner, dict | list) or (isinstance(inner, str) and key in _TEXT_KEYS):
                    collect_texts(inner, texts, codes, depth + 1)
    return None
