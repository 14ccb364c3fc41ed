"""The ``reasoning.*`` settings of a user: layers, saved profiles, and how both are shown.

Nothing is cached: settings may change before each request to a provider (spec 001 BR-008).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from reasoning.errors import SettingError
from reasoning.replay.dialects import PRESETS
from reasoning.settings import MAX_TOKENS, SETTINGS, ReasoningSettings, parse_setting

# The composer completes all of them without asking the server.
MAX_PROFILES = 50
VALID_NAME = re.compile(r"[\w.:-]{1,40}")
Layer = Mapping[str, Any]  # ``{"reasoning.x": value}``
LayerName = Literal["site", "model", "user", "conversation"]
LABELS = {
    "reasoning.enabled": gettext_lazy("Ask for reasoning"),
    "reasoning.effort": gettext_lazy("Effort"),
    "reasoning.maxTokens": gettext_lazy("Thinking token limit"),
    "reasoning.includeInContext": gettext_lazy("Include earlier thinking in requests"),
    "reasoning.includeInResponse": gettext_lazy("Show thinking"),
    "reasoning.stripFromContext": gettext_lazy("Earlier thinking to omit"),
    "reasoning.format": gettext_lazy("Format of thinking in requests"),
    "reasoning.summary": gettext_lazy("Reasoning summary from the provider"),
    "reasoning.context": gettext_lazy("Reasoning that the model reads"),
    "reasoning.mode": gettext_lazy("Reasoning mode"),
}
HELP = {
    "reasoning.enabled": gettext_lazy("What a model sends anyway is stored."),
    "reasoning.effort": gettext_lazy("How much the model reasons, if it supports that setting."),
    "reasoning.maxTokens": gettext_lazy("If the model has such a setting."),
    "reasoning.includeInContext": gettext_lazy("Off keeps requests short. Some models need their earlier thinking."),
    "reasoning.stripFromContext": gettext_lazy("Omitted even where earlier thinking is included."),
    "reasoning.format": gettext_lazy("Both are the same for now."),
    "reasoning.summary": gettext_lazy("A summary that the service writes of its own reasoning."),
    "reasoning.context": gettext_lazy(
        "Whether the model reads its reasoning of earlier turns. OpenAI Responses and OpenRouter, newer models only."
    ),
    "reasoning.mode": gettext_lazy(
        "Pro takes longer and uses more tokens. OpenAI Responses and OpenRouter, newer models only."
    ),
}
# What is shown for a value, first for one setting, then for any.
VALUE_LABELS: Mapping[str, Mapping[str, Any]] = {
    "reasoning.stripFromContext": {"": gettext_lazy("Nothing"), "none": gettext_lazy("Nothing")},
    "reasoning.includeInContext": {"": gettext_lazy("If needed")},
    "reasoning.effort": {"": gettext_lazy("Automatic")},
    "reasoning.maxTokens": {"": gettext_lazy("No limit")},
    "reasoning.summary": {"": gettext_lazy("Automatic")},
    "reasoning.context": {"": gettext_lazy("Automatic")},
    "reasoning.mode": {"": gettext_lazy("Standard")},
    "": {
        "": gettext_lazy("not set"),
        "true": gettext_lazy("On"),
        "false": gettext_lazy("Off"),
        "none": gettext_lazy("Off"),
        "minimal": gettext_lazy("Minimal"),
        "low": gettext_lazy("Low"),
        "medium": gettext_lazy("Medium"),
        "high": gettext_lazy("High"),
        "xhigh": gettext_lazy("Very high"),
        "max": gettext_lazy("Maximum"),
        "all": gettext_lazy("All"),
        "allButLast": gettext_lazy("All but the latest"),
        "field": gettext_lazy("Separate field"),
        "native": gettext_lazy("Format of the provider"),
        "auto": gettext_lazy("Automatic"),
        "concise": gettext_lazy("Concise"),
        "detailed": gettext_lazy("Detailed"),
        "current_turn": gettext_lazy("This turn’s only"),
        "all_turns": gettext_lazy("All turns"),
        "standard": gettext_lazy("Standard"),
        "pro": gettext_lazy("Pro"),
    },
}


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
    # the site's switch overrides every layer
    joined = ReasoningSettings.from_layers(*found.values())
    return replace(joined, enabled=joined.enabled and settings.REASONING_ENABLED)


class InvalidProfileError(Exception):
    """A profile can't be saved, loaded or deleted. The message is shown to the user."""


def save_profile(user: User, name: str, values: Mapping[str, Any]) -> None:
    """Save these values under ``name``, replacing an earlier profile of that name. Raises InvalidProfileError."""
    if not VALID_NAME.fullmatch(name):
        raise InvalidProfileError(_("A name is 1 to 40 letters, digits and . : _ - without spaces."))
    if name in PRESETS:
        raise InvalidProfileError(_("%(name)s is a built-in profile; choose another name.") % {"name": name})
    if user.reasoning_profiles.exclude(name=name).count() >= MAX_PROFILES:
        raise InvalidProfileError(_("You have %(most)s profiles already; delete one first.") % {"most": MAX_PROFILES})
    user.reasoning_profiles.update_or_create(name=name, defaults={"values": dict(values)})


def load_profile(user: User, name: str) -> dict[str, Any]:
    """Return the values of a saved or built-in profile.

    Loading replaces the values of the layer into which they are loaded and changes nothing else (spec 001 EC-005).
    Raises InvalidProfileError if there is none, SettingError if it holds a value that is no longer allowed.
    """
    # A profile saved before a preset of the same name was added wins over the preset.
    profile = user.reasoning_profiles.filter(name=name).first()
    if profile is None and name not in PRESETS:
        raise _no_such_profile(name, [*user.reasoning_profiles.values_list("name", flat=True), *PRESETS])
    values = profile.values if profile else PRESETS[name].reasoning
    return {key: parse_setting(key, value) for key, value in values.items()}


def delete_profile(user: User, name: str) -> None:
    """Delete a saved profile. Raises InvalidProfileError."""
    deleted, _by_model = user.reasoning_profiles.filter(name=name).delete()
    if deleted:
        return
    if name in PRESETS:
        raise InvalidProfileError(_("%(name)s is built in and can't be deleted.") % {"name": name})
    raise _no_such_profile(name, list(user.reasoning_profiles.values_list("name", flat=True)))


def _no_such_profile(name: str, names: list[str]) -> InvalidProfileError:
    """Return the error for an unknown name; it lists the known ones."""
    if not names:
        return InvalidProfileError(_("You have saved no profiles yet."))
    text = _("There is no profile %(name)s; there are %(names)s.")
    return InvalidProfileError(text % {"name": name[:40], "names": ", ".join(names)})


def allowed_text(key: str) -> str:
    """Return the allowed values of a setting: ``'field' or 'native'``."""
    if not SETTINGS[key].allowed:
        return _("a whole number from 1 to %(most)s") % {"most": MAX_TOKENS}
    *others, last = (f"'{word}'" for word in SETTINGS[key].allowed)
    return _("%(others)s or %(last)s") % {"others": ", ".join(others), "last": last} if others else last


def value_text(value: Any) -> str:
    """Return a value as users type it: ``true`` for True, an empty text for None."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_label(key: str, value: Any) -> str:
    """Return the words for a value of a setting; of None, what applies then."""
    text = value_text(value)
    return str(VALUE_LABELS.get(key, {}).get(text) or VALUE_LABELS[""].get(text, text))


def layer_text(layer: Mapping[str, Any]) -> str:
    """Return the values of a layer in words: ``Effort: Low · Show thinking: Off``."""
    return " · ".join(f"{LABELS.get(key, key)}: {value_label(key, value)}" for key, value in layer.items()) or _(
        "no settings"
    )


def error_text(error: SettingError) -> str:
    """Return the message for an invalid setting; it names the allowed values. Spec 001 ERR-001."""
    if error.value is None:
        return _("%(name)s: no such setting; there are %(names)s.") % {"name": error.key, "names": ", ".join(SETTINGS)}
    return _("%(name)s: '%(value)s' is not allowed; %(allowed)s only.") % {
        "name": error.key,
        "value": error.value,
        "allowed": allowed_text(error.key),
    }
