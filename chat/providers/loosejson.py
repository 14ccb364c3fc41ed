"""JSON that the strict reader does not take, for both decoders.

A code point in two halves, an escaped surrogate in each of two deltas; NaN and Infinity in log probabilities; broken
bytes. Text keeps its halves, since the normaliser joins them; what is kept whole must not, or nothing could write it
down.
"""

from __future__ import annotations

import json
from typing import Any

from chat.providers.errors import malformed
from reasoning import surrogates


def loose_json(data: bytes) -> Any:
    """Return the value in ``data``. Raises ProviderError ``malformed`` for what is no JSON at all."""
    try:
        # Broken bytes become replacement characters, as the event-stream format demands.
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise malformed("something that is not JSON in the middle of its answer") from error


def without_halves(value: Any) -> Any:
    """Return a JSON value whose strings can be encoded: halves that stand together joined, lone ones replaced.

    Raises ProviderError ``malformed`` for nesting that could be read, just, and cannot be written again.
    """
    try:
        return json.loads(surrogates.without_halves(json.dumps(value, ensure_ascii=False)))
    except RecursionError as error:
        raise malformed("JSON of endless nesting in the middle of its answer") from error
