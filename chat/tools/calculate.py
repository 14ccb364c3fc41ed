"""``calculate``: exact arithmetic, since models get figures wrong."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chat.tools.base import ToolArguments, ToolArgumentsError, ToolContext, ToolOutput, function_tool, read_arguments
from reasoning.arithmetic import FUNCTIONS, MAX_CHARS, CalculationError, calculate


class CalculateArguments(ToolArguments):
    """Calculate exactly, with units and percentages. Use it for every sum, difference, ratio and growth rate."""

    expression: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_CHARS,
            description="Such as $1.2 million * 4%, change($5.9bn, $6.1bn) or round(120 km / 7 h, 1). Functions: "
            + ", ".join(FUNCTIONS),
        ),
    ]


class Calculate:
    """The tool."""

    name = "calculate"
    running_label = "Calculating…"
    shown_args = frozenset({"expression"})
    requires_approval = False
    schema = function_tool(name, CalculateArguments)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Return the value. Raises ToolArgumentsError, which says what can't be calculated."""
        wanted = read_arguments(CalculateArguments, arguments)
        try:
            result = calculate(wanted.expression)
        except CalculationError as error:
            raise ToolArgumentsError(f"expression: {error}") from error
        return ToolOutput(f"{wanted.expression} = {result}")
