"""The text of a running answer to frames, as short as they can be, for one open page.

A piece travels alone, as a JSON text, where it follows what the page got last; else with its element and its number.
A finished block goes before the open one. Its words are there already, as open text: what travels is its markup, and
which words to take. Nothing that the page has is sent to it again before the answer ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from chat.cardviews import dom_id
from chat.notices import BlockDone

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # json.dumps makes one for each call
_RUN = re.compile(r"<[^>]*>|&\w+;|\s+|\u00a0|[^<&\s\u00a0][^<&\u00a0]*")
_FEWEST = 10  # characters; to say where fewer are costs as much
_NEARBY = 1_000  # characters: markdown between two runs of words is shorter, and a search for what is not there ends
_SHARED = 64  # pages that look at the same block


def json_frame(**form: Any) -> str:
    """Return a JSON frame that no HTML parser can take for markup."""
    return _text(form)


class TextFrames:
    """The frames of texts that grow. Holds which piece the page got last."""

    def __init__(self) -> None:
        self._place = ("", 0)

    def piece(self, element: str, n: int, text: str) -> str:
        """Return the frame of one piece of a text; piece 0 is all of it so far."""
        follows = self._place == (element, n - 1)
        self._place = (element, n)
        return _text(text) if follows else json_frame(id=element, n=n, text=text)

    def block(self, notice: BlockDone) -> str:
        """Return the frame of a finished block, which ends with what the text of the open one is then.

        The newest words come last, so that who follows an answer by its frames finds them in the order of their coming.
        """
        self._place = (dom_id(notice.turn.public_id, "tail"), 0)
        kept, more = _kept(notice)
        return f"[{_units(notice.before)},{_drawn(notice.before, notice.html)},{_units(kept)},{_text(more)}]"


def last_blocks(open_text: str, html: str) -> str:
    """Return the frame that puts the last blocks of an answer in the place of its open one."""
    return f"[{_units(open_text)},{_drawn(open_text, html)},0,0]"


def _text(value: Any) -> str:
    return _encode(value).translate(_ESCAPES)


def _units(text: str) -> int:
    """Return a text's length as a browser counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _kept(notice: BlockDone) -> tuple[str, str]:
    """Return what the open text keeps of its end, and what comes to it."""
    kept = notice.tail.removesuffix(notice.text)
    if kept + notice.text != notice.tail or not notice.before.endswith(kept):
        return "", notice.tail
    return kept, notice.text


@lru_cache(maxsize=_SHARED)
def _drawn(open_text: str, html: str) -> str:
    """Return what a page makes this HTML of, as the rest of a JSON list.

    Texts are markup; numbers say how many characters of the open text to take, or below 0, to leave out. Our own markup
    alone is in it, without ids: a page that took it for a frame of elements could swap nothing.
    """
    runs = _RUN.findall(html)
    if "".join(runs) != html or max(open_text, default="") > "\uffff":  # a browser counts those as two
        return _encode(html)
    return ",".join(_steps(open_text, runs)) or _encode("")


def _steps(open_text: str, runs: list[str]) -> Iterator[str]:
    at = taken = 0  # where words are looked for; up to where they are taken or left out
    markup = ""
    for run in runs:
        is_words = run[0] not in "<&" and len(run) > 2  # the next place of less may be far beyond its own
        found = open_text.find(run, at, at + len(run) + _NEARBY) if is_words else -1
        at = found + len(run) if found >= 0 else at
        if found < 0 or len(run) < _FEWEST:
            markup += run
            continue
        if markup:
            yield _encode(markup)
        if found > taken:
            yield str(taken - found)
        yield str(len(run))
        markup, taken = "", at
    if markup:
        yield _encode(markup)
