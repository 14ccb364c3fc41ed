"""A1 to A5: what a model or its chat template can't do, where the script's knobs say so; worded as services do."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from replay_contract_server.rules.base import CheckedRequest, Refusal, Rule

IMAGE_PARTS = ("image_url", "input_image")


def _tools(request: CheckedRequest) -> Refusal | None:
    has_tools = request.body.get("tools") or any(role in ("tool", "call") for role in _roles(request))
    return _refusal(request, request.knobs.refuses_tools and has_tools, f"{request.model} does not support tools")


def _system(request: CheckedRequest) -> Refusal | None:
    is_told = request.body.get("instructions") or any(role in ("system", "developer") for role in _roles(request))
    return _refusal(request, request.knobs.refuses_system and is_told, "System role not supported")


def _alternation(request: CheckedRequest) -> Refusal | None:
    neighbours = any(one == other == "user" for one, other in pairwise(_roles(request)))
    text = "Conversation roles must alternate user/assistant/user/assistant/..."
    return _refusal(request, request.knobs.must_alternate and neighbours, text)


def _user_after_tool(request: CheckedRequest) -> Refusal | None:
    behind = any(pair == ("tool", "user") for pair in pairwise(_roles(request)))
    return _refusal(
        request, request.knobs.refuses_user_after_tool and behind, "Unexpected role 'user' after role 'tool'"
    )


def _images(request: CheckedRequest) -> Refusal | None:
    contents = [one.get("content") for one in request.messages or request.input]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    has_image = any(isinstance(part, Mapping) and part.get("type") in IMAGE_PARTS for part in parts)
    return _refusal(request, request.knobs.refuses_images and has_image, "This model does not support image input.")


def _refusal(request: CheckedRequest, is_broken: Any, text: str) -> Refusal | None:
    if not is_broken:
        return None
    return Refusal("Bad Request" if request.knobs.gives_no_reason else text)


def _roles(request: CheckedRequest) -> Iterator[str]:
    """Yield the roles of the messages, or of the items of a Responses request."""
    of_items = {"function_call": "call", "function_call_output": "tool"}
    for one in request.messages or request.input:
        yield of_items.get(str(one.get("type")), str(one.get("role", "")))


ABILITY_RULES = (
    Rule("A1", _tools),
    Rule("A2", _system),
    Rule("A3", _alternation),
    Rule("A4", _user_after_tool),
    Rule("A5", _images),
)
