"""``searchFilings``: find passages of the stored filings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from chat.tools.base import SearchQuery, ToolArguments, ToolContext, ToolOutput, function_tool, read_arguments
from chat.tools.passages import passages_output

Form = Literal["10-K", "10-Q", "8-K"]


# Models send "" where they mean no filter.
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
    requires_approval = False
    schema = function_tool(name, SearchFilingsArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Search, and number the passages from ``context.first_ref``. Raises ToolArgumentsError."""
        wanted = read_arguments(SearchFilingsArguments, arguments)
        result = await context.search(SearchQuery(wanted.query, wanted.form, wanted.company, wanted.limit))
        return passages_output(result, wanted.model_dump(exclude={"limit"}), first_ref=context.first_ref)
