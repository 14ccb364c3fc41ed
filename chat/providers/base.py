"""What a provider is: one method that streams one response, and one that says what it would ask for it.

Adapters turn a service's own exceptions into ``ProviderError`` at this boundary, with its cause. They know neither
Django nor the database.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from reasoning.deltas import RawDelta

_HOST_PATH = re.compile(r"\s*(?:/|~|\.{1,2}[/\\]|\\|[A-Za-z]:[/\\]|file:)")  # /m/x, ~/x, ./x, \\host\x, C:\x


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request: ``body`` is ``EgressPlan.body`` (messages, model, …); instructions and tools are separate.

    ``tools`` are function tools in the chat-completions form. ``conversation`` is an opaque key for prompt caches.
    ``optional``: parameters of the body that ask for reasoning, and are left out where the service refuses them;
    ``reasoning.mode`` is one within another.
    ``takes_system``: where the service takes no system message, the instructions are a part of the first question.
    """

    body: Mapping[str, Any]
    instructions: str
    tools: Sequence[Mapping[str, Any]]
    conversation: str
    optional: Collection[str] = ()
    takes_system: bool = True


def parameter(body: Mapping[str, Any], name: str) -> Any:
    """Return a parameter of a body by its name; None where there is none."""
    value: Any = body
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def without_parameters(body: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a body without these parameters, and without one of which nothing is left."""
    kept = {name: value for name, value in body.items() if name not in names}
    for outer in {name.partition(".")[0] for name in names if "." in name} & kept.keys():
        kept[outer] = {name: value for name, value in kept[outer].items() if f"{outer}.{name}" not in names}
        if not kept[outer]:
            del kept[outer]
    return kept


# Why a response failed (``ProviderError.code``).
Code = Literal[
    "unreachable",
    "timeout",
    "disconnected",
    "malformed",
    "authentication",
    "rate_limited",
    "context_overflow",
    "refused",  # a request that the service does not accept
    "server_error",
]
# What it was about, where that is known (``ProviderError.reason``).
Reason = Literal[
    "",
    # unreachable
    "certificate",  # one that is not trusted here
    "bad_address",  # the profile's address can't be used
    # timeout
    "first_word",
    "idle",
    "check",  # the check of a model did not end in time
    # disconnected
    "cut_off",  # the stream ended without an end mark
    # malformed: what came instead of an answer
    "web_page",
    "not_json",
    "nesting",
    "no_answer",
    "too_large",
    # authentication
    "key_missing",
    "key_not_allowed",  # MODEL_KEYS doesn't allow the variable for this host
    # rate_limited
    "quota",
    # server_error
    "loading",  # the service still loads the model
    # server_error or refused, without a word
    "results",  # a request with the results of calls
    # refused, because of the address or the model
    "wrong_path",  # nothing is served at the address
    "redirect",
    "redirect_loop",
    "no_models",
    "unknown_model",
    "other_api",  # it serves this with the other of the two APIs only
    # refused, because of thinking that was sent, or was not
    "ciphertext",  # an opaque item that the service can't verify
    "not_found_item",  # it stores no item of that id
    "unpaired_item",  # an item without the one that belongs to it
    "missing_reasoning",  # it wants earlier thinking back
    "maybe_missing_reasoning",  # it does not say why, and settings withheld earlier thinking
    "reasoning_refused",  # it accepts no earlier thinking
    # refused, because of a parameter
    "effort",
    "max_tokens",
    "summary",
    "include",
    "enabled",
    # refused, because of what the service or the model's template can't do
    "tools",
    "system_role",
    "roles",  # the messages of user and assistant must alternate
    "user_after_tool",  # a question directly behind a tool result
    "images",  # no pictures, or not this one
    "call_ids",  # the form or length of a call's id or name
    "parallel_calls",  # several calls in one message
    "result_names",  # results without the name of their tool
    "content",  # a message without text
    "policy",  # what the messages say
    "repeated",  # by us: the request would be one that was answered in this turn
]


class ProviderError(Exception):
    """A response failed. It holds data only: ``chat.texts.error_texts`` words it for the viewer.

    ``params`` are the JSON values that the texts name, such as ``host``, ``seconds`` or ``model``. ``detail`` is what
    the service itself said, redacted and at most 300 characters: for the log and for staff. ``context_limit`` of a
    ``context_overflow`` is the limit that the service states, in tokens.
    """

    def __init__(
        self,
        code: Code,
        reason: Reason = "",
        params: Mapping[str, Any] | None = None,
        *,
        retryable: bool,
        retry_after_s: float | None = None,
        detail: str = "",
        context_limit: int | None = None,
    ) -> None:
        super().__init__(f"{code} ({reason})" if reason else code)
        self.code: Code = code
        self.reason: Reason = reason
        self.params = dict(params or {})
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.detail = detail
        self.context_limit = context_limit


def shown_model(model: str) -> str:
    """Return a model's name as people may see it: of a path on the service's machine, its last part.

    llama.cpp and others name a model by the file that they loaded. ``vendor/model`` is no path and stays whole.
    """
    if not _HOST_PATH.match(model):
        return model
    parts = [part for part in re.split(r"[/\\]", model) if part.strip(". ~")]
    return parts[-1] if parts else "model"


class Provider(Protocol):
    """An adapter to a model service."""

    name: str  # shown on the card: "Offline analyst", "kimi-k2.6"; never a path
    model: str  # the requested model name; opaque items are sent back to the same one only
    identity: str  # endpoint identity: base URL and a fingerprint of the credential
    starts_in_reasoning: bool
    context_limit: int | None  # as its service lists it, in tokens

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what ``stream`` would send for this request now, to the letter. Sends nothing."""
        ...

    def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Closing the iterator closes the upstream. Raises ProviderError."""
        ...
