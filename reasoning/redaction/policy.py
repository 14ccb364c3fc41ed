"""The limits of a redaction, and the marks that replace what was removed. Spec 004 redaction, product 12."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

# A mark reveals nothing of what it replaces: no length, no prefix, no suffix.
REDACTED: Final = "[redacted]"
UNAVAILABLE: Final = "[unavailable]"
TRUNCATED: Final = "…(truncated)"
VECTOR: Final = "[vector]"
CYCLE: Final = "[cycle]"
TOO_DEEP: Final = "[too deep]"


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """The limits of one redaction. ``text_limit`` and ``window`` are characters, ``*_bytes`` are bytes of JSON."""

    text_limit: int = 256
    window: int = 4_096
    value_bytes: int = 25_600
    trace_bytes: int = 102_400
    max_depth: int = 24
    max_nodes: int = 4_000
    vector_min: int = 16
    personal: bool = True
    private: bool = True  # whether values are searched for private text of the model, too (product 36)


DEFAULT: Final = RedactionPolicy()
SECRETS_ONLY: Final = RedactionPolicy(personal=False)

_CONSTRUCTOR_KEY: Final = object()


class SafeText(str):
    """Text that a redactor returned. Nobody else can construct it; a copy or a slice is a plain str."""

    __slots__ = ()

    def __new__(cls, text: str, key: object = None) -> Self:
        if key is not _CONSTRUCTOR_KEY:
            raise TypeError("SafeText: built only by a Redactor")
        return super().__new__(cls, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str.__str__(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def mark_safe_text(text: str) -> SafeText:
    """Vouch for text that this package's rules have redacted."""
    return SafeText(text, _CONSTRUCTOR_KEY)
