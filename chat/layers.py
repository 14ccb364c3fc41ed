"""The ``reasoning.*`` settings of one conversation: what is in force, which layer says so, and changing them here.

Nothing is kept between calls: whoever asks reads the conversation again first (spec 001 BR-008). All of it is
synchronous and reads the database.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts import preferences
from accounts.models import User
from accounts.preferences import Layer, LayerName, Session
from chat import upstream
from chat.models import Conversation
from chat.upstream import ChosenModel
from reasoning.policy import SETTINGS, ReasoningSettings, Visibility


@dataclass(frozen=True, slots=True)
class InForce:
    """One setting: its value, and the layer that it comes from; None where it is built in."""

    name: str
    value: Any
    layer: LayerName | None


def sees(person: User, session: Session | None, conversation: Conversation) -> Visibility:
    """Decide what this person sees in this conversation. Spec 001 BR-003."""
    return preferences.visibility(person, session, **_layers(conversation))


def in_force(person: User, conversation: Conversation, model: ChosenModel | None = None) -> ReasoningSettings:
    """Return the settings of the next request; ``model`` where it is known already which will get it."""
    return preferences.reasoning_settings(person, **_layers(conversation, model))


def listed(person: User, conversation: Conversation) -> tuple[InForce, ...]:
    """Return every setting with its value and the layer that it comes from."""
    found = preferences.layers(person, **_layers(conversation))
    values = in_force(person, conversation).as_dict()
    return tuple(InForce(name, values[name], _layer_of(name, found)) for name in SETTINGS)


def as_form(person: User, conversation: Conversation) -> dict[str, Any]:
    """Return the settings as the API has them: name to value, the layer of each, and what each may be."""
    found = listed(person, conversation)
    return {
        **{row.name: row.value for row in found},
        "layers": {row.name: row.layer or "default" for row in found},
        "allowed": {name: list(setting.allowed) or "integer" for name, setting in SETTINGS.items()},
    }


def change(conversation_id: uuid.UUID, changes: Mapping[str, Any]) -> None:
    """Set these values here; None lets the other layers decide. The values are valid already."""

    def changed(layer: Layer) -> Layer:
        joined = {**layer, **changes}
        return {name: value for name, value in joined.items() if value is not None}

    _rewrite(conversation_id, changed)


def replace(conversation_id: uuid.UUID, values: Layer) -> None:
    """Set exactly these values here."""
    _rewrite(conversation_id, lambda _layer: dict(values))


def chosen_by(person: User, conversation: Conversation) -> dict[str, Any]:
    """Return what this person has set themselves, for everywhere and here: what a saved profile holds."""
    return {**(person.reasoning or {}), **(conversation.reasoning or {})}


@transaction.atomic
def _rewrite(conversation_id: uuid.UUID, changed: Callable[[Layer], Layer]) -> None:
    found = Conversation.objects.select_for_update().get(pk=conversation_id)
    found.reasoning = changed(found.reasoning or {})
    found.save(update_fields=["reasoning"])


def _layers(conversation: Conversation, model: ChosenModel | None = None) -> dict[str, Layer]:
    model = model or upstream.chosen_model(conversation)
    return {"model_layer": model.reasoning, "conversation_layer": conversation.reasoning or {}}


def _layer_of(name: str, found: Mapping[LayerName, Layer]) -> LayerName | None:
    if name == "reasoning.enabled" and not settings.REASONING_ENABLED:
        return "site"
    return next((layer for layer in reversed(tuple(found)) if name in found[layer]), None)
