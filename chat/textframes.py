"""The text of a running answer to frames, as short as they can be, for one open page.

A piece travels alone, as a JSON text, where it follows what the page got last; else with its element and its number.
A finished block goes before the open one; how much of its text the page keeps, and what comes to it, is sent ahead of
that. Nothing that the page has is sent to it again before the answer ends.
"""

from __future__ import annotations

import json
from typing import Any

from django.utils.html import format_html

from chat.cardviews import dom_id
from chat.notices import BlockDone

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # json.dumps makes one for each call


def json_frame(**form: Any) -> str:
    """Return a JSON frame that no HTML parser can take for markup."""
    return _encode(form).translate(_ESCAPES)


class TextFrames:
    """The frames of texts that grow. Holds which piece the page got last."""

    def __init__(self) -> None:
        self._place = ("", 0)

    def piece(self, element: str, n: int, text: str) -> str:
        """Return the frame of one piece of a text; piece 0 is all of it so far."""
        follows = self._place == (element, n - 1)
        self._place = (element, n)
        return _encode(text).translate(_ESCAPES) if follows else json_frame(id=element, n=n, text=text)

    def block(self, notice: BlockDone) -> list[str]:
        """Return the frames of a finished block: what the text of the open one is now, then the block itself."""
        tail = dom_id(notice.turn.public_id, "tail")
        self._place = (tail, 0)
        block = format_html('<div hx-swap-oob="beforebegin:#{}">{}</div>', tail, notice.html)
        return [_encode(_kept(notice)).translate(_ESCAPES), block]


def _kept(notice: BlockDone) -> tuple[int, str]:
    """Return how many of its last characters the open text keeps, as a browser counts them, and what comes to it."""
    if not notice.tail.endswith(notice.text):
        return 0, notice.tail
    kept = notice.tail.removesuffix(notice.text)
    return len(kept.encode("utf-16-le")) // 2, notice.text
