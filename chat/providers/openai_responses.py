"""OpenAI's Responses API, used without a memory of its own: ``store`` is false, and the log goes with each request.

Items come from their done events, verbatim and in the order of ``output_index`` (``responses``). Spec 002.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderRequest
from chat.providers.errors import Endpoint
from chat.providers.openai_service import OpenAIService
from chat.providers.responses import ResponsesDecoder

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIResponsesProvider(OpenAIService):
    """One model at one endpoint, over the Responses API.

    ``reasoning`` and ``include`` are never left out behind a person's back: without them the answer is another one.
    """

    _api = "responses"
    _spare = ("prompt_cache_key",)

    def _body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        body = {**request.body, "model": model, "stream": True}
        if request.instructions:
            body["instructions"] = request.instructions
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.conversation:
            # Part of this API, unlike of chat completions; some services find their cache by it alone.
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def _sent(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # The body goes as it is: given as arguments, the SDK would walk and rebuild every item.
        return client.responses.with_streaming_response.create(stream=True, extra_body=body)

    def _decoder(self, endpoint: Endpoint) -> ResponsesDecoder:
        return ResponsesDecoder(endpoint)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a function tool of chat completions. Here ``strict`` is the default, so it is turned off."""
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping):
        return dict(tool)
    named = {name: function[name] for name in ("name", "description", "parameters") if name in function}
    return {"type": "function", **named, "strict": function.get("strict", False)}
