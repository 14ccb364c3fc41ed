"""The text that a page was sent. Pieces are joined, because a piece may end inside any phrase."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any


def heard(frames: Iterable[str]) -> str:
    """Return the content of frames: each frame as sent, then each streamed text, and the HTML of each answer."""
    sent = list(frames)
    texts: dict[str, str] = defaultdict(str)
    finished: dict[str, str] = defaultdict(str)
    open_blocks: dict[bool, str] = {}  # and the one beside it
    for frame in sent:
        match json.loads(frame) if frame.startswith("{") else {}:
            case {"type": "block"} as form:
                is_beside = form.get("beside", False)
                open_block = open_blocks[is_beside] = form.get("id", open_blocks.get(is_beside, ""))
                done, texts[open_block] = redrawn(texts[open_block], form)
                finished[open_block] += done
            case {"type": "thinking", "id": name, "text": text}:
                texts[name] += text
            case {"type": "text", "text": text} as form:
                texts[open_blocks.get(form.get("beside", False), "")] += escape(text, quote=False)
    return "\n".join([*sent, *(finished[name] + text for name, text in texts.items())])


def redrawn(html: str, form: Mapping[str, Any]) -> tuple[str, str]:
    """Return the HTML that is finished, and that of the open block up to its tip, after a change of that block."""
    return cut(cut(html, form.get("same", 0))[0] + form["html"], form.get("finished", 0))


def cut(text: str, utf16_units: int) -> tuple[str, str]:
    """Divide a text where a browser counts so many characters."""
    units = text.encode("utf-16-le")
    return units[: 2 * utf16_units].decode("utf-16-le"), units[2 * utf16_units :].decode("utf-16-le")
