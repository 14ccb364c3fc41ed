"""What a rule is, what it sees of a request, and the form of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract_server.knobs import Knobs
from tests.contract_server.ledger import Ledger
from tests.contract_server.record import Record

CHAT_PATH = "/v1/chat/completions"
RESPONSES_PATH = "/v1/responses"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused. ``body`` replaces the usual error form where a service has another."""

    message: str
    code: str | int | None = None
    param: str | None = None
    status: int = 400
    type: str = "invalid_request_error"
    body: Mapping[str, Any] | None = None

    def to_json(self) -> Mapping[str, Any]:
        if self.body is not None:
            return self.body
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": error}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the rules see it. They read; only ``record`` may be written, for what is noted and not refused."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    model: str
    mode: str
    knobs: Knobs
    ledger: Ledger
    record: Record

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The list as sent; whatever C1 has not passed counts as empty."""
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    @property
    def input(self) -> list[dict[str, Any]]:
        """The items of a Responses request as sent; a text is one user message."""
        found = self.body.get("input")
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
        return found if isinstance(found, list) else []

    def assistants(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the assistant messages with their index in the list as sent."""
        yield from ((i, one) for i, one in enumerate(self.messages) if one.get("role") == "assistant")

    def with_calls(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the assistant messages that carry tool calls."""
        yield from ((i, one) for i, one in self.assistants() if one.get("tool_calls"))

    def thinking_type(self) -> str | None:
        """Return ``thinking.type`` of the body, if it is there."""
        thinking = self.body.get("thinking")
        return thinking.get("type") if isinstance(thinking, Mapping) else None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the specification, by its id."""

    id: str
    check: Callable[[Asked], Refusal | None]


def own(code: str, message: str, param: str | None = None, status: int = 400) -> Refusal:
    """Return a refusal in this server's own words."""
    return Refusal(message, f"contract_{code}", param, status)


def verdict(rules: tuple[Rule, ...], asked: Asked) -> tuple[Rule, Refusal] | None:
    """Return the first rule that the request breaks, with its refusal."""
    for rule in rules:
        if refusal := rule.check(asked):
            return rule, refusal
    return None
