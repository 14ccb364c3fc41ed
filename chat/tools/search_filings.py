"""``searchFilings``: find passages of the stored filings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from chat.retrieval import SearchQuery
from chat.tools.arguments import ToolArguments, function_tool, read_arguments
from chat.tools.base import ToolContext, ToolOutput
from chat.tools.passages import passages_output

Form = Literal["10-K", "10-Q", "8-K"]


def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


class SearchFilingsArguments(ToolArguments):
    """Search the SEC filings on this server.

    Returns passages, each with a number "ref" to cite it by, its company, form, filing date, section, address and text.
    """

    query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in a few words.")]
    form: Annotated[
        Form | None, BeforeValidator(_none_if_blank), Field(description="Only filings of this form type.")
    ] = None
    company: Annotated[
        Annotated[str, Field(max_length=200)] | None,
        BeforeValidator(_none_if_blank),
        Field(description="Only filings of this company. Leave out to search all."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=20, description="How many passages at most; 8 is plenty.")] = 5


class SearchFilings:
    """The tool."""

    name = "searchFilings"
    running_label = "Searching filings…"
    shown_args = frozenset({"query", "form", "company", "limit"})

    @property
    def schema(self) -> dict[str, Any]:
        return function_tool(self.name, SearchFilingsArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Search, and number what was found from ``context.first_ref`` on. Raises ToolArgumentsError."""
        asked = read_arguments(SearchFilingsArguments, arguments)
        found = await context.search(SearchQuery(asked.query, asked.form, asked.company, asked.limit))
        searched = {"query": asked.query, "form": asked.form, "company": asked.company}
        return passages_output(found, first_ref=context.first_ref, asked=searched)
