"""``readPassage``: read one passage again, with the passages before and after it, to quote it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chat.tools.base import ToolArgumentsError, ToolContext, ToolOutput, gettext_noop, ngettext_lazy, tool

# A sentence that a passage cuts off is in the next one.
NEIGHBOURS = 1


@tool(
    running=gettext_noop("Reading a passage…"),
    done=gettext_noop("Read passages"),
    calls=ngettext_lazy("%(count)s passage opened", "%(count)s passages opened"),
    shows={"url"},
    is_concurrent=True,
)
async def read_passage(
    url: Annotated[str, Field(min_length=1, max_length=300, description="The passage's url, with its fragment.")],
    context: ToolContext,
) -> ToolOutput:
    """Read one passage with its neighbours, by the address that a search returned."""
    found = await context.read(url, NEIGHBOURS)
    if not found.passages:
        raise ToolArgumentsError("url: no passage has this address; use one that a search returned")
    return ToolOutput(sources=found.passages, searched={"url": url})
