"""``readPassage``: read one passage again, with what stands before and after it, to quote it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from chat.tools.arguments import ToolArguments, function_tool, read_arguments
from chat.tools.base import ToolContext, ToolOutput
from chat.tools.passages import passages_output

_NEIGHBOURS = 1


class ReadPassageArguments(ToolArguments):
    """Read one passage of a filing with its neighbours, by the address that searchFilings returned."""

    url: Annotated[str, Field(min_length=1, max_length=300, description="The passage's url, with its fragment.")]


class ReadPassage:
    """The tool."""

    name = "readPassage"
    running_label = "Reading a passage…"
    shown_args = frozenset({"url"})

    @property
    def schema(self) -> dict[str, Any]:
        return function_tool(self.name, ReadPassageArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Read, and number the passages from ``context.first_ref`` on. Raises ToolArgumentsError."""
        asked = read_arguments(ReadPassageArguments, arguments)
        found = await context.read(asked.url, _NEIGHBOURS)
        return passages_output(found, first_ref=context.first_ref, asked={"url": asked.url})
