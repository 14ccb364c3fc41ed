"""Tools that a model may call: what ``tool`` makes in a module here is found by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from chat.tools.base import Tool


@cache
def registry() -> dict[str, Tool]:
    """Return the tools by the names that models call them, in their order."""
    return {tool.name: tool for tool in sorted(_tools(), key=lambda tool: tool.name)}


def _tools() -> Iterator[Tool]:
    for module in iter_modules(__path__, f"{__name__}."):
        yield from (value for value in vars(import_module(module.name)).values() if isinstance(value, Tool))
