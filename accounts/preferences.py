"""The ``reasoning.*`` settings that apply to a user: the layers, and what they amount to.

Nothing is cached: settings may change before each request to a provider (spec 001 BR-008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from django.conf import settings

from accounts.models import User
from reasoning.settings import ReasoningSettings

Layer = Mapping[str, Any]  # ``{"reasoning.x": value}``
LayerName = Literal["site", "model", "user", "conversation"]


def layers(
    user: User, *, model_layer: Layer | None = None, conversation_layer: Layer | None = None
) -> dict[LayerName, Layer]:
    """Return the layers by name, the strongest last; each holds only the values set there."""
    return {
        "site": settings.REASONING_DEFAULTS,
        "model": model_layer or {},
        "user": user.reasoning or {},
        "conversation": conversation_layer or {},
    }


def reasoning_settings(
    user: User, *, model_layer: Layer | None = None, conversation_layer: Layer | None = None
) -> ReasoningSettings:
    """Join the layers over the built-in defaults; a later layer overrides earlier ones.

    A site with ``REASONING_ENABLED=false`` asks no model for reasoning (product 13). Raises SettingError for a stored
    value that is no longer allowed.
    """
    found = layers(user, model_layer=model_layer, conversation_layer=conversation_layer)
    joined = ReasoningSettings.from_layers(*found.values())
    return replace(joined, enabled=joined.enabled and settings.REASONING_ENABLED)
