"""The anchors by which citations find passages: ``#item-1a-p12``, section and ordinal in the section.

EDGAR's own ids are too sparse to cite, so anchors are ours. When a filing is ingested again, text that stays keeps its
anchor, text that was edited in place keeps it too, and what is new gets an ordinal that was never used.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

from django.utils.text import slugify

Known = tuple[str, str, str]  # section, anchor, text of a passage that is stored already


def anchors(passages: Sequence[tuple[str, str]], known: Sequence[Known] = ()) -> list[str]:
    """Return one anchor for each ``(section, text)``, unique among them."""
    kept = _kept(passages, known)
    last: dict[str, int] = defaultdict(int)
    for section, anchor, _text in known:
        last[_slug(section)] = max(last[_slug(section)], _ordinal(anchor))
    given = []
    for index, (section, _text) in enumerate(passages):
        slug = _slug(section)
        if index not in kept:
            last[slug] += 1
        given.append(kept.get(index) or f"#{slug}-p{last[slug]}")
    return given


def _kept(passages: Sequence[tuple[str, str]], known: Sequence[Known]) -> dict[int, str]:
    before = [(section, text) for section, _anchor, text in known]
    kept: dict[int, str] = {}
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, before, list(passages)).get_opcodes():
        if tag == "equal":
            kept.update({b1 + step: known[a1 + step][1] for step in range(a2 - a1)})
        elif tag == "replace":
            kept.update(_paired(before[a1:a2], passages[b1:b2], [one[1] for one in known[a1:a2]], b1))
    return kept


def _paired(
    before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]], names: Sequence[str], offset: int
) -> dict[int, str]:
    """Pair what stood between the same neighbours, in order, where section and number of passages agree."""
    if [section for section, _text in before] != [section for section, _text in after]:
        return {}
    return {offset + step: name for step, name in enumerate(names)}


def _slug(section: str) -> str:
    return slugify(section.replace(".", "-"))[:60] or "document"


def _ordinal(anchor: str) -> int:
    found = re.search(r"-p(\d+)$", anchor)
    return int(found[1]) if found else 0
