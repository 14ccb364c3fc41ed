"""Whether passages speak of the company that a question names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.providers.analyst.passages import Passage
from chat.providers.analyst.question import Question
from chat.providers.analyst.words import stem, stems_of, words_of


def unknown_name(question: Question, passages: Sequence[Passage], *, is_searched: bool) -> str | None:
    """Return whom the question is about where these passages are about others; None if that is in order.

    A name that no company at hand bears may still be a place or a thing of one: then the text says *at* it or *in* it,
    or writes its first word small. Anything else would be answered from another company's text. ``is_searched``: the
    filings of the one company that was asked for were searched, so that finding nothing says nothing of its name.
    """
    if not question.names or (not passages and is_searched):
        return None
    asked = stems_of(" ".join((question.text, *question.names)))
    if any(distinctive(passage.company) & asked for passage in passages):
        return None
    text = "\n".join(passage.text for passage in passages)
    return next((name for name in question.names if not _is_thing(name, text)), None)


def distinctive(company: str) -> frozenset[str]:
    """Return the first word of a company's name that is more than an article."""
    words = [word for word in words_of(company) if word not in ("the", "a")]
    return frozenset(map(stem, words[:1]))


def _is_thing(name: str, text: str) -> bool:
    if re.search(rf"\b{re.escape(name)},? (?:Inc|Corp|Company|LLC|Ltd|plc|Group|Holdings)", text, re.I):
        return False
    first = re.escape(name.split()[0])
    if name[:1].isupper() and re.search(rf"\b{first.lower()}\b", text):
        return True
    if re.search(rf"(?:^|\| ){re.escape(name)} \|", text, re.M):  # it heads a row of a table
        return True
    place = rf"\b(?:at|in|near|off)\s+(?:the |our )?{re.escape(name)}\b(?!['’]|\s+[A-Z])"
    return re.search(place, text, re.I if name.islower() else 0) is not None
