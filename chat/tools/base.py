"""What a tool is: its schema and arguments, what it may use, and what it returns.

Pydantic makes the JSON schema and checks the arguments. The turn measures, caps, redacts and records each call, so a
tool can forget none of it. Tools know neither Django nor the database: they read through ``ToolContext``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from reasoning.citations import Source, SourceKind

MAX_REPORTED_ERRORS = 3


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for, in sources of these kinds. ``form`` and ``company`` narrow a search of filings."""

    text: str
    form: str | None = None
    company: str | None = None
    limit: int = 5
    kinds: tuple[SourceKind, ...] = ("filing",)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Passages, best first, not numbered yet; how many documents were searched, and of which publishers."""

    passages: tuple[Source, ...] = ()
    documents: int = 0
    publishers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document that can be searched. ``group``: its collection, of a filing its company."""

    kind: SourceKind
    title: str
    group: str
    url: str


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may use. ``first_ref`` is the number of its first source."""

    first_ref: int
    search: Callable[[SearchQuery], Awaitable[SearchResult]]
    read: Callable[[str, int], Awaitable[SearchResult]]  # (url with fragment, neighbours on each side)
    entries: Callable[[tuple[SourceKind, ...]], Awaitable[Sequence[DocumentEntry]]]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns: ``content`` for the model, the rest for trace and citations."""

    content: str
    results: int | None = None
    sources: tuple[Source, ...] = ()


class ToolArgumentsError(ValueError):
    """The model's arguments don't fit the schema. The text says which and why; the model reads it."""


class Tool(Protocol):
    """One tool that a model may call."""

    name: str
    # Shown while it runs, translated at display: "Searching filings…".
    running_label: str
    shown_args: frozenset[str]  # arguments whose values are shown, redacted; of others, type and size
    requires_approval: bool  # each call waits for the user (product 26)

    @property
    def schema(self) -> dict[str, Any]:
        """The function tool in chat-completions form."""
        ...

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Run with the exact argument string of the model. Raises ToolArgumentsError."""
        ...


class ToolArguments(BaseModel):
    """Arguments of a tool. An argument that the schema doesn't name is an error."""

    # A misspelt argument would otherwise search everything.
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


Arguments = TypeVar("Arguments", bound=ToolArguments)


def read_arguments(model: type[Arguments], arguments: str) -> Arguments:
    """Parse the argument string of a call. Raises ToolArgumentsError, in a few words that a model can act on."""
    try:
        return model.model_validate_json(arguments.strip() or "{}")
    except ValidationError as error:
        reports = []
        for detail in error.errors(include_url=False, include_input=False)[:MAX_REPORTED_ERRORS]:
            argument = ".".join(map(str, detail["loc"]))[:60]
            reports.append(f"{argument}: {detail['msg']}" if argument else detail["msg"][:200])
        raise ToolArgumentsError("; ".join(reports)) from error


def function_tool(name: str, model: type[ToolArguments]) -> dict[str, Any]:
    """Return the function tool in chat-completions form; its description is the model's docstring.

    Dropped from pydantic's schema: titles, which say nothing, and the null branch of optional arguments, which some
    servers refuse.
    """
    schema = model.model_json_schema()
    # Fewer tokens in every request.
    schema.pop("title", None)
    description = " ".join(str(schema.pop("description", "")).split())
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
        if argument.get("default", 0) is None:
            del argument["default"]
        branches = [branch for branch in argument.pop("anyOf", ()) if branch.get("type") != "null"]
        argument |= branches[0] | argument if len(branches) == 1 else {"anyOf": branches} if branches else {}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
