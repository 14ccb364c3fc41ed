"""What a rule is, what it sees of a request, and the form of a refusal."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay_contract_server.ledger import Ledger
from replay_contract_server.script import Knobs
from replay_contract_server.state import Record

CHAT_PATH = "/v1/chat/completions"
RESPONSES_PATH = "/v1/responses"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused."""

    message: str
    code: str | None = None
    param: str | None = None
    status: int = 400
    type: str = "invalid_request_error"

    def to_json(self) -> Mapping[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request as the rules see it. They only read, and note in ``record`` what a service loses silently."""

    body: Mapping[str, Any]
    account: str
    model: str
    mode: str
    ledger: Ledger
    record: Record
    knobs: Knobs = field(default_factory=Knobs)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat request; anything that rule C1 refuses counts as empty."""
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    @property
    def input(self) -> list[dict[str, Any]]:
        """The items of a Responses request; a text is one user message."""
        found = self.body.get("input")
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
        return found if isinstance(found, list) else []

    def assistants(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the assistant messages with their index."""
        yield from ((i, one) for i, one in enumerate(self.messages) if one.get("role") == "assistant")

    def with_calls(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the assistant messages that carry tool calls."""
        yield from ((i, one) for i, one in self.assistants() if one.get("tool_calls"))

    def thinking_type(self) -> str | None:
        """Return ``thinking.type`` of the body."""
        thinking = self.body.get("thinking")
        return thinking.get("type") if isinstance(thinking, Mapping) else None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its id."""

    id: str
    check: Callable[[CheckedRequest], Refusal | None]


def own(code: str, message: str, param: str | None = None, status: int = 400) -> Refusal:
    """Return a refusal in this server's own words: services differ here, or do not check it."""
    return Refusal(message, f"contract_{code}", param, status)


def verdict(rules: tuple[Rule, ...], request: CheckedRequest) -> tuple[Rule, Refusal] | None:
    """Return the first rule that the request breaks, with its refusal."""
    for rule in rules:
        if refusal := rule.check(request):
            return rule, refusal
    return None
