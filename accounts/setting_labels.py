"""Labels and texts for the ``reasoning.*`` settings: name, help, allowed values, validation errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reasoning.errors import SettingError
from reasoning.settings import MAX_TOKENS, SETTINGS

LABELS = {
    "reasoning.enabled": gettext_lazy("Ask for reasoning"),
    "reasoning.effort": gettext_lazy("Effort"),
    "reasoning.maxTokens": gettext_lazy("Most tokens of thinking"),
    "reasoning.includeInContext": gettext_lazy("Send thinking back"),
    "reasoning.includeInResponse": gettext_lazy("Show thinking"),
    "reasoning.stripFromContext": gettext_lazy("Leave out earlier thinking"),
    "reasoning.format": gettext_lazy("Format"),
    "reasoning.summary": gettext_lazy("Provider’s summary"),
}
HELP = {
    "reasoning.enabled": gettext_lazy(
        "Whether the model is asked to reason. What it sends unasked is kept all the same."
    ),
    "reasoning.effort": gettext_lazy("How much the model reasons, where it can be told."),
    "reasoning.maxTokens": gettext_lazy("A limit for thinking, where the model takes one."),
    "reasoning.includeInContext": gettext_lazy("Whether earlier thinking goes back to the model; some models need it."),
    "reasoning.includeInResponse": gettext_lazy("Whether you see the model’s thinking under an answer."),
    "reasoning.stripFromContext": gettext_lazy(
        "Which earlier thinking is left out first: all, all but the last, or none."
    ),
    "reasoning.format": gettext_lazy("How thinking goes back; native works like field."),
    "reasoning.summary": gettext_lazy("How long a summary of its reasoning the service is asked for."),
}


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


def layer_text(layer: Mapping[str, Any]) -> str:
    """Return the values of a layer: ``reasoning.effort=low, reasoning.format=field``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in layer.items()) or _("nothing set")


def error_text(error: SettingError) -> str:
    """Return the message for an invalid setting; it names the allowed values. Spec 001 ERR-001."""
    if error.value is None:
        return _("%(name)s: no such setting; there are %(names)s.") % {"name": error.key, "names": ", ".join(SETTINGS)}
    return _("%(name)s: '%(value)s' is not allowed; %(allowed)s only.") % {
        "name": error.key,
        "value": error.value,
        "allowed": allowed_text(error.key),
    }
