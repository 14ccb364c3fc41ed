"""The ``reasoning.*`` settings of spec 001: their names, their allowed values, and the values in force for a request.

Where they come from is ``accounts.preferences``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reasoning.errors import SettingError

PREFIX = "reasoning."
MAX_TOKENS = 1_000_000_000
_SWITCH = ("true", "false")
_SHOWN = {"on": "true", "off": "false"}  # how pages show them, and people type them
_ENVIRONMENT = {"yes": "true", "1": "true", "no": "false", "0": "false"}  # as other settings of the environment


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the field that stores it, and the words that it may be; none of them: a number.

    ``parse`` raises ValueError naming what is allowed.
    """

    field: str
    parse: Callable[[Any], Any]
    allowed: tuple[str, ...] = ()


def switch(field: str) -> Setting:
    def parse(value: Any) -> bool:
        word = str(value).strip().lower()
        word = _SHOWN.get(word, word)
        if word not in _SWITCH:
            raise ValueError("true or false")
        return word == "true"

    return Setting(field, parse, _SWITCH)


def choice(field: str, *allowed: str) -> Setting:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(", ".join(f"'{word}'" for word in allowed[:-1]) + f" or '{allowed[-1]}' only")
        return str(value)

    return Setting(field, parse, allowed)


def positive_integer(value: Any) -> int:
    # int() would also accept underscores, signs, blanks and digits of other scripts, and JSON's true means 1 to it.
    is_number = not isinstance(value, bool) and re.fullmatch(r"[0-9]{1,12}", str(value))
    number = int(str(value)) if is_number else 0
    if not 1 <= number <= MAX_TOKENS:
        raise ValueError(f"a whole number from 1 to {MAX_TOKENS}")
    return number


SETTINGS: Mapping[str, Setting] = {
    "reasoning.enabled": switch("enabled"),
    "reasoning.effort": choice("effort", "none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "reasoning.maxTokens": Setting("max_tokens", positive_integer),
    "reasoning.includeInContext": switch("include_in_context"),
    "reasoning.includeInResponse": switch("include_in_response"),
    "reasoning.stripFromContext": choice("strip_from_context", "all", "allButLast", "none"),
    "reasoning.format": choice("format", "field", "native"),
    "reasoning.summary": choice("summary", "auto", "concise", "detailed", "none"),
    "reasoning.context": choice("context", "auto", "current_turn", "all_turns"),
    "reasoning.mode": choice("mode", "standard", "pro"),
}
# Few services have a parameter for these, so they are offered where the model's does.
RARE_SETTINGS = ("reasoning.context", "reasoning.mode")
# People type names in lower case and without the prefix.
_BY_FOLDED_NAME = {name.removeprefix(PREFIX).lower(): name for name in SETTINGS}


def setting_name(word: str) -> str:
    """Return a setting's public name; ``word`` may leave the prefix out and be in any case. Raises SettingError."""
    found = _BY_FOLDED_NAME.get(word.lower().removeprefix(PREFIX))
    if found is None:
        named = " ".join(word.split())[:60]
        raise SettingError(f"{named}: no such setting; there are {', '.join(SETTINGS)}", key=named)
    return found


def parse_setting(key: str, value: Any) -> Any:
    """Return the stored form of a setting's value, from a string or a JSON value.

    Raises SettingError naming the setting and the allowed values. Spec 001 ERR-001.
    """
    setting = SETTINGS[setting_name(key)]
    try:
        return setting.parse(value)
    except ValueError as allowed:
        shown = str(value)[:40]
        message = f"{key}: {shown!r} is not allowed; {allowed}"
        raise SettingError(message, key=key, value=shown, allowed=setting.allowed) from allowed


def parse_layer(text: str) -> dict[str, Any]:
    """Return the layer that ``effort=low,stripFromContext=all`` spells in the environment; names may have their prefix.

    Raises SettingError naming the first setting that is wrong.
    """
    layer: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        word, _sign, value = pair.partition("=")
        name = setting_name(word.strip())
        word = value.strip()
        is_switch = SETTINGS[name].allowed == _SWITCH
        layer[name] = parse_setting(name, _ENVIRONMENT.get(word.lower(), word) if is_switch else word)
    return layer


@dataclass(frozen=True, slots=True)
class ReasoningSettings:
    """The ``reasoning.*`` settings in force for one request. Spec 001 BR-001, BR-008.

    ``include_in_context`` is None where nobody set it: text reasoning is then omitted (BR-001), while opaque items go
    back (replay decision D1). ``format`` native acts as field (BR-007).
    """

    enabled: bool = True
    effort: str | None = None
    max_tokens: int | None = None
    include_in_context: bool | None = None
    include_in_response: bool = True
    strip_from_context: str | None = None
    format: str = "field"
    summary: str | None = None
    context: str | None = None
    mode: str | None = None

    def with_value(self, key: str, value: Any) -> ReasoningSettings:
        """Return a copy with one setting changed, by its public name and from a string or a JSON value.

        Raises SettingError naming the setting and the allowed values; nothing is changed then. Spec 001 ERR-001.
        """
        if key not in SETTINGS:
            raise SettingError(f"{key}: no such setting; there are {', '.join(SETTINGS)}", key=key)
        return replace(self, **{SETTINGS[key].field: parse_setting(key, value)})

    @classmethod
    def from_layers(cls, *layers: Mapping[str, Any] | None) -> ReasoningSettings:
        """Join layers of ``{"reasoning.x": value}``, the later ones on top; an unset value falls through."""
        settings = cls()
        for layer in layers:
            for key, value in (layer or {}).items():
                settings = settings.with_value(key, value)
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Return the values by their public names, for display; what nobody set, as its default acts (BR-001)."""
        values = {key: getattr(self, setting.field) for key, setting in SETTINGS.items()}
        defaults = {"reasoning.includeInContext": False, "reasoning.stripFromContext": "none"}
        return {key: defaults.get(key) if value is None else value for key, value in values.items()}
