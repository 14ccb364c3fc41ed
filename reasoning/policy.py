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
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("a whole number of 1 or more")
    return number


_SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "reasoning.enabled": ("enabled", _boolean),
    "reasoning.effort": ("effort", _one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    "reasoning.maxTokens": ("max_tokens", _positive_integer),
    "reasoning.includeInContext": ("include_in_context", _boolean),
    "reasoning.includeInResponse": ("include_in_response", _boolean),
    "reasoning.stripFromContext": ("strip_from_context", _one_of("all", "allButLast", "none")),
    "reasoning.format": ("format", _one_of("field", "native")),
    "reasoning.summary": ("summary", _one_of("auto", "concise", "detailed", "none")),
}


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
        if key not in _SETTINGS:
            raise SettingError(f"{key}: no such setting; there are {', '.join(_SETTINGS)}")
        name, parse = _SETTINGS[key]
        try:
            return replace(self, **{name: parse(value)})
        except ValueError as allowed:
            raise SettingError(f"{key}: {str(value)[:40]!r} is not allowed; {allowed}") from allowed

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
        return {key: getattr(self, name) for key, (name, _parse) in _SETTINGS.items()}


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


assert {name for name, _parse in _SETTINGS.values()} == {field.name for field in fields(ReasoningSettings)}  # noqa: S101
