"""Model text to safe HTML: the one place that says of a string that it may go into a page as it is.

Each top-level block is parsed, sanitized and dressed by itself and remembered, so that the final rendering of an answer
that was streamed, or shown before, costs little. Nothing here raises: what can't be rendered is shown escaped.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, override

from chat.html.asked import NOTHING, Asked, may_link
from chat.html.blocks import split_blocks
from chat.html.citations import cite
from chat.html.dress import Dresser
from chat.html.links import safe_hosts, safe_paths
from chat.html.markdown import TooDenseError, to_html
from chat.html.sanitize import ATTRIBUTES, TAGS, Engine, sanitize_html
from chat.html.tree import Node, parse, serialize
from reasoning.citations import Citation, Source

MAX_BLOCK_BYTES = 65_536

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

_MODEL_HTML = {tag: ATTRIBUTES.get(tag, frozenset()) for tag in TAGS}
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_COSTLY = re.compile(r"[$\\]")  # may begin a formula
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_executor = ThreadPoolExecutor(2, thread_name_prefix="render")  # not asgiref's one thread, which the ORM needs


def render_markdown(text: str, *, asked: Asked = NOTHING) -> SafeString:
    """Return a model's markdown as HTML that is safe in a page.

    ``asked`` is what people asked before: a link that repeats words of it stays text.
    """
    return _safe(_render(text, asked))


def render_answer(
    text: str,
    citations: Sequence[Citation],
    sources: Sequence[Source] = (),
    *,
    numbers: Mapping[int, int] | None = None,
    asked: Asked = NOTHING,
) -> SafeString:
    """Return an answer as HTML: markdown, a chip for each marker of a known source, and checked quotations marked.

    ``numbers`` are the numbers that refs are shown under, as ``citation_numbers`` gives them.
    """
    html = _render(text, asked)
    known = [(source.ref, source.url, source.section) for source in sources]
    try:
        return _safe(
            _remembered(partial(cite, html, citations, sources, numbers), "cited", html, citations, known, numbers)
        )
    except Exception as error:  # noqa: BLE001  # an answer without chips is better than none
        logger.warning("answer not cited: %s", type(error).__name__)
        return _safe(html)


def forget() -> None:
    """Drop what is remembered, so that a measurement starts cold."""
    _shelf.clear()


def is_quick(texts: Iterable[str], most_chars: int) -> bool:
    """Say whether rendering takes less than a way to another thread and back, which a busy server pays twice.

    ``most_chars``: how many there may be in all; a formula may take long whatever its length.
    """
    held = list(texts)
    return sum(map(len, held)) <= most_chars and not any(map(_COSTLY.search, held))


async def arender(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a rendering function off the event loop, in the caller's language."""
    work = partial(_speaking, get_language(), function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_executor, work)


def _speaking(language: str | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # Named, not carried by the context: asgiref (3.13) shows what is kept there to the thread that set it, no other.
    with override(language):
        return function(*args, **kwargs)


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308  # made by serialize() alone, which escapes all that it doesn't know


def _render(text: str, asked: Asked) -> str:
    text = _NOT_TEXT.sub("\ufffd", text)
    context = _context(text, asked)
    try:
        return _remembered(partial(_blocks, text, context), "answer", text, context)
    except Exception as error:  # noqa: BLE001  # never raises: see the module
        logger.warning("answer not split: %s", type(error).__name__)
        return _plain(text)


def _context(text: str, asked: Asked) -> Asked:
    """Return what matters for this text, so that what has no address is remembered whatever was asked."""
    return asked if may_link(text) else NOTHING


def _blocks(text: str, asked: Asked) -> str:
    with_contexts = [(block, _context(block, asked)) for block in split_blocks(text)]
    return "".join(
        _remembered(partial(_block, block, context), "block", block, context) for block, context in with_contexts
    )


def _remembered(make: Callable[[], str], *of: object) -> str:
    key = blake2b(repr((of, _policy(), get_language())).encode(), digest_size=20).digest()
    html = _shelf.get(key)
    if html is None:
        html = make()
        _shelf.put(key, html)
    return html


def _policy() -> tuple[object, ...]:
    """Return every setting that rendering depends on."""
    return _engine(), tuple(safe_hosts()), tuple(safe_paths())


def _engine() -> Engine:
    return "nh3" if getattr(settings, "HTML_SANITIZER", "bleach") == "nh3" else "bleach"


def _block(block: str, asked: Asked) -> str:
    if len(block) > MAX_BLOCK_BYTES or len(block.encode()) > MAX_BLOCK_BYTES:
        return _plain(block)
    try:
        html = sanitize_html(to_html(block), engine=_engine())
        return serialize(Dresser(asked).children(parse(html, _MODEL_HTML)))
    except TooDenseError:
        return _plain(block)
    except Exception as error:  # noqa: BLE001  # never raises: see the module
        logger.warning("block not rendered: %s", type(error).__name__)
        return _plain(block)


def _plain(text: str) -> str:
    """Return text as it is, escaped; of a code fence in a box of its own."""
    if _FENCE.match(text.lstrip("\n")):
        return serialize(
            [Node("pre", {"class": "plain", "dir": "ltr", "tabindex": "0"}, [Node("code", {}, [text])]), "\n"]
        )
    return serialize([Node("p", {"class": "plain", "dir": "auto"}, [text]), "\n"])


class _Shelf:
    """Rendered blocks, least recently used ones dropped, bounded by characters. Threads may share it."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._items: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()
            self._chars = 0

    def put(self, key: bytes, html: str) -> None:
        with self._lock:
            self._chars += len(html) - len(self._items.pop(key, ""))
            self._items[key] = html
            while self._chars > self._max_chars:
                self._chars -= len(self._items.popitem(last=False)[1])


_shelf = _Shelf(max_chars=8_000_000)
