"""The words that a page was sent, put together: a piece ends where its window did, so any phrase may be split."""

from __future__ import annotations

import json
from collections.abc import Iterable


def heard(frames: Iterable[str]) -> str:
    """Return all that these frames hold: each as it was sent, then the texts that they let grow, each in one."""
    sent = list(frames)
    return "\n".join([*sent, *_grown(sent)])


def _grown(frames: Iterable[str]) -> list[str]:
    texts = {"answer": "", "thinking": ""}
    growing = "answer"
    for frame in frames:
        form = json.loads(frame) if frame[:1] in '"{[' else None  # others are markup
        match form:
            case str():
                texts[growing] += form
            case {"id": str(element), "text": str(text)}:
                growing = "thinking" if "thinking" in element else "answer"
                texts[growing] += text
            case [*_, str(text)]:
                growing = "answer"
                texts[growing] += text
    return list(texts.values())
