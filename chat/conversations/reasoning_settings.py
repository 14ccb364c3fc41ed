"""The ``reasoning.*`` settings of one conversation: their values, the layer that each comes from, and changes.

Everything is synchronous and reads the database on each call, as settings may change at any time (spec 001 BR-008).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from accounts import preferences
from accounts.access import visibility
from accounts.access.visibility import Session
from accounts.models import User
from accounts.preferences import Layer, LayerName
from chat.conversations import model_choice
from chat.conversations.model_choice import ModelChoice
from chat.live.publish import publish_changes
from chat.models import Conversation
from chat.providers.base import ProviderRequest, parameter
from reasoning.replay.dialects import dialect_named
from reasoning.replay.wire import FORMATS
from reasoning.replay.wire.base import Note, NoteWords, asked_settings, unsupported
from reasoning.settings import RARE_SETTINGS, SETTINGS, ReasoningSettings
from reasoning.visibility import Visibility

# Why a setting reaches nothing, by the words of a note.
NOTES: Mapping[NoteWords, str] = {
    "has no parameter for it": gettext_noop(
        "%(name)s has no effect: the service of this model has no parameter for it."
    ),
    "can only be switched on and off": gettext_noop(
        "%(name)s: this model’s service can only turn reasoning on or off."
    ),
    "takes none beside reasoning.effort": gettext_noop(
        "%(name)s has no effect beside reasoning.effort: the service of this model takes one of the two."
    ),
    "takes no reasoning back": gettext_noop(
        "%(name)s has no effect: the service of this model takes no thinking back."
    ),
    "refused it": gettext_noop("%(name)s has no effect: the service of this model has refused it."),
}


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting's value, and the layer that it comes from: None for a built-in default.

    ``is_offered``: the service of the model has a parameter for it, or it is set all the same.
    """

    name: str
    value: Any
    layer: LayerName | None
    is_offered: bool = True


def visibility_for(
    person: User,
    session: Session | None,
    conversation: Conversation,
    model: ModelChoice | None = None,
    *,
    is_administrator: bool | None = None,
) -> Visibility:
    """Decide what this person may see in this conversation. Spec 001 BR-003.

    ``model`` and ``is_administrator`` save a query each where they are known.
    """
    layers = layers_of(conversation, model)
    return visibility.visibility(person, session, is_administrator=is_administrator, **layers)


def effective_settings(person: User, conversation: Conversation, model: ModelChoice | None = None) -> ReasoningSettings:
    """Return the settings of the next request; ``model`` saves a query where it is known."""
    return preferences.reasoning_settings(person, **layers_of(conversation, model))


def list_settings(person: User, conversation: Conversation) -> tuple[EffectiveSetting, ...]:
    """Return every setting with its value and the layer that it comes from."""
    chosen = model_choice.model_of(conversation)
    found = preferences.layers(person, **layers_of(conversation, chosen))
    values = effective_settings(person, conversation, chosen).as_dict()
    origins = {name: layer for layer, of_layer in found.items() for name in of_layer}  # the strongest layer is last
    if not settings.REASONING_ENABLED:
        origins["reasoning.enabled"] = "site"  # whatever the other layers say (product 13)
    offered = set(SETTINGS) if has_rare_settings(chosen) else set(SETTINGS) - set(RARE_SETTINGS)
    return tuple(
        EffectiveSetting(name, values[name], origins.get(name), name in offered or name in origins) for name in SETTINGS
    )


def has_rare_settings(chosen: ModelChoice) -> bool:
    """Say whether the service of a model has parameters for ``RARE_SETTINGS``."""
    if chosen.config.is_offline:
        return False
    return FORMATS[chosen.config.api].has_rare_settings(dialect_named(chosen.dialect))


def as_form(person: User, conversation: Conversation) -> dict[str, Any]:
    """Return the API's form: name to value, ``layers`` that they come from, the ``allowed`` values, and ``notes``."""
    found = [row for row in list_settings(person, conversation) if row.is_offered]
    return {
        **{row.name: row.value for row in found},
        "layers": {row.name: row.layer or "default" for row in found},
        "allowed": {row.name: list(SETTINGS[row.name].allowed) or "integer" for row in found},
        "notes": [text for _name, text in notes(person, conversation)],
    }


def notes(person: User, conversation: Conversation) -> tuple[tuple[str, str], ...]:
    """Return the settings in force that reach nothing at the model of the next request, each with a sentence.

    Product 24. None where the site asks no model for reasoning.
    """
    if not settings.REASONING_ENABLED:
        return ()
    chosen = model_choice.model_of(conversation)
    in_force = effective_settings(person, conversation, chosen)
    if chosen.config.is_offline:
        found = unsupported("the offline analyst", *asked_settings(in_force))
        return tuple((note.setting, explain_note(note)) for note in found)
    target, provider = model_choice.request_target(chosen), model_choice.known_provider(chosen)
    model = provider.model if provider else target.model
    asked = FORMATS[target.api].params(
        in_force, model, dialect_named(chosen.dialect), sends_all=False, may_switch_off=True
    )
    found = asked.notes
    if provider and asked.optional:
        sent = provider.request_body(ProviderRequest(asked.body, "", (), "", asked.optional))
        found += tuple(
            Note(setting, "this service", "refused it")
            for name, setting in asked.optional.items()
            if setting and parameter(sent, name) is None
        )
    return tuple((note.setting, explain_note(note)) for note in found)


def explain_note(note: Note) -> str:
    """Return a note of a plan in the reader's language."""
    return gettext(NOTES[note.words]) % {"name": note.setting}


def change(conversation_id: uuid.UUID, changes: Mapping[str, Any]) -> None:
    """Set valid values in the conversation; None removes its own value, so that the other layers decide."""
    with transaction.atomic():
        # two pages may change different settings at the same moment
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id)
        values = {**(conversation.reasoning or {}), **changes}
        conversation.reasoning = {name: value for name, value in values.items() if value is not None}
        conversation.save(update_fields=["reasoning"])
    publish_changes(conversation_id, "settings")


def replace(conversation_id: uuid.UUID, values: Layer) -> None:
    """Replace all values of the conversation."""
    # one statement, so no lock: nothing was read before
    Conversation.objects.filter(pk=conversation_id).update(reasoning=dict(values))
    publish_changes(conversation_id, "settings")


def chosen_by(person: User, conversation: Conversation) -> dict[str, Any]:
    """Return what this person has set themselves, everywhere and here: the values of a saved profile."""
    return {**(person.reasoning or {}), **(conversation.reasoning or {})}


def layers_of(conversation: Conversation, model: ModelChoice | None = None) -> dict[str, Layer]:
    model = model or model_choice.model_of(conversation)
    return {"model_layer": model.reasoning, "conversation_layer": conversation.reasoning or {}}
