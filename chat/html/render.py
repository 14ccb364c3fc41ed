"""Model text to safe HTML: the only place that declares markup safe.

Each top-level block passes markdown-it, bleach and our additions by itself. Nothing here raises: what can't be
rendered is shown escaped. Time is bounded: what markup would cost is counted first, heavy blocks are rendered in a
process that is ended at a time limit, and only so much of an answer is rendered.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from html import escape
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, override

from chat.html import marks
from chat.html.citations import cite
from chat.html.cost import RenderBudget, any_heavy, is_heavy, is_too_dense
from chat.html.link_check import EMPTY, UserText, may_contain_link
from chat.html.links import safe_hosts
from chat.html.markdown import (
    References,
    TooDenseError,
    find_references,
    parse,
    references_of,
    split_blocks,
    to_html,
)
from chat.html.postprocess import decorate
from chat.html.sanitize import sanitize_html
from chat.html.unfinished import TIP
from chat.processes import PROCESSES, RenderTimeoutError, run_in_process
from reasoning.citations import Citation, Source

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SHORT_CHARS = 800
_FORMULA_MARK = re.compile(r"[$\\]")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
# Asgiref's single thread is for the ORM. Heavy texts wait for their process in threads of their own.
_executor = ThreadPoolExecutor(2, thread_name_prefix="render")
_heavy_executor = ThreadPoolExecutor(PROCESSES, thread_name_prefix="render-heavy")
# So that nobody can occupy all threads, a user's texts are rendered one after the other.
_user_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()


def render_markdown(text: str, *, user_text: UserText = EMPTY) -> SafeString:
    """Return a model's markdown as HTML that is safe in a page.

    ``user_text`` is what the users wrote before: a link that repeats words of it shows its address first.
    """
    html = render_blocks(text, user_text, RenderBudget())
    return mark_safe(marks.without_elements(html))  # noqa: S308  # sanitized


def render_answer(
    text: str,
    citations: Sequence[Citation],
    sources: Sequence[Source] = (),
    *,
    numbers: Mapping[int, int] | None = None,
    user_text: UserText = EMPTY,
    budget: RenderBudget | None = None,
) -> SafeString:
    """Return an answer as HTML: markdown, a link for each mark of a known source, and checked quotations marked.

    ``numbers`` are the numbers that refs are shown under, as ``citation_numbers`` gives them. ``budget`` is what is
    left of the answer's after the blocks before this text.
    """
    html = render_blocks(text, user_text, budget or RenderBudget())
    try:
        html = cite(html, citations, sources, numbers)
    except Exception as error:  # noqa: BLE001  # an answer without source links is better than none
        logger.warning("answer not cited: %s", type(error).__name__)
        html = marks.without_elements(html)
    return mark_safe(html)  # noqa: S308  # sanitized


def renumber_citations(text: str, numbers: Mapping[int, int]) -> str:
    """Return an answer's own text with its citation marks under the numbers that the page shows; all else is as it was.

    Marks are found as for the page, in the same bounded time. ``numbers`` are as for ``render_answer``.
    """
    # Most answers cite no source, or all in order, and needn't be parsed.
    changed = {ref for ref, number in numbers.items() if ref != number}
    if not marks.has_marks(text, changed):
        return text
    # Blocks may have other line ends, but the same brackets: the next one in a block is the next one in the text.
    brackets = (bracket.start() for bracket in re.finditer(r"\[", text))
    budget = RenderBudget()
    places: list[int] = []
    blocks = split_blocks(_NOT_TEXT.sub("\ufffd", text))
    references = find_references(blocks)
    for block in blocks:
        found: Collection[int] | None = None
        if not is_too_dense(block) and budget.admits(block):
            found = find_places(block, references_of(block, references)) if marks.has_marks(block, changed) else ()
            if found is None:
                budget.add_timeout()
        if found is None:
            found = plain_places(block)
        in_block = re.finditer(r"\[", block)  # the first to end, so that no bracket of the text is lost
        places += [at for bracket, at in zip(in_block, brackets, strict=False) if bracket.start() in found]
    return marks.replace(text, places, lambda mark: marks.renumber(mark, numbers))


def is_quick(texts: Iterable[str]) -> bool:
    """Say whether rendering is cheaper than switching to a thread: a short text without formulas."""
    texts = list(texts)
    return sum(map(len, texts)) <= SHORT_CHARS and not any(map(_FORMULA_MARK.search, texts))


async def arender(user_id: int, texts: Iterable[str], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that renders ``texts`` for a user, in the caller's language. A slow one leaves the event loop."""
    if is_quick(texts := list(texts)):
        return function(*args, **kwargs)
    # Asgiref (3.13) doesn't carry it to other threads.
    language = get_language()

    def work() -> T:
        with override(language):
            return function(*args, **kwargs)

    executor = _heavy_executor if any_heavy(texts) else _executor
    async with _user_locks.setdefault(user_id, asyncio.Lock()):
        return await asyncio.get_running_loop().run_in_executor(executor, work)


def render_blocks(text: str, user_text: UserText, budget: RenderBudget) -> str:
    """Render a text block by block, as far as the budget allows."""
    text = _NOT_TEXT.sub("\ufffd", text)
    try:
        blocks = split_blocks(text)
        references = find_references(blocks)
    except Exception as error:  # noqa: BLE001  # never raises: see the module
        logger.warning("answer not split: %s", type(error).__name__)
        return as_plain_text(text)
    policy, language = render_policy(), get_language()
    parts = []
    for block in blocks:
        html = None
        if not is_too_dense(block) and budget.admits(block):
            # A block without a link is the same whatever the users wrote, and is cached once.
            asked = user_text if may_contain_link(block) else EMPTY
            html = render_block(block, asked, policy, language, references_of(block, references))
            if html is None:
                budget.add_timeout()
        parts.append(as_plain_text(block) if html is None else html)
    return "".join(parts)


def render_unfinished(
    complete: str, growing: str, user_text: UserText, budget: RenderBudget, *, as_text: bool = False
) -> str:
    """Render the end of an answer that is still written, with its ``TIP``: a complete block and one that grows.

    ``as_text``: the one that grows without its markup.
    """
    html = render_blocks(complete, user_text, budget) if complete else ""
    text = _NOT_TEXT.sub("\ufffd", growing) + TIP
    if as_text or is_too_dense(text) or not budget.admits(text):
        return html + as_plain_text(text)
    args = (text, user_text if may_contain_link(text) else EMPTY, get_language())
    try:
        return html + (run_in_process(render_markup, *args) if is_heavy(text) else render_markup(*args))
    except RenderTimeoutError:
        return html + as_plain_text(text)


def render_policy() -> tuple[object, ...]:
    """Return every setting that rendering depends on."""
    return (tuple(safe_hosts()),)


# An answer is rendered block by block while it streams, then whole.
@lru_cache(maxsize=512)
def render_block(
    block: str, user_text: UserText, _policy: tuple[object, ...], language: str | None, references: References = ()
) -> str | None:
    """Render one top-level block; None where it took too long. Policy and language are what else it depends on."""
    if not is_heavy(block):
        return render_markup(block, user_text, language, references)
    try:
        return run_in_process(render_markup, block, user_text, language, references)
    except RenderTimeoutError:
        logger.warning("block not rendered in time", extra={"chars": len(block)})
        return None


def render_markup(block: str, user_text: UserText, language: str | None, references: References = ()) -> str:
    """Render one block here, however long it takes."""
    try:
        with override(language):
            return decorate(sanitize_html(to_html(block, references)), user_text)
    except TooDenseError:
        return as_plain_text(block)
    except Exception as error:  # noqa: BLE001  # never raises: see the module
        logger.warning("block not rendered: %s", type(error).__name__)
        return as_plain_text(block)


def find_places(block: str, references: References) -> frozenset[int] | None:
    """Return where in one top-level block its citation marks begin; None where it took too long."""
    try:
        return run_in_process(parse_places, block, references) if is_heavy(block) else parse_places(block, references)
    except RenderTimeoutError:
        return None


def parse_places(block: str, references: References) -> frozenset[int]:
    """Find the marks of one block here, however long it takes."""
    try:
        return frozenset(marks.places_in(parse(block, references), block))
    except Exception:  # noqa: BLE001  # render_markup logs it when the same block is rendered
        return plain_places(block)


def plain_places(text: str) -> frozenset[int]:
    """Return where the marks of a text begin that is shown without being parsed."""
    return frozenset() if _FENCE.match(text.lstrip("\n")) else frozenset(marks.places_outside_code(text))


def as_plain_text(text: str) -> str:
    """Return text escaped, with its citation marks; a code fence in a box of its own."""
    escaped = escape(text, quote=False)
    if _FENCE.match(text.lstrip("\n")):
        return f'<pre class="plain" dir="ltr" tabindex="0"><code>{escaped}</code></pre>\n'
    return f'<p class="plain" dir="auto">{marks.replace(escaped, sorted(plain_places(escaped)), marks.to_html)}</p>\n'
