"""Model services: from configuration to a provider. No database, no framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from chat.providers.base import Provider
from chat.providers.connections import Connection
from chat.providers.offline import OfflineAnalyst
from chat.providers.openai_chat import OpenAIChatProvider
from chat.providers.openai_http import OpenAIService
from chat.providers.openai_responses import OpenAIResponsesProvider
from reasoning.replay.wire import DEFAULT_API

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-5-mini"


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Which model answers. Without a connection it is the offline analyst; without a model the first of its list."""

    connection: Connection | None = None
    model: str = ""
    api: str = DEFAULT_API
    starts_in_reasoning: bool = False

    @property
    def is_offline(self) -> bool:
        return self.connection is None

    @property
    def host(self) -> str:
        """Host and port, as people may see them; nothing of the offline analyst."""
        return self.connection.host if self.connection else ""


_ADAPTERS: Mapping[str, type[OpenAIService]] = {
    adapter.wire.name: adapter for adapter in (OpenAIChatProvider, OpenAIResponsesProvider)
}


def new_provider(config: ProviderConfig) -> Provider:
    """Return the provider that ``config`` names, which knows nothing of its endpoint yet. Opens no connection."""
    if config.connection is None:
        return OfflineAnalyst()
    return _ADAPTERS[config.api](config.connection, config.model, starts_in_reasoning=config.starts_in_reasoning)


# The same object for the same configuration: it remembers the model and which parameters its endpoint refuses.
build_provider = lru_cache(maxsize=64)(new_provider)


def known_provider_for(config: ProviderConfig) -> Provider | None:
    """Return the provider that ``config`` names; None where the endpoint must be asked for its model first."""
    provider = build_provider(config)
    return provider if provider.model else None


async def provider_for(config: ProviderConfig, *, is_new: bool = False) -> Provider:
    """Return the provider that ``config`` names, its model known; ``is_new``: asked anew. Raises ProviderError."""
    provider = new_provider(config) if is_new else build_provider(config)
    if isinstance(provider, OpenAIService):
        await provider.find_model()
    return provider
