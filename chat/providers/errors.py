"""Failures of a model service as ``ProviderError``: a code, a reason and parameters.

Services wrap their errors in many envelopes. Codes and fragments of texts decide (``wordings``), never a whole
sentence. A service's own words are kept for staff: without keys, redacted and shortened. Replay D4.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast, get_args

from chat.providers.base import Code, ProviderError, Reason, shown_model
from chat.providers.model_listing import stated_limit
from chat.providers.wordings import kind_of
from reasoning.redaction import mask_private, redact_text
from reasoning.replay.wire import DEFAULT_API, FORMATS

MAX_QUOTED_CHARS = 300
_MAX_READ_CHARS = 16_000  # of a service's words: some hundred patterns are looked for in them
_MAX_WAIT_S = 86_400.0  # a day
_SHORT_WAIT_S = 120.0  # that no quota of an account is renewed in
TOO_MANY_REQUESTS = 429
_LIMITED = (TOO_MANY_REQUESTS, 503)
_MAX_DEPTH = 6
# Compared as ``plain_name`` writes them: AWS and Tencent begin them with capitals, others write them in camel case.
_CODE_KEYS = (
    "code",
    "type",
    "status",
    "statuscode",
    "rawstatuscode",
    "httpstatus",
    "errorcode",
    "errortype",
    "param",
)
_TEXT_KEYS = (
    "message",
    "msg",
    "statusmsg",
    "errormessage",
    "errormsg",
    "errmsg",
    "faultstring",
    "detail",
    "reason",
    "raw",
    "error",
)
_NESTED_KEYS = ("errors", "details", "metadata", "response", "data", "result", "baseresp", "fault", "header")
# Under any name of its own: ``external_model_error`` (Databricks).
NAMES_ERROR = re.compile(r"(?:error|exception|(?<!de)fault)\Z", re.IGNORECASE)
_HTTP_STATUS = re.compile(r"[45][0-9]{2}")
_RETRYABLE = frozenset({"unreachable", "timeout", "disconnected", "rate_limited", "server_error"})
_CODE_OF_STATUS: Mapping[int, Code] = {
    401: "authentication",
    402: "rate_limited",  # payment required: the quota
    403: "authentication",
    408: "timeout",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    407: "authentication",  # of a proxy
    409: "server_error",  # a request that is in the way of another
    413: "context_overflow",
    423: "server_error",  # locked, while another request is served or the model is loaded
    424: "server_error",  # a dependency failed: the model behind a gateway
    425: "server_error",  # too early
    429: "rate_limited",
    498: "rate_limited",  # Groq: no capacity
    499: "server_error",  # a proxy closed the request on its way
}
# The status that an error's name means. An error inside an open stream has no HTTP status.
_STATUS_OF_NAME = (
    (re.compile(r"invalid_?api_?key|authentication|auth_?failure|permission|unauthori"), 401),
    (re.compile(r"payment_required|insufficient_(?:balance|credit|funds)"), 402),
    (re.compile(r"quota|rate_limit|too_many_requests|throttl|resource_exhausted"), 429),
    (re.compile(r"model_not_found|not_found"), 404),
    (re.compile(r"timeout|deadline"), 504),
    (re.compile(r"invalid|bad_request|unsupported|content_policy|content_filter|context_length"), 400),
)
# Kinds that words tell in a stream, where no status does.
_WORDED: frozenset[Code | Reason] = frozenset({"authentication", "policy"})
# Reasons of a refusal that the words of a service can name.
_REFUSALS = frozenset(get_args(Reason)) - {"", "quota", "loading"}
_BILLING = re.compile("billing", re.IGNORECASE)  # means the quota under a rate limit's status only
_NOTHING_SAID = re.compile(  # beyond what the status says
    r"(?:40[45]\W*)?(?:(?:page|file|method|route|resource|endpoint|path|the requested url) )?(?:was )?"
    r"not (?:found|allowed)\W*$|invalid url \(|cannot post |no such (?:route|endpoint)"
    r"|unknown request url|404 route not found",
    re.IGNORECASE,
)
_BLAMED = frozenset({400, 403, 404, 422, 424})  # statuses of a busy service that blames the request
# What a 403 says of the key. Other ones are about the place, the content or the account.
_ABOUT_KEY = re.compile(
    r"\bkeys?\b|\btokens?\b|credential|permission|scopes?\b|unauthori[sz]ed|not authori[sz]ed|authenticat"
    r"|unregistered callers|^(?:forbidden|access denied|403)\W*$",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]{0,200}>(.{1,200}?)</title", re.IGNORECASE | re.DOTALL)
# The folders of a path on the service's machine, up to its last part. Paths of addresses (/v1/…) aren't meant.
_HOST_FOLDERS = re.compile(
    r"(?<![\w/.:])(?:~|/(?:home|root|usr|opt|var|srv|mnt|media|data|tmp|models?|app|workspace|users|etc|private|volumes)"
    r"|[a-z]:|\\\\[\w.-]{1,60})(?:[\\/][^\\/\s'\"`:,;()]{1,100}){0,20}[\\/](?=[^\\/\s'\"`])",
    re.IGNORECASE,
)

_SPAN = r"(?:(\d+)\s*d(?:ays?)?\s*)?(?:(\d+)\s*h(?:ours?|rs?)?\s*)?(?:(\d+)\s*m(?:in(?:ute)?s?)?(?!s)\s*)?"
_SPAN += r"(?:(\d+(?:\.\d+)?)\s*s(?:ec(?:ond)?s?)?\b|(\d+(?:\.\d+)?)\s*(?:ms|milliseconds?)\b)?"
# How long to wait, where no header says it, each with an example and what it comes to. Bare numbers are seconds.
WAITS: tuple[tuple[re.Pattern[str], str, float], ...] = (
    (re.compile(rf'"(?:retryDelay|quotaResetDelay)\\*"\s*:\s*\\*"{_SPAN}'), '"retryDelay": "26.5s"', 26.5),
    (
        re.compile(r'"(?:retry_?after|retryAfter|retry_after_seconds)\\*"\s*:\s*\\*"?()()()(\d+(?:\.\d+)?)()'),
        '"retry_after": 3',
        3.0,
    ),
    (  # Google's own form
        re.compile(
            r'"retry_?(?:delay|after)\\*"\s*:\s*\{[^{}]{0,40}?"seconds\\*"\s*:\s*\\*"?()()()(\d+(?:\.\d+)?)()', re.I
        ),
        '"retry_delay": {"seconds": 40}',
        40.0,
    ),
    (
        re.compile(r'"retry_?(?:after_?)?ms\\*"\s*:\s*\\*"?()()()()(\d+(?:\.\d+)?)', re.IGNORECASE),
        '"retry_after_ms": 900',
        0.9,
    ),
    (
        re.compile(
            rf"\b(?:try again|retry|available|resets?|wait)(?: (?:in|after|for|at least|about))* {_SPAN}",
            re.IGNORECASE,
        ),
        "Please try again in 1m2.5s.",
        62.5,
    ),
)
# Headers that say when a limit is renewed, some with the header that must say 0 for it to be this limit.
_RENEWALS = {
    "x-ratelimit-reset-after": "",
    "x-ratelimit-reset": "",
    "ratelimit-reset": "",
    "x-ratelimit-reset-requests": "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-tokens": "x-ratelimit-remaining-tokens",
    "x-ratelimit-timeremaining": "",  # GitHub
    "anthropic-ratelimit-requests-reset": "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-tokens-reset": "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset": "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset": "anthropic-ratelimit-output-tokens-remaining",
}
_WHOLE_SPAN = re.compile(_SPAN, re.IGNORECASE)
_QUOTED_RENEWAL = re.compile(r'"x-ratelimit-reset\\*"\s*:\s*\\*"?(\d{10,13})\b', re.IGNORECASE)  # OpenRouter's header
# The moment itself, in words or in a field: LiteLLM, gateways.
_STATED_RENEWAL = re.compile(
    r"\breset(?:s|_?at|_?time)?\W{1,6}(?:(?:at|on)\W{1,3})?"
    r"(20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_FIRST_MOMENT, _FIRST_MOMENT_MS = 1e9, 1e12  # larger numbers are moments since 1970, in seconds or milliseconds
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
    api: str = DEFAULT_API


UNKNOWN_ENDPOINT = Endpoint(host="the model service")


def failure_from_status(
    status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, *, replays_thinking: bool = False
) -> ProviderError:
    """Turn an HTTP answer of 3xx to 5xx into our error. Any envelope, or none.

    ``replays_thinking``: the request held earlier thinking. A refusal without a word is put down to it (Cerebras, seen
    2026-05), since there is nothing else to go by.
    """
    text = body[:200_000].decode("utf-8", "replace").strip()
    try:
        details = read_object(json.loads(text))
    except (ValueError, RecursionError):
        # Plain text; but a web page says nothing beyond its title.
        title = _TITLE.search(text)
        is_page = text.startswith("<")
        details = (
            ErrorDetails(title=title[1] if title else "")
            if is_page
            else ErrorDetails(text[:_MAX_READ_CHARS], text[:_MAX_READ_CHARS])
        )
    text = text[:_MAX_READ_CHARS]
    waits = (retry_after_s(headers), stated_wait_s(text), renewed_in_s(headers, text) if status in _LIMITED else None)
    wait_s = next((wait for wait in waits if wait is not None), None)
    error = build_error(status, details, endpoint, wait_s=wait_s)
    error.params["status"] = status
    if replays_thinking and status in (400, 422) and not text:
        error.reason = "reasoning_refused"
    if error.code == "context_overflow":
        error.context_limit = stated_limit(text)
    return error


def failure_from_object(error: Any, endpoint: Endpoint) -> ProviderError:
    """Turn an error object that came inside a 200 answer into our error.

    ``error`` may be a whole answer, such as ``{"code", "msg"}`` or ``{"success": false, "errors"}``.
    """
    details = read_object(error)
    by_name = next((status for pattern, status in _STATUS_OF_NAME if pattern.search(details.codes)), 0)
    by_name = by_name or {"authentication": 401, "policy": 400}.get(kind_of(details.text, _WORDED), 0)
    wait_s = stated_wait_s(json.dumps(error, default=str))
    failure = build_error(details.status or by_name or 500, details, endpoint, wait_s=wait_s)
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
    if any(isinstance(link, ssl.SSLError) for link in chain):
        return ProviderError("unreachable", "certificate", {"host": endpoint.host}, retryable=False)
    if any(type(link).__name__ == "TooManyRedirects" for link in chain):
        return ProviderError("refused", "redirect_loop", {"host": endpoint.host}, retryable=False)
    # The innermost known cause decides: the transport renames exceptions on the way out, and reports a dropped
    # connection as a connect time-out (SDK 3.54, seen 2026-11).
    names = ({kind.__name__ for kind in type(link).__mro__} for link in reversed(chain))
    codes = (code for found in names for code, known in _TRANSPORT_CODES.items() if found & known)
    match next(codes, "disconnected"):
        case "unreachable":
            return ProviderError("unreachable", "", {"host": endpoint.host, "seconds": connect_s}, retryable=True)
        case "timeout":
            return ProviderError("timeout", "idle", {"host": endpoint.host, "seconds": idle_s}, retryable=True)
    return ProviderError("disconnected", "", {"host": endpoint.host}, retryable=True)


def cut_off() -> ProviderError:
    """Return the error of a stream that ended without an end mark."""
    return ProviderError("disconnected", "cut_off", retryable=True)


def redirect_error(host: str, target: str, status: int) -> ProviderError:
    """Return the error of a redirect that is not followed; ``target``: a host, empty where it can't be read."""
    return ProviderError("refused", "redirect", {"host": host, "target": target, "status": status}, retryable=False)


def malformed_error(
    received: Literal["", "web_page", "not_json", "nesting", "no_answer", "too_large"] = "",
) -> ProviderError:
    """Return the error of an answer that cannot be read; ``received``: what came instead."""
    return ProviderError("malformed", received, retryable=False)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long to wait, in seconds, from any form of the header; None where it says nothing usable."""
    value = headers.get("retry-after")
    milliseconds, seconds = parse_number(headers.get("retry-after-ms")), parse_number(value)
    if milliseconds is not None:
        seconds = milliseconds / 1000
    elif seconds is None and (until := parse_date(value)) is not None:
        seconds = (until - (parse_date(headers.get("date")) or datetime.now(UTC))).total_seconds()
    return None if seconds is None else min(max(seconds, 0.0), _MAX_WAIT_S)


def stated_wait_s(text: str) -> float | None:
    """Read how long to wait, in seconds, from the body of a refusal; None where it doesn't say so."""
    for pattern, _example, _seconds in WAITS:
        for found in pattern.finditer(text[:20_000]):
            if wait_s := span_s(found):
                return wait_s
    return None


def renewed_in_s(headers: Mapping[str, str], text: str) -> float | None:
    """Read when a limit is renewed, as seconds from now, from headers or from those that a gateway quotes."""
    now = parse_date(headers.get("date")) or datetime.now(UTC)
    found = [
        value for name, left in _RENEWALS.items() if (value := headers.get(name)) and headers.get(left, "0") == "0"
    ]
    found += [*_QUOTED_RENEWAL.findall(text[:20_000]), *_STATED_RENEWAL.findall(text[:20_000])]
    for value in found:
        number = parse_number(value)
        if number is None:
            span, moment = _WHOLE_SPAN.fullmatch(value.strip()), parse_moment(value)
            wait_s = span_s(span) if span else (moment - now).total_seconds() if moment else 0.0
        else:
            moment_s = number / 1000 if number > _FIRST_MOMENT_MS else number
            wait_s = moment_s - now.timestamp() if moment_s > _FIRST_MOMENT else moment_s
        if wait_s > 0:
            return min(wait_s, _MAX_WAIT_S)
    return None


def span_s(found: re.Match[str]) -> float:
    """Return the seconds of a span, of days to milliseconds in the last groups of a match."""
    days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups()[-5:])
    return min(days * 86_400 + hours * 3600 + minutes * 60 + seconds + milliseconds / 1000, _MAX_WAIT_S)


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


def parse_moment(value: str) -> datetime | None:
    """Read a date as ISO 8601 has it; without a zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """What a service said. ``message`` is the first text meant for people, ``text`` all of it with the codes."""

    message: str = ""
    text: str = ""
    codes: str = ""
    status: int = 0  # an HTTP status that the error names itself
    title: str = ""  # of a web page, such as a proxy's: nothing for users


def build_error(
    status: int, details: ErrorDetails, endpoint: Endpoint, *, wait_s: float | None = None
) -> ProviderError:
    """Return the error of a status, which may be guessed from an error's name, and of what the service said."""
    code = error_code(status, details.text)
    reason: Reason = ""
    # Gemini calls the requests of a minute a quota, and says when there are more.
    is_short = status == TOO_MANY_REQUESTS and wait_s is not None and wait_s <= _SHORT_WAIT_S
    if code == "rate_limited" and is_quota(status, details.text) and not is_short:
        reason = "quota"
    elif code == "refused":
        reason = cast("Reason", kind_of(details.text, _REFUSALS))
    elif code == "server_error":
        # The status doesn't say that the request was at fault, so only unmistakable words count.
        reason = cast("Reason", kind_of(details.text, _REFUSALS, only_any_status=True))
        if reason:
            code = "refused"
        elif kind_of(details.text, {"loading"}):
            reason = "loading"
    params: dict[str, Any] = {"host": endpoint.host}
    if code == "rate_limited":
        params["wait_s"] = wait_s
    if code == "refused":
        params["model"] = shown_model(endpoint.model)
        others = [one for one in FORMATS.values() if one.name != endpoint.api]
        mentioned = next((one.name for one in others if one.mention.search(details.text)), "")
        is_bare = not details.message or bool(_NOTHING_SAID.match(details.message))
        if mentioned:
            params["other_api"] = mentioned
            # Told to use the other API, people needn't hear of a model that this one doesn't serve.
            reason = "other_api" if reason in ("", "unknown_model") else reason
        elif status in (404, 405) and is_bare and not reason:
            reason = "wrong_path"
            # Not every server speaks another API than the usual one.
            params |= {"other_api": DEFAULT_API} if endpoint.api != DEFAULT_API else {}
    detail = quote_service(details.message or details.title, endpoint)
    retryable = code in _RETRYABLE and reason != "quota"
    return ProviderError(code, reason, params, retryable=retryable, retry_after_s=wait_s, detail=detail)


def error_code(status: int, text: str) -> Code:
    """Return the ``ProviderError.code`` of a status and what the service said."""
    if kind_of(text, {"context_overflow"}, only_any_status=True):
        return "context_overflow"
    is_rate_limit = bool(kind_of(text, {"rate_limited"}))
    if status not in (401, 403, 429) and not is_rate_limit and kind_of(text, {"context_overflow"}):
        return "context_overflow"
    if 400 <= status < 500 and kind_of(text, {"authentication"}):
        return "authentication"
    if status != 429 and kind_of(text, {"quota"}):
        return "rate_limited"
    if is_rate_limit and status in (400, 403, 413, 500, 503):
        return "rate_limited"
    # A busy service may blame the request.
    if status in _BLAMED and kind_of(text, {"server_error", "loading", *_REFUSALS}) in ("server_error", "loading"):
        return "server_error"
    if status == 403 and text and (kind_of(text, {"unknown_model", "policy"}) or not _ABOUT_KEY.search(text)):
        return "refused"
    return _CODE_OF_STATUS.get(status, "server_error" if status >= 500 else "refused")


def is_quota(status: int, text: str) -> bool:
    """Say whether a rate limit is one that no waiting helps against."""
    return status == 402 or bool(kind_of(text, {"quota"}) or _BILLING.search(text))


def plain_name(name: str) -> str:
    """Return the name of a field in small letters, without the signs between its words."""
    return name.lower().replace("_", "").replace("-", "")


def quote_service(text: str, endpoint: Endpoint) -> str:
    """Return a service's words on one line, without keys and its machine's folders, redacted and shortened.

    Services quote what they refuse, which may be an earlier answer with private text in it.
    """
    for secret in endpoint.secrets:
        if len(secret) > 3:
            text = text.replace(secret, "[redacted]")
    if endpoint.model:
        text = text.replace(endpoint.model, shown_model(endpoint.model))
    text = mask_private(text[: 20 * MAX_QUOTED_CHARS])
    safe = redact_text(_HOST_FOLDERS.sub("…/", " ".join(text.split())))
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
    said = " ".join(texts)[:_MAX_READ_CHARS]
    return ErrorDetails(
        texts[0][:_MAX_READ_CHARS] if texts else "", f"{said}\n{joined_codes[:_MAX_READ_CHARS]}", joined_codes, status
    )


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
            value = {plain_name(str(key)): inner for key, inner in value.items()}
            codes += [str(value[key]) for key in _CODE_KEYS if isinstance(value.get(key), str | int)]
            location = value.get("loc")
            codes += [part for part in location if isinstance(part, str)] if isinstance(location, list) else []
            others = (key for key in value if NAMES_ERROR.search(key) and key not in _TEXT_KEYS)
            for key in (*_TEXT_KEYS, *_NESTED_KEYS, *others):
                inner = value.get(key)
                if isinstance(inner, dict | list) or (isinstance(inner, str) and key in _TEXT_KEYS):
                    collect_texts(inner, texts, codes, depth + 1)
    return None
