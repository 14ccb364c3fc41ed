"""Blocks of a running answer to HTML: each once when it is finished; the open one again and again while it grows.

Long ones are rendered off the event loop.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils.safestring import SafeString

from chat.eventlog.user_texts import user_text_so_far
from chat.html import (
    OpenBlock,
    RenderBudget,
    any_heavy,
    arender,
    cite,
    render_answer,
    render_markdown,
    render_unfinished,
)
from chat.html.link_check import EMPTY, UNKNOWN, UserText, may_contain_link
from reasoning.citations import Source, check_citations, citation_numbers

logger = logging.getLogger(__name__)
# Of a processor, for all open blocks of a process: while text waits for it, and while its markup is shown as text.
HELD_SHARE, MARKUP_SHARE = 0.06, 0.015
UNUSED_S = 1.0  # so long a share that was not used can be used later


class BlockRenderer:
    """The blocks of one answer. Holds what a block needs of those before it, and what people asked."""

    def __init__(self, conversation_id: uuid.UUID, owner_id: int, asked: UserText | None = None) -> None:
        self._conversation_id, self._owner_id = conversation_id, owner_id
        self._budget = RenderBudget()
        self._asked = asked  # read when the first link may come
        self._numbers: dict[int, int] = {}

    async def render(self, blocks: Sequence[str], sources: Sequence[Source]) -> SafeString:
        """Return the HTML of the next blocks; without their citations where those can't be made."""
        asked = await self._read_user_text(blocks)
        try:
            html, self._numbers = await arender(
                self._owner_id, blocks, render_blocks, blocks, sources, self._numbers, asked, self._budget
            )
            return html
        except Exception:
            logger.exception("block shown without its citations", extra={"conversation": self._conversation_id.hex})
            return await arender(self._owner_id, blocks, render_markdown, "".join(blocks), user_text=asked)

    async def render_open(
        self, parts: tuple[str, str], sources: Sequence[Source], *, as_text: bool = False
    ) -> OpenBlock:
        """Return the end of the answer as it is shown: a complete block, or nothing, and the one that grows.

        ``as_text``: draw no markup of the one that grows.
        """
        if not any(parts):
            return OpenBlock()
        asked = await self._read_user_text(parts)
        return await arender(
            self._owner_id, parts, render_open, parts, sources, self._numbers, asked, self._budget, as_text
        )

    async def _read_user_text(self, blocks: Sequence[str]) -> UserText:
        if self._asked is None and any(map(may_contain_link, blocks)):
            try:
                self._asked = await database_sync_to_async(user_text_so_far)(self._conversation_id)
            except DatabaseError:
                logger.warning("questions not read: all links of this block show their address first")
                return UNKNOWN
        return self._asked or EMPTY


def render_open(
    parts: tuple[str, str],
    sources: Sequence[Source],
    numbers: Mapping[int, int],
    asked: UserText,
    budget: RenderBudget,
    as_text: bool,
) -> OpenBlock:
    """Render what is not finished yet, with links to its sources. Its quotations get their verdicts at the end."""
    started = perf_counter()
    html = render_unfinished(*parts, asked, replace(budget), as_text=as_text)
    try:
        for part in parts if sources else ():
            numbers = citation_numbers(check_citations(part, sources), numbers)
        html = cite(html, (), sources, numbers)
    except Exception:
        logger.exception("open block shown without its citations")
        html = cite(html, ())
    return OpenBlock.parse(html, cost_s=perf_counter() - started)


def may_redraw(parts: tuple[str, str]) -> bool:
    """Say whether an open block is short enough to be drawn again; more text of a longer one is shown as text."""
    return not any_heavy(parts)


class RedrawPace:
    """When open blocks may be drawn again: all of a process in a share of a processor's time."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._free_at = 0.0

    def is_free(self) -> bool:
        """Whether a block may be drawn now."""
        return self._free_at <= time.monotonic()

    def spend(self, cost_s: float) -> float:
        """Count the cost of a block that was drawn; return when it may be drawn again."""
        now = time.monotonic()
        self._free_at = max(self._free_at, now - UNUSED_S) + cost_s / self._share
        return max(self._free_at, now)


held_pace, markup_pace = RedrawPace(HELD_SHARE), RedrawPace(MARKUP_SHARE)


def render_blocks(
    blocks: Sequence[str],
    sources: Sequence[Source],
    numbers: Mapping[int, int],
    asked: UserText,
    budget: RenderBudget,
) -> tuple[SafeString, dict[int, int]]:
    """Render finished blocks with their citations, numbered on from ``numbers``; return those too."""
    joined, numbered = SafeString(""), dict(numbers)
    for block in blocks:
        citations = check_citations(block, sources)
        numbered = citation_numbers(citations, numbered)
        joined += render_answer(block, citations, sources, numbers=numbered, user_text=asked, budget=budget)
    return joined, numbered
