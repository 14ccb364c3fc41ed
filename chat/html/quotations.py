"""Finds an answer's quotations in its rendered HTML and marks what the check of each one found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape

from django.utils.translation import gettext

from chat.html.tree import Node, Piece, joined, text_of
from reasoning.citations import Citation, Source

DOUBTS = "data-doubts"  # refs that failed, from here to the chips; never written
MARKER = re.compile(r"\[([0-9]{1,4}(?: ?[,;] ?[0-9]{1,4})*+)\]")

_SAME = {'"': "“”„‟«»″", "'": "‘’‚‛′", "-": "‐‑‒–—―−", "": "*_`~\\"}
_FOLD = str.maketrans({variant: plain for plain, variants in _SAME.items() for variant in variants})
_CLOSERS = {'"': '"', "“": "”", "„": "”", "«": "»"}
_MOST_SOURCE_LINES = 3  # below a blockquote's words, still inside it
_QUOTE = re.compile('["“”„«»]')


@dataclass(slots=True)
class Verdicts:
    """What is known of each quotation, by its words; remembers which it was asked for."""

    by_words: dict[str, list[Citation]]
    found: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, citations: Sequence[Citation]) -> Verdicts:
        """Collect the quotations among ``citations`` that were checked."""
        by_words: dict[str, list[Citation]] = {}
        for citation in citations:
            if citation.quote and citation.verified is not None:
                by_words.setdefault(_folded(citation.quote), []).append(citation)
        return cls(by_words)

    def take(self, words: str) -> list[Citation]:
        """Return the checked citations of these words."""
        key = _folded(words)
        self.found |= {key} & self.by_words.keys()
        return self.by_words.get(key, [])

    def lost_doubts(self) -> set[int]:
        """Return the refs of failed quotations that nothing asked for."""
        lost = self.by_words.keys() - self.found
        return {citation.ref for key in lost for citation in self.by_words[key] if not citation.verified}


def cite_label(citation: Citation | Source) -> str:
    """Return "10-K · 2026-02-26 · Item 7 ¶31"; where the filing date is unknown, the period, named as one."""
    date = citation.date or (gettext("period %(date)s") % {"date": citation.period} if citation.period else "")
    place = f"{citation.section}{_passage(citation.anchor)}"
    return " · ".join(part for part in (citation.filing, date, place) if part)


def _passage(anchor: str) -> str:
    number = anchor.rpartition("-p")[2]
    return f" ¶{number}" if number.isdigit() and "-p" in anchor else ""


def foot_blockquote(block: Node, verdicts: Verdicts) -> bool:
    """Give a quotation that was checked its source and its verdict; return whether it was one."""
    lines = [line for line in text_of(block).split("\n") if line.strip()]
    for count in range(len(lines), max(0, len(lines) - _MOST_SOURCE_LINES - 1), -1):
        words = " ".join(lines[:count])
        if citations := verdicts.take(words):
            good = next((citation for citation in citations if citation.verified), None)
            block.attrs |= _verdict(citations)
            block.children.append(_footer(good or citations[0], is_found=good is not None))
            return True
    return False


def quoted(children: Sequence[Piece], verdicts: Verdicts) -> list[Piece]:
    """Return the pieces with each checked quotation as ``q``, which draws its own quotation marks.

    Marks inside other marks belong to the words quoted. A quotation whose marks stand in different elements is left as
    it is.
    """
    out: list[Piece] = []
    done = (0, 0)
    opened: tuple[int, int, str] | None = None
    for at, offset, mark in _marks(children):
        if opened is None:
            opened = (at, offset, mark) if mark in _CLOSERS and not _is_inch(children[at], offset) else None
        elif _CLOSERS[opened[2]] == mark:
            words = _between(children, (opened[0], opened[1] + 1), (at, offset))
            if citations := verdicts.take("".join(map(_said, words))):
                out += [*_between(children, done, opened[:2]), Node("q", _verdict(citations), words)]
                done = (at, offset + 1)
            opened = None
    return joined([*out, *_between(children, done, (len(children), 0))])


def _marks(children: Sequence[Piece]) -> Iterator[tuple[int, int, str]]:
    for at, child in enumerate(children):
        if isinstance(child, str):
            yield from ((at, match.start(), match[0]) for match in _QUOTE.finditer(child))


def _said(piece: Piece) -> str:
    """Return words as the check reads them: code is nobody's words."""
    return "" if isinstance(piece, Node) and piece.tag == "code" else text_of(piece)


def _is_inch(piece: Piece, at: int) -> bool:
    """Whether the mark at this place follows a figure, as in 12" pipe, so that it opens nothing."""
    return isinstance(piece, str) and piece[at] == '"' and at > 0 and piece[at - 1].isdigit()


def _between(children: Sequence[Piece], start: tuple[int, int], end: tuple[int, int]) -> list[Piece]:
    """Return what stands between two places, each a child and an offset in its text."""
    pieces = list(children[start[0] : end[0] + 1])
    if end[0] < len(children):
        last = pieces.pop()
        pieces += [last[: end[1]]] if isinstance(last, str) else []
    if pieces and isinstance(first := pieces[0], str):
        pieces[0] = first[start[1] :]
    return pieces


def _verdict(citations: Sequence[Citation]) -> dict[str, str]:
    doubts = " ".join(str(citation.ref) for citation in citations if not citation.verified)
    verified = "true" if any(citation.verified for citation in citations) else "false"
    return {"data-verified": verified} | ({DOUBTS: doubts} if doubts else {})


def _footer(citation: Citation, *, is_found: bool) -> Node:
    words = gettext("found word for word") if is_found else gettext("not found in the passage")
    verdict = Node("span", {"class": "found" if is_found else "unfound"}, [words])
    return Node("footer", {}, [Node("span", {}, [cite_label(citation)]), verdict])


def _folded(words: str) -> str:
    """Return words so that the answer's source and its rendering compare equal."""
    plain = MARKER.sub(" ", unescape(words)).translate(_FOLD)
    return " ".join(plain.split()).strip("\"' ").rstrip(" .,;:").strip("\"' ")
