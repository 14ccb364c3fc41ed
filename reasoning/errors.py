"""The exceptions of the core.

    ReasoningError
    ├── SettingError       a reasoning.* value that is not allowed; names the allowed ones
    ├── EventError         a canonical event that cannot be read
    └── ScratchpadError    an attempt to copy, print or serialise a scratchpad

The core raises on misuse, never on odd model output: odd output degrades as the rules say.
"""


class ReasoningError(Exception):
    """Root of everything that the core raises."""


class SettingError(ReasoningError):
    """A ``reasoning.*`` setting is unknown or its value is not allowed. Spec 001 ERR-001.

    ``value`` is what was refused, None for an unknown setting; ``allowed`` lists the words, empty for a number.
    """

    def __init__(self, message: str, *, key: str = "", value: str | None = None, allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.key, self.value, self.allowed = key, value, allowed


class EventError(ReasoningError):
    """A stored event has a shape that this version does not know."""


class ScratchpadError(ReasoningError, TypeError):
    """Something tried to copy, print, compare or serialise a scratchpad. Spec 004 scratchpad."""
