"""The opaque elements of ``reasoning_details``, as they are stored. Product 36."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reasoning.deltas import Channel
from reasoning.scratchpad import Scratchpad
from reasoning.services.signatures import SEALS
from reasoning.stream.normalizer import Normalizer

_TEXT_KEYS = ("text", "summary")


def clean_details(details: Sequence[Any], scratchpad: Scratchpad) -> list[Any]:
    """Return the elements with nothing of a scratchpad in their text, unless they are signed or encrypted.

    ``scratchpad``: all notes of the turn, which a text may repeat (product 22).

    A streamed element comes in pieces of one type and index, or id. Cleaned, the first piece has all of its text.
    """
    pieces: dict[object, list[int]] = {}
    for at, element in enumerate(details):
        if isinstance(element, dict):
            place = element.get("index") if element.get("index") is not None else element.get("id")
            pieces.setdefault((str(element.get("type")), str(place)), []).append(at)
    cleaned = list(details)
    for of_element in pieces.values():
        if any(details[at].get(seal) for at in of_element for seal in SEALS):
            continue
        for key in _TEXT_KEYS:
            having = [at for at in of_element if isinstance(details[at].get(key), str)]
            whole = "".join(details[at][key] for at in having)
            text, _count = scratchpad.remove_repeats(_without_scratchpads(whole))
            if text != whole:
                for number, at in enumerate(having):
                    cleaned[at] = {**cleaned[at], key: "" if number else text}
    return cleaned


def _without_scratchpads(text: str) -> str:
    normalizer = Normalizer(live=True)
    deltas = (*normalizer.feed({"reasoning": text}), *normalizer.finish())
    has_scratchpad = any(delta.channel is Channel.SCRATCHPAD for delta in deltas)
    return (normalizer.thinking or "") if has_scratchpad else text
