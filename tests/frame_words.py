"""The text that a page was sent. Pieces are joined, because a piece may end inside any phrase."""

from __future__ import annotations

import json
from collections.abc import Iterable


def heard(frames: Iterable[str]) -> str:
    """Return the content of frames: each frame as sent, then each streamed text in one."""
    sent = list(frames)
    texts: dict[str, str] = {}
    for frame in sent:
        form = json.loads(frame) if frame.startswith("{") else {}
        if "text" in form:
            texts[form["id"]] = texts.get(form["id"], "") + form["text"]
    return "\n".join([*sent, *texts.values()])
