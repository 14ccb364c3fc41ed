"""Words for scripts of the Responses API: ``{"items": [reasons("Look."), calls("look"), waits("gap")]}``.

Where the order is the usual one, the plain keys of a reply say the same in both APIs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def reasons(*summary: str, **more: Any) -> dict[str, Any]:
    """Return a reasoning item; each text is a part of its summary, none at all leaves the seal alone."""
    return {"type": "reasoning", "summary": list(summary), **more}


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "text": text, **more}


def calls(name: str, arguments: str | Mapping[str, Any] = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, **more}


def waits(name: str) -> dict[str, Any]:
    """Hold the stream here until the test releases ``name``."""
    return {"type": "hold", "name": name}
