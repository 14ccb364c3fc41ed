"""The configured model service: settings to a provider. Nothing is read from the environment elsewhere."""

from __future__ import annotations

from django.conf import settings

from chat.providers import ProviderConfig, provider_for
from chat.providers.base import Provider


def provider_config() -> ProviderConfig:
    """Return the endpoint that the settings name; with none of them, the offline analyst's."""
    return ProviderConfig(
        base_url=settings.OPENAI_BASE_URL or None,
        api_key=settings.OPENAI_API_KEY or None,
        model=settings.OPENAI_MODEL or None,
        api="chat",
        connect_s=settings.CONNECT_TIMEOUT_S,
        idle_s=settings.UPSTREAM_IDLE_TIMEOUT_S,
    )


async def provider() -> Provider:
    """Return the provider for the next request."""
    return await provider_for(provider_config())


async def close() -> None:
    """Close the connections to model services, at the end of the server."""
    from chat.providers.openai_client import close_clients  # noqa: PLC0415 - loaded only where it was used

    await close_clients()


async def known_models() -> tuple[str, ...]:
    """Return the model names that a request may ask for."""
    found = await provider()
    return (found.model, found.name) if found.name != found.model else (found.model,)
