"""The words that a page was sent, put together: a piece ends where its window did, so any phrase may be split."""

from __future__ import annotations

import json
from collections.abc import Iterable


def heard(frames: Iterable[str]) -> str:
    """Return all that these frames hold: each as it was sent, then each text that they let grow, in one."""
    sent = list(frames)
    texts: dict[str, str] = {}
    for frame in sent:
        form = json.loads(frame) if frame.startswith("{") else {}
        if "text" in form:
            texts[form["id"]] = texts.get(form["id"], "") + form["text"]
    return "\n".join([*sent, *texts.values()])
