"""What a provider is: one method that streams one response, and one that says what it would ask for it.

Adapters turn a service's own exceptions into ``ProviderError`` at this boundary, with its cause. They know neither
Django nor the database.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reasoning.deltas import RawDelta

_HOST_PATH = re.compile(r"\s*(?:/|~|\.{1,2}[/\\]|\\|[A-Za-z]:[/\\]|file:)")  # /m/x, ~/x, ./x, \\host\x, C:\x


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request: ``body`` is ``EgressPlan.body`` (messages, model, …); instructions and tools are separate.

    ``tools`` are function tools in the chat-completions form. ``conversation`` is an opaque key for prompt caches.
    ``optional``: parameters of the body that ask for reasoning, and are left out where the service refuses them.
    """

    body: Mapping[str, Any]
    instructions: str
    tools: Sequence[Mapping[str, Any]]
    conversation: str
    optional: Collection[str] = ()


class ProviderError(Exception):
    """A response failed. ``code`` is one of ours, ``message`` is safe to show and names what to do.

    Codes: ``unreachable``, ``timeout``, ``disconnected``, ``malformed``, ``authentication``, ``rate_limited``,
    ``context_overflow``, ``refused`` (a request the service does not accept), ``server_error``.

    ``reason`` details a refusal that has to do with thinking, and is empty otherwise: ``ciphertext`` (an opaque
    item that the service cannot verify), ``missing_reasoning`` (it wants earlier thinking back), ``reasoning_refused``
    (it accepts none), ``not_found_item`` (it stores no item of that id), ``unpaired_item`` (an item without the one
    that belongs to it), and ``effort``, ``max_tokens``, ``summary``, ``include``, ``enabled`` (a parameter that it does
    not accept). ``unknown_model``: the service does not offer the model. ``loading``, of a ``server_error``: it still
    loads the model.

    ``detail`` is what the service itself said, redacted and at most 300 characters: for the log and for staff, since
    ``message`` quotes it only where the request was refused. ``context_limit`` of a ``context_overflow`` is the limit
    that the service states, in tokens.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool,
        retry_after_s: float | None = None,
        reason: str = "",
        detail: str = "",
        context_limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.reason = reason
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
    model: str  # the requested model name; the guard of opaque items compares it
    identity: str  # endpoint identity: base URL and a fingerprint of the credential
    starts_in_reasoning: bool
    context_limit: int | None  # as its service lists it, in tokens

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what ``stream`` would send for this request now, to the letter. Sends nothing."""
        ...

    def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Closing the iterator closes the upstream. Raises ProviderError."""
        ...
