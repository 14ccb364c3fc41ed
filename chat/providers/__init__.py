"""Model services: from configuration to a provider. No database, no framework."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from chat.providers.base import Provider, ProviderError

if TYPE_CHECKING:
    from chat.providers.openai_service import OpenAIService

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-5-mini"


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """Which model answers. With neither address nor key nor model it is the offline analyst.

    An address alone is enough: the key is then ``none`` and the model the first that the address lists. A key alone
    means OpenAI's own address. Times in seconds and milliseconds, as their names say.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    api: Literal["chat", "responses"] = "chat"
    connect_s: float = 10.0
    idle_s: float = 60.0
    offline_delay_ms: float = 12.0
    starts_in_reasoning: bool = False

    @property
    def is_offline(self) -> bool:
        return not (self.base_url or self.api_key)

    @property
    def model_name(self) -> str:
        """The model that is asked for; empty where the address chooses it."""
        return self.model or ("" if self.base_url else DEFAULT_OPENAI_MODEL)


def build_provider(config: ProviderConfig) -> Provider:
    """Return the provider that ``config`` names. Opens no connection."""
    if config.is_offline:
        from chat.providers.offline import OfflineAnalyst  # noqa: PLC0415

        return OfflineAnalyst(delay_ms=config.offline_delay_ms)
    return _api(config)(
        config.base_url or OPENAI_URL,
        config.api_key or "none",
        config.model_name,
        connect_s=config.connect_s,
        idle_s=config.idle_s,
        starts_in_reasoning=config.starts_in_reasoning,
    )


def _api(config: ProviderConfig) -> type[OpenAIService]:
    if config.api == "responses":
        from chat.providers.openai_responses import OpenAIResponsesProvider  # noqa: PLC0415

        return OpenAIResponsesProvider
    from chat.providers.openai_chat import OpenAIChatProvider  # noqa: PLC0415

    return OpenAIChatProvider


_cached_provider = lru_cache(maxsize=64)(build_provider)


def known_provider_for(config: ProviderConfig) -> Provider | None:
    """Return the provider that ``config`` names, if its model is known by now."""
    provider = _cached_provider(config)
    return provider if provider.model else None


async def provider_for(config: ProviderConfig) -> Provider:
    """Return the provider that ``config`` names, its model known; the same one while it is the same. ProviderError."""
    provider = _cached_provider(config)
    if not provider.model:
        from chat.providers.openai_service import OpenAIService  # noqa: PLC0415

        assert isinstance(provider, OpenAIService)  # noqa: S101  (no other has its model to find out)
        await provider.first_model()
    return provider


__all__ = [
    "DEFAULT_OPENAI_MODEL",
    "OPENAI_URL",
    "Provider",
    "ProviderConfig",
    "ProviderError",
    "build_provider",
    "known_provider_for",
    "provider_for",
]
