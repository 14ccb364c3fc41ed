"""What a tool is: one typed async function in one file, made a ``Tool`` by the decorator ``tool``.

Pydantic makes the JSON schema from its signature and checks the arguments. The turn measures, caps, redacts, checks and
records each call (``chat.turns.execute``), so a tool can forget none of it. Tools know neither Django nor the
database: they read through ``ToolContext``. docs/tools.md adds one.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.alias_generators import to_camel

from reasoning.citations import Source, SourceKind
from reasoning.replay.tokens import entry_tokens

MAX_REPORTED_ERRORS = 3


class Plural(NamedTuple):
    """A text with a ``%(count)s`` in its two English forms."""

    one: str
    many: str


# Named as in Django, so that makemessages finds the texts: they are translated where they are shown.
def gettext_noop(text: str) -> str:
    return text


def ngettext_lazy(one: str, many: str) -> Plural:
    return Plural(one, many)


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


# Asks the user of a call: a question, and a JSON schema of the answers; they come by its names, None: declined.
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool may use: documents that its user may read, pages of the web that its site allows."""

    search: Callable[[SearchQuery], Awaitable[SearchResult]]
    read: Callable[[str, int], Awaitable[SearchResult]]  # (url with fragment, neighbours on each side)
    entries: Callable[[tuple[SourceKind, ...]], Awaitable[Sequence[DocumentEntry]]]
    open_page: Callable[[str], Awaitable[SearchResult]]  # all of its passages, in their order
    ask: Ask | None = None  # None: nobody can be asked


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call returns. ``content`` is for the model; ``sources`` can be cited.

    ``sources`` are numbered by the turn, which writes them into the content with ``searched``, what was looked through.
    ``results``: how many things were found. ``shown``: what people read of it, redacted. ``structured``: the JSON value
    that the tool's output schema describes.
    """

    content: str = ""
    results: int | None = None
    sources: tuple[Source, ...] = ()
    searched: Mapping[str, Any] | None = None
    shown: str = ""
    structured: Any = None


class ToolArgumentsError(ValueError):
    """The model's arguments don't fit the schema. The text says which and why; the model reads it."""


class ToolRefusedError(Exception):
    """The tool can't do what was asked for. The text is for the model, ``shown`` for people, in English."""

    def __init__(self, reason: str, *, shown: str) -> None:
        super().__init__(reason)
        self.shown = shown


@dataclass(frozen=True, slots=True)
class ToolWords:
    """How the calls of a tool read as an account, in English: ``Searching filings…``, ``Searched the filings``.

    ``calls`` counts them. ``query``: the argument that says what was looked for.
    """

    running: str = ""
    done: str = ""
    calls: Plural | None = None
    query: str = ""


@dataclass(frozen=True)
class Tool:
    """One tool that a model may call. ``parameters`` and ``output_schema`` are JSON schemas.

    ``call`` gets the exact argument string of the model and raises ToolArgumentsError. ``shown_args``: the arguments
    whose values are shown, redacted; of others, type and size. None: all are shown. ``requires_approval``: each call
    waits for the user (product 26). ``is_concurrent``: calls of one response may run side by side, since none changes
    anything.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[str, ToolContext], Awaitable[ToolOutput]]
    words: ToolWords = ToolWords()
    shown_args: frozenset[str] | None = frozenset()
    requires_approval: bool = False
    is_concurrent: bool = False
    output_schema: Mapping[str, Any] | None = None

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The function tool in chat-completions form."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    @cached_property
    def tokens(self) -> int:
        """An estimate of what the schema adds to each request."""
        return entry_tokens([self.schema])


Function = Callable[..., Awaitable[Any]]


def tool(
    *,
    running: str = "",
    done: str = "",
    calls: Plural | None = None,
    query: str = "",
    shows: Collection[str] = (),
    requires_approval: bool = False,
    is_concurrent: bool = False,
) -> Callable[[Function], Tool]:
    """Make a ``Tool`` of an async function. The options are the fields of ``ToolWords`` and ``Tool``.

    Its name in camel case is the tool's, its docstring the description for the model, its parameters the arguments; one
    that is called ``context`` gets the ToolContext. It returns a ToolOutput, a text, or a value whose type is the
    output schema. It raises ToolArgumentsError for arguments that only it can refuse.
    """

    def made_tool(function: Function) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        returned = hints.pop("return")
        takes_context = hints.pop("context", None) is not None
        defaults = inspect.signature(function).parameters
        fields: dict[str, Any] = {
            name: (hint, ... if defaults[name].default is inspect.Parameter.empty else defaults[name].default)
            for name, hint in hints.items()
        }
        arguments_of = create_model(function.__name__, __base__=ToolArguments, **fields)
        declared = None if returned in (str, ToolOutput) else TypeAdapter(returned)

        async def call(arguments: str, context: ToolContext) -> ToolOutput:
            wanted = read_arguments(arguments_of, arguments)
            values = {name: getattr(wanted, name) for name in fields}
            found = await function(**values, **({"context": context} if takes_context else {}))
            if isinstance(found, ToolOutput):
                return found
            if declared is None:
                return ToolOutput(str(found))
            value = declared.dump_python(found, mode="json", warnings=False)
            results = len(value) if isinstance(value, list) else None
            return ToolOutput(json_text(value), results=results, structured=value)

        return Tool(
            name=to_camel(function.__name__),
            description=" ".join(inspect.cleandoc(function.__doc__ or "").split()),
            parameters=_parameters(arguments_of),
            call=call,
            words=ToolWords(running, done, calls, query),
            shown_args=frozenset(shows),
            requires_approval=requires_approval,
            is_concurrent=is_concurrent,
            output_schema=declared and declared.json_schema(mode="serialization"),
        )

    return made_tool


class ToolArguments(BaseModel):
    """Arguments of a tool. An argument that the schema doesn't name is an error."""

    # A misspelt argument would otherwise search everything.
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def read_arguments(model: type[BaseModel], arguments: str) -> BaseModel:
    """Parse the argument string of a call. Raises ToolArgumentsError, in a few words that a model can act on."""
    try:
        return model.model_validate_json(arguments.strip() or "{}")
    except ValidationError as error:
        raise ToolArgumentsError(argument_errors(error)) from error


def argument_errors(error: ValidationError) -> str:
    """Say which arguments don't fit their schema and why, without quoting them."""
    reports = []
    for detail in error.errors(include_url=False, include_input=False)[:MAX_REPORTED_ERRORS]:
        argument = ".".join(map(str, detail["loc"]))[:60]
        reports.append(f"{argument}: {detail['msg']}" if argument else detail["msg"][:200])
    return "; ".join(reports)


def json_text(value: Any) -> str:
    """Return the shortest JSON of a value, as models read it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parameters(model: type[ToolArguments]) -> dict[str, Any]:
    """Return the JSON schema of arguments.

    Dropped from pydantic's schema: titles, which say nothing, and the null branch of optional arguments, which some
    servers refuse.
    """
    schema = model.model_json_schema()
    # Fewer tokens in every request.
    schema.pop("title", None)
    schema.pop("description", None)  # the base class's own
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
        if argument.get("default", 0) is None:
            del argument["default"]
        branches = [branch for branch in argument.pop("anyOf", ()) if branch.get("type") != "null"]
        argument |= branches[0] | argument if len(branches) == 1 else {"anyOf": branches} if branches else {}
    return schema
