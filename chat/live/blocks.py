"""Finished blocks of a running answer to HTML: each once, in order; long ones off the event loop."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils.safestring import SafeString

from chat.eventlog.questions import user_text_so_far
from chat.html import RenderBudget, arender, is_quick, render_answer, render_markdown
from chat.user_text import EMPTY, UNKNOWN, UserText, may_contain_link
from reasoning.citations import Source, check_citations, citation_numbers

logger = logging.getLogger(__name__)
SHORT_CHARS = 300


class BlockRenderer:
    """The blocks of one answer. Holds what a block needs of those before it, and what people asked."""

    def __init__(self, conversation_id: uuid.UUID, owner_id: int) -> None:
        self._conversation_id, self._owner_id = conversation_id, owner_id
        self._budget = RenderBudget()
        self._asked: UserText | None = None  # read when the first link may come
        self._numbers: dict[int, int] = {}

    async def render(self, blocks: Sequence[str], sources: Sequence[Source]) -> SafeString:
        """Return the HTML of the next blocks; without their citations where those can't be made."""
        asked = await self._asked_before(blocks)
        try:
            if is_quick(blocks, SHORT_CHARS):
                html, self._numbers = render_blocks(blocks, sources, self._numbers, asked, self._budget)
            else:
                html, self._numbers = await arender(
                    self._owner_id, blocks, render_blocks, blocks, sources, self._numbers, asked, self._budget
                )
            return html
        except Exception:
            logger.exception("block shown without its citations", extra={"conversation": self._conversation_id.hex})
            return await arender(self._owner_id, blocks, render_markdown, "".join(blocks), user_text=asked)

    async def _asked_before(self, blocks: Sequence[str]) -> UserText:
        if self._asked is None and any(map(may_contain_link, blocks)):
            try:
                self._asked = await database_sync_to_async(user_text_so_far)(self._conversation_id)
            except DatabaseError:
                logger.warning("questions not read: links of this block stay text")
                return UNKNOWN
        return self._asked or EMPTY


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
