"""Who may see what, and what goes back to the model: settings as values.

``ReasoningSettings`` are the ``reasoning.*`` settings of one person for one request (spec 001). ``Visibility`` is what
one viewer may see, computed once per request or socket; every exit goes through it (product 15). Both are plain values:
where they come from is ``accounts.preferences``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from reasoning.errors import SettingError

EXCERPT_CHARS = 800  # about 200 tokens, product 4
TRUNCATED = "…(truncated)"

ThinkingForUsers = Literal["excerpt", "full", "hidden"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
StripPolicy = Literal["all", "allButLast", "none"]

PREFIX = "reasoning."
MOST_TOKENS = 1_000_000_000
_TRUE = {"true", "on", "yes", "1"}
_FALSE = {"false", "off", "no", "0"}


def _boolean(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("true or false")
    return word in _TRUE


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(", ".join(f"'{word}'" for word in allowed[:-1]) + f" or '{allowed[-1]}' only")
        return str(value)

    return parse


def _positive_integer(value: Any) -> int:
    try:
        number = 0 if isinstance(value, bool) else int(str(value))
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_TOKENS:
        raise ValueError(f"a whole number from 1 to {MOST_TOKENS}")
    return number


@dataclass(frozen=True, slots=True)
class Setting:
    """One ``reasoning.*`` setting: the field that holds it, and the words that it may be; none of them: a number."""

    field: str
    parse: Callable[[Any], Any]
    allowed: tuple[str, ...] = ()


def _words(field: str, *allowed: str) -> Setting:
    return Setting(field, _one_of(*allowed), allowed)


def _switch(field: str) -> Setting:
    return Setting(field, _boolean, ("true", "false"))


SETTINGS: Mapping[str, Setting] = {
    "reasoning.enabled": _switch("enabled"),
    "reasoning.effort": _words("effort", "none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "reasoning.maxTokens": Setting("max_tokens", _positive_integer),
    "reasoning.includeInContext": _switch("include_in_context"),
    "reasoning.includeInResponse": _switch("include_in_response"),
    "reasoning.stripFromContext": _words("strip_from_context", "all", "allButLast", "none"),
    "reasoning.format": _words("format", "field", "native"),
    "reasoning.summary": _words("summary", "auto", "concise", "detailed", "none"),
}
_BY_FOLDED_NAME = {name.removeprefix(PREFIX).lower(): name for name in SETTINGS}


def setting_name(word: str) -> str:
    """Return a setting's public name; ``word`` may leave the prefix out and be in any case. Raises SettingError."""
    found = _BY_FOLDED_NAME.get(word.lower().removeprefix(PREFIX))
    if found is None:
        named = " ".join(word.split())[:60]
        raise SettingError(f"{named}: no such setting; there are {', '.join(SETTINGS)}", key=named)
    return found


def parsed(key: str, value: Any) -> Any:
    """Return a setting's value as it is kept, from a string or a JSON value.

    Raises SettingError naming the setting and the allowed values. Spec 001 ERR-001.
    """
    setting = SETTINGS[setting_name(key)]
    try:
        return setting.parse(value)
    except ValueError as allowed:
        shown = str(value)[:40]
        raise SettingError(
            f"{key}: {shown!r} is not allowed; {allowed}", key=key, value=shown, allowed=setting.allowed
        ) from allowed


def parse_layer(text: str) -> dict[str, Any]:
    """Return the layer that ``effort=low,stripFromContext=all`` spells; the prefix may stand there too.

    Raises SettingError naming the first setting that is wrong.
    """
    layer: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        word, _sign, value = pair.partition("=")
        name = setting_name(word.strip())
        layer[name] = parsed(name, value.strip())
    return layer


@dataclass(frozen=True, slots=True)
class ReasoningSettings:
    """The ``reasoning.*`` settings in force for one request. Spec 001 BR-001, BR-008.

    ``include_in_context`` is None where nobody set it: text reasoning then stays out (BR-001), while opaque items go
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

    def with_value(self, key: str, value: Any) -> ReasoningSettings:
        """Return a copy with one setting changed, by its public name and from a string or a JSON value.

        Raises SettingError naming the setting and the allowed values; nothing is changed then. Spec 001 ERR-001.
        """
        if key not in SETTINGS:
            raise SettingError(f"{key}: no such setting; there are {', '.join(SETTINGS)}", key=key)
        return replace(self, **{SETTINGS[key].field: parsed(key, value)})

    @classmethod
    def from_layers(cls, *layers: Mapping[str, Any] | None) -> ReasoningSettings:
        """Join layers of ``{"reasoning.x": value}``, the later ones on top; an unset value falls through."""
        settings = cls()
        for layer in layers:
            for key, value in (layer or {}).items():
                settings = settings.with_value(key, value)
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Return the values by their public names, for display."""
        return {key: getattr(self, setting.field) for key, setting in SETTINGS.items()}


@dataclass(frozen=True, slots=True)
class SiteFlags:
    """The deployment's ``REASONING_*`` flags. Spec 004 flags, product 13."""

    enabled: bool = True
    show_summary_default: bool = True
    tool_trace_default: bool = True
    scratchpad_enabled: bool = False
    scratchpad_admin_only: bool = True
    thinking_for_users: ThinkingForUsers = "excerpt"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is looking. ``show_*`` are the choices of this session; None where they made none."""

    is_administrator: bool = False
    show_reasoning: bool | None = None
    show_trace: bool | None = None
    include_in_response: bool = True
    scratchpad_on: bool = False


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one viewer may see of an answer. The answer and its sources are always seen."""

    reasoning_possible: bool = True  # the site shows reasoning at all, so there is a switch
    show_reasoning: bool = True
    summary: bool = True
    trace: bool = True
    trace_on_request: bool = False  # left out until asked for (REASONING_TOOL_TRACE_DEFAULT=false)
    thinking: Literal["whole", "excerpt", "withheld", "none"] = "excerpt"
    scratchpad: bool = False
    scratchpad_possible: bool = False  # the viewer may switch it on

    @property
    def may_open_thinking(self) -> bool:
        return self.thinking in ("whole", "excerpt")

    def only(self, *, summary: bool, trace: bool, thinking: bool) -> Visibility:
        """Return this for a copy that leaves the page, less what its person leaves out. It never holds a scratchpad.

        Steps that are left out until somebody asks for them are in it where they are asked for.
        """
        return replace(
            self,
            summary=self.summary and summary,
            trace=trace and (self.trace or self.trace_on_request),
            trace_on_request=False,
            thinking=self.thinking if thinking and self.may_open_thinking else "none",
            scratchpad=False,
            scratchpad_possible=False,
        )

    def thinking_text(self, redacted: str) -> tuple[str, bool]:
        """Cut redacted thinking to what this viewer may read: (text, was it cut). Product 4."""
        if not self.may_open_thinking:
            return "", bool(redacted)
        if self.thinking == "whole" or len(redacted) <= EXCERPT_CHARS:
            return redacted, False
        return redacted[:EXCERPT_CHARS].rstrip() + TRUNCATED, True


def visibility(flags: SiteFlags, viewer: Viewer) -> Visibility:
    """Decide what ``viewer`` may see on a site with ``flags``. Product 4, 9, 13."""
    may_scratchpad = (
        viewer.is_administrator and flags.enabled and flags.scratchpad_enabled and flags.scratchpad_admin_only
    )
    showing = flags.enabled and _first(viewer.show_reasoning, flags.show_summary_default)
    wants_trace = _first(viewer.show_trace, flags.tool_trace_default)
    return Visibility(
        reasoning_possible=flags.enabled,
        show_reasoning=showing,
        summary=showing,
        trace=showing and wants_trace,
        trace_on_request=showing and not wants_trace,
        thinking=_thinking(flags, viewer) if showing else "none",
        scratchpad=may_scratchpad and viewer.scratchpad_on,
        scratchpad_possible=may_scratchpad,
    )


def _thinking(flags: SiteFlags, viewer: Viewer) -> Literal["whole", "excerpt", "withheld", "none"]:
    if not viewer.include_in_response:
        return "none"
    if viewer.is_administrator or flags.thinking_for_users == "full":
        return "whole"
    return "withheld" if flags.thinking_for_users == "hidden" else "excerpt"


def _first(choice: bool | None, default: bool) -> bool:
    return default if choice is None else choice


assert {setting.field for setting in SETTINGS.values()} == {field.name for field in fields(ReasoningSettings)}  # noqa: S101
