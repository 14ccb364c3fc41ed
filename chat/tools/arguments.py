"""Pydantic models as function tools: one model makes a tool's schema and checks a call's arguments."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chat.tools.base import ToolArgumentsError

Arguments = TypeVar("Arguments", bound=BaseModel)

_MOST_ERRORS = 3


class ToolArguments(BaseModel):
    """Arguments of a tool. An argument that the schema doesn't name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def function_tool(name: str, model: type[BaseModel]) -> dict[str, Any]:
    """Return the function tool in chat-completions form; its description is the model's docstring."""
    schema = model.model_json_schema()
    description = " ".join(str(schema.pop("description", "")).split())
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": _plain(schema)},
    }


def read_arguments(model: type[Arguments], arguments: str) -> Arguments:
    """Read the exact argument string of a call. Raises ToolArgumentsError, in a few words that a model can act on."""
    try:
        return model.model_validate_json(arguments.strip() or "{}")
    except ValidationError as error:
        told = [_told(detail) for detail in error.errors(include_url=False, include_input=False)[:_MOST_ERRORS]]
        raise ToolArgumentsError("; ".join(told)) from error


def _told(detail: Any) -> str:
    where = ".".join(str(part) for part in detail["loc"])[:60]
    return f"{where}: {detail['msg']}" if where else str(detail["msg"])[:200]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop titles, which say nothing, and the null branch of optional arguments, which some servers refuse."""
    properties = {name: _optional(prop) for name, prop in schema.get("properties", {}).items()}
    return {**{key: value for key, value in schema.items() if key != "title"}, "properties": properties}


def _optional(prop: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in prop.items() if key not in {"title", "anyOf"}}
    branches = [branch for branch in prop.get("anyOf", ()) if branch.get("type") != "null"]
    if kept.get("default", 0) is None:
        del kept["default"]
    if len(branches) == 1:
        return {**branches[0], **kept}
    return {**kept, "anyOf": branches} if branches else kept
