"""``readPassage``: read one passage again, with the passages before and after it, to quote it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chat.tools.base import (
    ToolArguments,
    ToolArgumentsError,
    ToolContext,
    ToolOutput,
    function_tool,
    read_arguments,
)
from chat.tools.passages import passages_output

# A sentence that a passage cuts off is in the next one.
NEIGHBOURS = 1


class ReadPassageArguments(ToolArguments):
    """Read one passage of a filing with its neighbours, by the address that searchFilings returned."""

    url: Annotated[str, Field(min_length=1, max_length=300, description="The passage's url, with its fragment.")]


class ReadPassage:
    """The tool."""

    name = "readPassage"
    running_label = "Reading a passage…"
    shown_args = frozenset({"url"})
    requires_approval = False
    schema = function_tool(name, ReadPassageArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Read, and number the passages from ``context.first_ref``.

        Raises ToolArgumentsError, also for an address that no passage has.
        """
        wanted = read_arguments(ReadPassageArguments, arguments)
        result = await context.read(wanted.url, NEIGHBOURS)
        if not result.passages:
            raise ToolArgumentsError("url: no passage has this address; use one that searchFilings returned")
        return passages_output(result, {"url": wanted.url}, first_ref=context.first_ref)
