"""How long passages are, where a long paragraph is cut, and anchors that stay when a document is loaded again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from django.utils.text import slugify

# About 275 tokens, so that the results of a search fit into a small context.
TARGET_CHARS = 1100
LONGEST_CHARS = 1600
FEWEST_CHARS = 250  # below this a heading does not begin a new passage
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%”\"][.;?!])\s+(?=[A-Z“\"(•$])")


def pieces_of(text: str) -> Iterator[str]:
    """Yield a text, or pieces of one that is much too long, cut at sentence ends, or between words."""
    if len(text) <= LONGEST_CHARS:
        yield text
        return
    piece = ""
    for sentence in _SENTENCE_END.split(text):
        if piece and len(piece) + len(sentence) > TARGET_CHARS:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}" if piece else sentence
        while len(piece) > LONGEST_CHARS:
            space = piece.rfind(" ", TARGET_CHARS // 2, TARGET_CHARS)
            end = space if space > 0 else TARGET_CHARS
            yield piece[:end]
            piece = piece[end:].lstrip()
    if piece:
        yield piece


KnownPassage = tuple[str, str, str]  # section, anchor and text of a stored passage


def anchors(passages: Sequence[tuple[str, str]], known: Sequence[KnownPassage] = ()) -> list[str]:
    """Return a unique anchor for each ``(section, text)``: ``#item-1a-p12``, section and ordinal in the section.

    A document's own ids, as EDGAR's, are too sparse to cite. When it is loaded again, a passage that is unchanged or
    edited in place has the same anchor as before, and a new one gets an ordinal that was never used.
    """
    before = [(section, text) for section, _anchor, text in known]
    # A diff, not a comparison by text alone: the same sentence may occur twice in a section.
    given: dict[int, str] = {}
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, before, list(passages)).get_opcodes():
        is_same_place = [section for section, _ in before[a1:a2]] == [section for section, _ in passages[b1:b2]]
        if tag == "equal" or (tag == "replace" and is_same_place):
            given.update({b1 + step: known[a1 + step][1] for step in range(a2 - a1)})
    # An ordinal is never used again, so that an old link can't open a new passage.
    last: dict[str, int] = defaultdict(int)
    for section, anchor, _text in known:
        ordinal = re.search(r"-p(\d+)$", anchor)
        last[section_slug(section)] = max(last[section_slug(section)], int(ordinal[1]) if ordinal else 0)
    out = []
    for index, (section, _text) in enumerate(passages):
        slug = section_slug(section)
        if index not in given:
            last[slug] += 1
        out.append(given.get(index) or f"#{slug}-p{last[slug]}")
    return out


def section_slug(section: str) -> str:
    """Return a section's name as a part of an anchor."""
    return slugify(section.replace(".", "-"))[:60] or "document"
