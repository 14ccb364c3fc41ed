"""The text that a page was sent. Pieces are joined, because a piece may end inside any phrase."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from html import escape


def heard(frames: Iterable[str]) -> str:
    """Return the content of frames: each frame as sent, then each streamed text, and the HTML of each answer."""
    sent = list(frames)
    texts: dict[str, str] = defaultdict(str)
    finished: dict[str, str] = defaultdict(str)
    for frame in sent:
        form = json.loads(frame) if frame.startswith("{") else {}
        if "html" in form:
            done, texts[form["id"]] = redrawn(texts[form["id"]], form)
            finished[form["id"]] += done
        elif "text" in form:
            texts[form["id"]] += escape(form["text"], quote=False) if form["id"].endswith("-tail") else form["text"]
    return "\n".join([*sent, *(finished[name] + text for name, text in texts.items())])


def redrawn(html: str, form: dict[str, str]) -> tuple[str, str]:
    """Return the HTML that is finished, and that of the open block up to its tip, after a change of that block."""
    return cut(cut(html, int(form["same"]))[0] + form["html"], int(form["finished"]))


def cut(text: str, utf16_units: int) -> tuple[str, str]:
    """Divide a text where a browser counts so many characters."""
    units = text.encode("utf-16-le")
    return units[: 2 * utf16_units].decode("utf-16-le"), units[2 * utf16_units :].decode("utf-16-le")
