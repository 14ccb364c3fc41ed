"""``calculate``: exact arithmetic, since models get figures wrong."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chat.tools.base import ToolArgumentsError, ToolOutput, gettext_noop, ngettext_lazy, tool
from reasoning import arithmetic


@tool(
    running=gettext_noop("Calculating…"),
    done=gettext_noop("Calculated"),
    calls=ngettext_lazy("%(count)s calculation", "%(count)s calculations"),
    shows={"expression"},
    is_concurrent=True,
)
async def calculate(
    expression: Annotated[
        str,
        Field(
            min_length=1,
            max_length=arithmetic.MAX_CHARS,
            description="Such as $1.2 million * 4%, change($5.9bn, $6.1bn) or round(120 km / 7 h, 1). Functions: "
            + ", ".join(arithmetic.FUNCTIONS),
        ),
    ],
) -> ToolOutput:
    """Calculate exactly, with units and percentages. Use it for every sum, difference, ratio and growth rate."""
    try:
        result = arithmetic.calculate(expression)
    except arithmetic.CalculationError as error:
        raise ToolArgumentsError(f"expression: {error}") from error
    return ToolOutput(f"{expression} = {result}", shown=str(result))
