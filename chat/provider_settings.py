"""Which provider the site's settings ask for. Read anew for each request (spec 001 BR-008)."""

from __future__ import annotations

from django.conf import settings

from chat.providers import ProviderConfig


def provider_config() -> ProviderConfig:
    """Return the configuration of the model that answers. With no endpoint and no key it is the offline analyst."""
    return ProviderConfig(
        base_url=settings.OPENAI_BASE_URL,
        api_key=settings.OPENAI_API_KEY,
        model=settings.OPENAI_MODEL,
        api=settings.OPENAI_API,
        connect_s=settings.CONNECT_TIMEOUT_S,
        idle_s=settings.UPSTREAM_IDLE_TIMEOUT_S,
    )
