"""What is pinned of a tool: the description and the schemas that a model reads. Pure.

A server may change them at any time, to say something else than what staff have allowed. Annotations are the server's
own claims about its tool, so nothing depends on them, and they are not kept.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from chat.tools.schemas import UnfitSchemaError, check_schema

Definition = Mapping[str, Any]  # description, inputSchema, outputSchema (None: none)

MAX_DESCRIPTION_CHARS = 4_000
MAX_NAME_CHARS = 64  # of a function, with OpenAI
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")


class UnfitToolError(ValueError):
    """A tool that can't be offered. The text says why, in English."""


def offered_name(server: str, tool: str) -> str:
    """Return the name under which models call a tool: ``server__tool``, at most MAX_NAME_CHARS."""
    return _NOT_IN_NAME.sub("_", f"{server}__{tool}")[:MAX_NAME_CHARS]


def definition(description: str | None, input_schema: Any, output_schema: Any) -> Definition:
    """Return what is pinned of a tool as its server lists it. Raises UnfitToolError."""
    try:
        check_schema(input_schema)
        if output_schema is not None:
            check_schema(output_schema)
    except UnfitSchemaError as error:
        raise UnfitToolError(str(error)) from error
    if input_schema.get("type") != "object":
        raise UnfitToolError("the input schema is not that of an object")
    if len(description or "") > MAX_DESCRIPTION_CHARS:
        raise UnfitToolError(f"the description has more than {MAX_DESCRIPTION_CHARS} characters")
    return {"description": description or "", "inputSchema": input_schema, "outputSchema": output_schema}


def shown(value: Any) -> str:
    """Return a text, or another value as indented JSON, as staff look at it: what can't be seen is escaped."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def difference(before: Definition, after: Definition) -> str:
    """Return a unified difference between two definitions, as staff look at it."""
    old, new = (shown(each).splitlines() for each in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "allowed", "listed now", lineterm="", n=2))
