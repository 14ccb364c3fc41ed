"""What is masked, how far a value is looked at, and the marks that stand for what was taken out.

A policy is a frozen value and can be hashed, so everything derived from it is built once. The marks carry nothing of
what they replace: no length, no prefix, no suffix. Spec 004 redaction, product 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

REDACTED: Final = "[redacted]"
UNAVAILABLE: Final = "[unavailable]"
TRUNCATED: Final = "…(truncated)"
VECTOR: Final = "[vector]"
CYCLE: Final = "[cycle]"
TOO_DEEP: Final = "[too deep]"


class EmailMask(StrEnum):
    """How an e-mail address is shown."""

    FIRST_LETTER = "first_letter"  # u***@domain.com
    WHOLE = "whole"  # [redacted]


class IpInText(StrEnum):
    """When an address of the network counts as personal."""

    NEVER = "never"
    CONTEXT_ONLY = "context_only"  # only after words such as "client IP"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """The limits and choices of one redaction.

    Lengths are characters, ``*_bytes`` are bytes of JSON. ``extra_keys`` are key names that are secret beyond our own
    list, ``never_keys`` are names that aren't, whatever they look like. ``version`` is stored with a trace, so that
    old rows can be found and redacted again.
    """

    text_limit: int = 256
    window: int = 4_096
    value_bytes: int = 25_600
    trace_bytes: int = 102_400
    max_depth: int = 24
    max_nodes: int = 4_000
    vector_min: int = 16
    email_mask: EmailMask = EmailMask.FIRST_LETTER
    ip_in_text: IpInText = IpInText.CONTEXT_ONLY
    placeholder: str = REDACTED
    extra_keys: frozenset[str] = frozenset()
    never_keys: frozenset[str] = frozenset()
    personal: bool = True
    version: int = 1


DEFAULT: Final = RedactionPolicy()
SECRETS_ONLY: Final = RedactionPolicy(personal=False)

_MADE_HERE: Final = object()


class SafeText(str):
    """Text that went through a redactor. It can't be built elsewhere; a copy or a part of it is a plain str."""

    __slots__ = ()

    def __new__(cls, text: str, key: object = None) -> Self:
        if key is not _MADE_HERE:
            raise TypeError("SafeText: built only by a Redactor")
        return super().__new__(cls, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str.__str__(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def mark_safe_text(text: str) -> SafeText:
    """Vouch for text. Only this package calls it, on what its own rules let through."""
    return SafeText(text, _MADE_HERE)
