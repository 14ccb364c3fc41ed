"""Chat completions: OpenAI's, and every server that speaks them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from chat.providers.base import ProviderRequest
from chat.providers.chunks import ChunkDecoder
from chat.providers.errors import Endpoint
from chat.providers.openai_service import OpenAIService

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CACHE_KEY_HOSTS = frozenset({"api.openai.com"})  # elsewhere an unknown parameter may be refused without a name


class OpenAIChatProvider(OpenAIService):
    """One model at one endpoint, over chat completions."""

    _api = "chat"
    _spare = ("stream_options", "prompt_cache_key")

    def _body(self, request: ProviderRequest, model: str) -> dict[str, Any]:
        """Put together what is sent: instructions first, so that what stays the same stands at the start."""
        body = {**request.body, "model": model, "stream": True}
        if request.instructions:
            body["messages"] = [{"role": "system", "content": request.instructions}, *body.get("messages", ())]
        if request.tools:
            body["tools"] = list(request.tools)
        body["stream_options"] = {"include_usage": True}
        if request.conversation and self._connection.host in _CACHE_KEY_HOSTS:
            body.setdefault("prompt_cache_key", request.conversation)
        return body

    def _sent(self, client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        # The body goes as it is: given as arguments, the SDK would walk and rebuild every message.
        api = client.chat.completions.with_streaming_response
        return api.create(model="", messages=[], stream=True, extra_body=body)

    def _decoder(self, endpoint: Endpoint) -> ChunkDecoder:
        return ChunkDecoder(endpoint)
