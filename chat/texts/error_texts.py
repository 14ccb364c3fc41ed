"""Words for failures, and for remarks on an answer. Product 40.

A failure is stored and logged as a code, a reason and parameters. It is worded here, in the viewer's language, whenever
it is shown: ``user`` names no address, key, setting or profile; ``staff`` names the place to look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chat.models import Turn
from chat.providers.address import MAX_CHARS as MAX_ADDRESS_CHARS
from chat.providers.address import AddressProblem
from chat.providers.base import ProviderError

NO_PARAMS: Mapping[str, Any] = {}
_TOMORROW_S = 64_800.0  # 18 hours


class Text(NamedTuple):
    """What a code means for a reason; without a reason, for all that have no row of their own."""

    code: str
    reason: str
    user: Promise | str  # empty: users need not know
    staff: Promise


_UNREACHABLE = _("The model can’t be reached at the moment. Contact your administrator if this continues.")
_UNUSABLE = _("The model can’t be used at the moment. Contact your administrator.")
_UNREADABLE = _("The model sent an answer that can’t be read. Contact your administrator.")
_REFUSED = _("The model refused the request. Choose another model, or contact your administrator.")
_TOO_SLOW = _("The model took too long to answer. Try again.")
_EARLIER_THINKING = _(
    "The model refused something of its earlier thinking. Switch off “Include earlier thinking in requests” in your "
    "settings."
)
_ITEMS = _(
    "The model service refused something of the earlier thinking that was sent back. "
    "Set reasoning.includeInContext to false."
)
_HISTORY = _("The model can’t continue this conversation. Start a new chat, or choose another model.")
_RESULTS = _("The model failed at what its tools found. Your next message is sent without it.")
_AT_RESULTS = _(
    "The model service failed at the results of tools (%(where)s). The next request is made without them. Check that "
    "the chat template of the model takes messages of tools."
)
_CUT_OFF = _("The answer reached the length that this site allows; it is cut off here.")

TEXTS: tuple[Text, ...] = (
    # The service can't be reached.
    Text(
        "unreachable",
        "",
        _UNREACHABLE,
        _("Nothing answers at %(host)s (waited at most %(seconds)s s). Does the model server run? Check %(address)s."),
    ),
    Text(
        "unreachable",
        "certificate",
        _UNUSABLE,
        _("%(host)s shows a certificate that is not trusted here. Check %(address)s."),
    ),
    Text("unreachable", "bad_address", _UNUSABLE, _("%(problem)s Check %(address)s.")),
    Text("timeout", "", _TOO_SLOW, _("The model service gave up waiting (%(where)s). Try again.")),
    Text(
        "timeout",
        "first_word",
        _("The model did not begin to answer in time. Try again."),
        _(
            "The model service at %(host)s did not begin to answer within %(seconds)s s (FIRST_WORD_TIMEOUT_S). "
            "Try again."
        ),
    ),
    Text(
        "timeout",
        "idle",
        _("The model stopped answering. Try again."),
        _("The model service at %(host)s was silent for %(seconds)s s (UPSTREAM_IDLE_TIMEOUT_S). Try again."),
    ),
    Text("timeout", "check", _TOO_SLOW, _("The model service did not finish within %(seconds)s s.")),
    Text(
        "disconnected",
        "",
        _("The connection to the model broke off. Try again."),
        _("The connection to the model service at %(host)s broke off. Try again."),
    ),
    Text(
        "disconnected",
        "cut_off",
        _("The answer broke off in the middle. Try again."),
        _("The model service ended the answer in the middle. Try again."),
    ),
    # Something else than an answer came.
    Text(
        "malformed",
        "",
        _UNREADABLE,
        _("The model service sent an answer that can’t be read. Check that %(address)s is OpenAI-compatible."),
    ),
    Text(
        "malformed",
        "web_page",
        _UNREADABLE,
        _("The model service sent a web page instead of an answer. Check that %(address)s is OpenAI-compatible."),
    ),
    Text(
        "malformed",
        "not_json",
        _UNREADABLE,
        _(
            "The model service sent something that is not JSON in the middle of its answer. "
            "Check that %(address)s is OpenAI-compatible."
        ),
    ),
    Text(
        "malformed",
        "nesting",
        _UNREADABLE,
        _("The model service sent JSON of endless nesting. Check that %(address)s is OpenAI-compatible."),
    ),
    Text(
        "malformed",
        "no_answer",
        _UNREADABLE,
        _("The model service sent something that is no answer. Check that %(address)s is OpenAI-compatible."),
    ),
    Text(
        "malformed",
        "too_large",
        _UNREADABLE,
        _("The model service sent more than 8 MiB in one piece. Check that %(address)s is OpenAI-compatible."),
    ),
    # The key, the quota, the rate.
    Text(
        "authentication",
        "",
        _UNUSABLE,
        _("The model service did not accept the key, or the key may not use this model. Check %(key)s."),
    ),
    Text(
        "authentication",
        "key_missing",
        _UNUSABLE,
        _("The model needs a key, and %(variable)s is empty. Set it in the server’s environment or .env."),
    ),
    Text(
        "authentication",
        "key_not_allowed",
        _UNUSABLE,
        _("The model may not use its key: MODEL_KEYS does not list %(variable)s for %(host)s. Check %(key)s."),
    ),
    Text(
        "rate_limited",
        "",
        _("The model has too many requests. Try again %(wait)s."),
        _("The model service limits the rate of requests. Try again %(wait)s."),
    ),
    Text(
        "rate_limited",
        "quota",
        _UNUSABLE,
        _("The account at the model service has no quota left. Top it up, or use another key (%(key)s)."),
    ),
    Text(
        "server_error",
        "",
        _("The model failed. Try again in a moment."),
        _("The model service failed (%(where)s). Try again in a moment."),
    ),
    Text(
        "server_error",
        "loading",
        _("The model is still being loaded. Try again in a moment."),
        _("The service is still loading the model. Try again in a moment."),
    ),
    Text("server_error", "results", _RESULTS, _AT_RESULTS),
    Text(
        "context_overflow",
        "",
        _("The conversation is longer than the model can read. Start a new chat, or send a shorter message."),
        _("The conversation is longer than the model can read. Start a new chat, or send a shorter message."),
    ),
    # The service refuses the request: the address and the model.
    Text("refused", "", _REFUSED, _("The model service refused the request (%(where)s).")),
    Text("refused", "results", _RESULTS, _AT_RESULTS),
    Text("refused", "parallel_calls", _RESULTS, _AT_RESULTS),
    Text("refused", "result_names", _RESULTS, _AT_RESULTS),
    Text(
        "refused",
        "wrong_path",
        _UNUSABLE,
        _("Nothing is served at that address of %(host)s (%(where)s). Check %(address)s; it often ends in /v1."),
    ),
    Text(
        "refused",
        "redirect",
        _UNUSABLE,
        _("%(host)s redirects requests to %(target)s (%(where)s), which is not followed. Check %(address)s."),
    ),
    Text("refused", "redirect_loop", _UNUSABLE, _("%(host)s redirects requests in a circle. Check %(address)s.")),
    Text("refused", "no_models", _UNUSABLE, _("%(host)s lists no models. Set %(model_name)s.")),
    Text(
        "refused",
        "unknown_model",
        _UNUSABLE,
        _("The model service does not offer the model “%(model)s”. Check %(model_name)s."),
    ),
    Text("refused", "other_api", _UNUSABLE, _("The model service serves this with the other API only.")),
    # Thinking.
    Text("refused", "ciphertext", _EARLIER_THINKING, _ITEMS),
    Text("refused", "not_found_item", _EARLIER_THINKING, _ITEMS),
    Text("refused", "unpaired_item", _EARLIER_THINKING, _ITEMS),
    Text(
        "refused",
        "missing_reasoning",
        _(
            "This model needs its earlier thinking back. Switch on “Include earlier thinking in requests” in your "
            "settings, and omit nothing of it."
        ),
        _(
            "This model needs its earlier thinking back: set reasoning.includeInContext to true "
            "and reasoning.stripFromContext to none."
        ),
    ),
    Text(
        "refused",
        "maybe_missing_reasoning",
        _(
            "The model refused the request. It may want its earlier thinking back: switch on “Include earlier thinking "
            "in requests” in your settings."
        ),
        _(
            "The model service refused the request (%(where)s). It may want its earlier thinking back: set "
            "reasoning.includeInContext to true and reasoning.stripFromContext to none."
        ),
    ),
    Text(
        "refused",
        "reasoning_refused",
        _EARLIER_THINKING,
        _(
            "The model service takes no earlier thinking back: set reasoning.includeInContext to false. "
            "If the conversation is too long for the model, start a new chat."
        ),
    ),
    # Parameters.
    Text(
        "refused",
        "effort",
        _("The model does not support this effort. Choose another one."),
        _("The model service does not accept the effort: set reasoning.effort to another value, or unset it."),
    ),
    Text(
        "refused",
        "max_tokens",
        _("The model does not support the thinking token limit. Remove it in your settings."),
        _("The model service does not accept a limit of thinking: unset reasoning.maxTokens."),
    ),
    Text(
        "refused",
        "summary",
        _("The model does not write a summary of its reasoning. Switch it off in your settings."),
        _("The model service does not write this summary of reasoning: set reasoning.summary to none."),
    ),
    Text(
        "refused",
        "include",
        _UNUSABLE,
        _("This model keeps no thinking to send back: set %(api)s to “chat”."),
    ),
    Text(
        "refused",
        "enabled",
        _("This model always reasons. Switch on “Ask for reasoning” in your settings."),
        _("This model always reasons: set reasoning.enabled to true."),
    ),
    # What the service or the model's template can't do.
    Text(
        "refused",
        "tools",
        _("This model can’t use the tools of this site. Choose another model, or contact your administrator."),
        _(
            "The model service takes no tools. Start it with a tool parser (llama.cpp: --jinja), or choose a model "
            "that supports them: check %(model_name)s."
        ),
    ),
    Text(
        "refused",
        "system_role",
        _REFUSED,
        _("The chat template of the model takes no system message. Check %(model_name)s."),
    ),
    Text(
        "refused",
        "roles",
        _HISTORY,
        _("The chat template of the model demands that messages of user and assistant alternate."),
    ),
    Text(
        "refused",
        "user_after_tool",
        _HISTORY,
        _("The model service takes no question directly behind the result of a tool."),
    ),
    Text(
        "refused",
        "images",
        _("The model can’t read an attached image. Remove the image, or choose another model."),
        _("The model service refused an image. Say in the model’s profile or in OPENAI_TAKES_IMAGES if it takes none."),
    ),
    Text(
        "refused",
        "call_ids",
        _HISTORY,
        _("The model service does not accept the id or the name of an earlier tool call."),
    ),
    Text("refused", "content", _HISTORY, _("The model service does not accept an earlier message without text.")),
    Text(
        "refused",
        "policy",
        _("The model refused this because of its rules for content. Word your message in another way."),
        _("The model service refused the request because of its rules for content."),
    ),
    Text(
        "refused",
        "repeated",
        _("The model can’t continue with what its tools found. Ask again, or choose another model."),
        _("The request would repeat an earlier one of this answer: the model can’t be sent what its tools found."),
    ),
    # How turns end on this server.
    Text(
        "internal",
        "",
        _("Stopped: something went wrong on this server."),
        _("Stopped: something went wrong on this server. Its log says what."),
    ),
    Text(
        "missing_key",
        "",
        _("Earlier messages of this chat can’t be read. Contact your administrator."),
        _("Earlier messages of this chat were encrypted with a key that CONTENT_KEYS lacks. Add it and start again."),
    ),
    Text(
        "turn_timeout",
        "",
        _("Stopped: the answer took longer than this site allows."),
        _("Stopped: the answer took longer than this site allows (MAX_TURN_S)."),
    ),
    Text(
        "too_many_calls",
        "",
        _("The model asked for more tool calls at once than this site allows."),
        _("The model asked for more tool calls at once than this site allows (MAX_CALLS_PER_RESPONSE)."),
    ),
    Text(
        "length",
        "",
        _("The answer reached the output limit and is cut off here."),
        _("The answer reached the output limit and is cut off here."),
    ),
    Text(
        "length",
        "answer",
        _CUT_OFF,
        _("The answer reached the length that this site allows (MAX_ANSWER_BYTES); it is cut off here."),
    ),
    Text(
        "length",
        "thinking",
        _("The thinking reached the length that this site allows; it is cut off here."),
        _("The thinking reached the length that this site allows (MAX_THINKING_BYTES); it is cut off here."),
    ),
    Text(
        "length",
        "arguments",
        _("The arguments of a tool call were longer than this site allows."),
        _("The arguments of a tool call were longer than this site allows (MAX_ARGUMENTS_BYTES)."),
    ),
    Text(
        "content_filter",
        "",
        _("The model’s service withheld the rest of this answer."),
        _("The model’s service withheld the rest of this answer."),
    ),
    # Remarks on an answer that is complete, so without a code.
    Text(
        "",
        "effort",
        _("The model does not support the effort that was set, so this answer was generated without it."),
        _("The model service rejected reasoning.effort; this answer was generated without it."),
    ),
    Text(
        "",
        "enabled",
        _("The model always reasons, so this answer was generated with reasoning."),
        _("The model service refused to switch reasoning off (reasoning.enabled); this answer was generated with it."),
    ),
    Text(
        "",
        "context",
        _("The model does not support the setting for earlier reasoning, so this answer was generated without it."),
        _("The model service rejected reasoning.context; this answer was generated without it."),
    ),
    Text(
        "",
        "mode",
        _("The model does not support the reasoning mode that was set, so this answer was generated without it."),
        _("The model service rejected reasoning.mode; this answer was generated without it."),
    ),
    Text(
        "",
        "images",
        _("This model can’t see images. It was told the name of the attached image only."),
        _("This model can’t see images. It was told the name of the attached image only."),
    ),
    Text(
        "",
        "refused_images",
        _("The model refused an attached image, so this answer was generated without it."),
        _("The model service refused an attached image, so this answer was generated without it."),
    ),
    Text(
        "",
        "tools",
        _("This model takes no tools, so this answer was generated without looking anything up."),
        _(
            "This model’s service accepts no tools, so this answer was generated without them. A server such as vLLM "
            "or llama.cpp may need an option for tool calls."
        ),
    ),
    Text(
        "",
        "offline",
        "",
        _(
            "The offline analyst answers, since no model is connected. To connect one, put its address into .env and "
            "restart, or add a model profile."
        ),
    ),
    Text(
        "",
        "unclosed_thought",
        _("The model marked the rest of this answer as thinking."),
        _("The model marked the rest of this answer as thinking and did not end the mark."),
    ),
    Text(
        "",
        "text_call",
        _("The model wrote a tool call as text, so the tool was not run. Contact your administrator."),
        _(
            "The model wrote a tool call as text: its service has no parser for it, so the tool was not run. "
            "Start the model server with a tool parser for this model, or switch “takes tools” off."
        ),
    ),
)
_ROWS = {(row.code, row.reason): row for row in TEXTS}
# For staff, behind the text of a failure that has such a parameter.
_WAYS_OUT = {
    "other_api": _("Set %(api)s to “%(other_api)s”."),
    "can_name_model": _("Or set %(model_name)s."),
}
# The places to look: variables of the environment, or fields of a model profile.
_ENVIRONMENT = {
    "key": "OPENAI_API_KEY",
    "address": "OPENAI_BASE_URL",
    "model_name": "OPENAI_MODEL",
    "api": "OPENAI_API",
}
_PROFILE = {
    "key": _("the key variable of the model profile “%(profile)s”"),
    "address": _("the address of the model profile “%(profile)s”"),
    "model_name": _("the model’s name in the model profile “%(profile)s”"),
    "api": _("the API of the model profile “%(profile)s”"),
}
_ADDRESS_PROBLEMS: Mapping[AddressProblem, Promise] = {
    "characters": _("The address has a space, a line break or another character that addresses don’t have."),
    "length": _("The address is longer than %(count)s characters."),
    "scheme": _("An http:// or https:// address, such as https://api.example.com/v1"),
    "user": _("An address without user, query or fragment: keys belong into the environment."),
    "query": _("An address without user, query or fragment: keys belong into the environment."),
    "host": _("The address has no valid host, such as api.example.com, 127.0.0.1 or [::1]."),
    "port": _("The port of the address must be a number from 1 to 65535."),
}


class _Values(dict[str, Any]):
    """What the placeholders of a text mean. A row of another version may lack some."""

    def __missing__(self, name: str) -> str:
        return "…"


def error_text(
    code: str, reason: str = "", params: Mapping[str, Any] = NO_PARAMS, *, for_staff: bool, detail: str = ""
) -> str:
    """Word a failure, or a remark, in the viewer's language; empty for a code that has no words.

    ``detail``: what the service said, which is added for staff.
    """
    row = _ROWS.get((code, reason)) or _ROWS.get((code, ""))
    if row is None:
        return ""
    values = _values(params)
    if not for_staff:
        return str(row.user) % values
    parts = [str(row.staff) % values]
    parts += [str(text) % values for name, text in _WAYS_OUT.items() if params.get(name)]
    if detail:
        parts.append(gettext("The service said: %(words)s") % {"words": detail})
    return " ".join(parts)


def failure_text(error: ProviderError, *, for_staff: bool, place: Mapping[str, str] = NO_PARAMS) -> str:
    """Word the failure of a request. ``place``: of its model, as ``ModelChoice.place`` has it."""
    return error_text(error.code, error.reason, {**error.params, **place}, for_staff=for_staff, detail=error.detail)


def turn_error_text(turn: Turn, *, for_staff: bool, with_detail: bool = True) -> str:
    """Word how a turn ended; empty where there is nothing to say.

    Earlier versions stored a sentence, which is for staff: it may name addresses and settings.
    """
    code, reason = turn.error_code, turn.error_reason
    if turn.error_message and (for_staff or not code):
        return turn.error_message
    if turn.status == Turn.Status.ERRORED and (code, "") not in _ROWS:
        code, reason = "internal", ""
    detail = turn.error_detail if with_detail else ""
    return error_text(code, reason, turn.error_params, for_staff=for_staff, detail=detail)


def address_text(problem: AddressProblem) -> str:
    """Say what is wrong with the address of a model service, and what is allowed."""
    return str(_ADDRESS_PROBLEMS[problem]) % {"count": MAX_ADDRESS_CHARS}


def _values(params: Mapping[str, Any]) -> _Values:
    status, problem, target = params.get("status"), params.get("problem"), params.get("target")
    places: Mapping[str, str | Promise] = _PROFILE if "profile" in params else _ENVIRONMENT
    values = _Values({name: str(text) % params for name, text in places.items()})
    values |= params
    if "seconds" in params:
        values["seconds"] = f"{params['seconds']:g}"
    values["wait"] = wait_text(params.get("wait_s"))
    values["where"] = f"HTTP {status}" if status else gettext("in the middle of its answer")
    if problem:
        values["problem"] = address_text(problem)
    if not target:
        values["target"] = gettext("an unreadable address")
    return values


def wait_text(wait_s: float | None) -> str:
    """Say when to try again, in plain words, since services send anything up to years: ``in about 2 minutes``."""
    if wait_s is None or wait_s < 2:
        return gettext("in a moment")
    if wait_s >= _TOMORROW_S:
        return gettext("tomorrow")
    if wait_s <= 90:
        count = math.ceil(wait_s)
        return ngettext("in about %(count)s second", "in about %(count)s seconds", count) % {"count": count}
    if wait_s <= 5400:
        count = math.ceil(wait_s / 60)
        return ngettext("in about %(count)s minute", "in about %(count)s minutes", count) % {"count": count}
    count = math.ceil(wait_s / 3600)
    return ngettext("in about %(count)s hour", "in about %(count)s hours", count) % {"count": count}
