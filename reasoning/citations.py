"""What a citation is, and whether a quotation stands in the passage that it cites.

A citation points at a stored passage of a filing, never at an address that a model wrote. The check is verbatim after
folding white space, quotation marks, dashes and emphasis, never case; see ``check_citations``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reasoning.quotations import Block, Marker, Quotation, quoting_blocks


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that a tool returned in this turn, under the number by which the model may cite it: ``[ref]``."""

    ref: int
    filing: str  # form type, "10-K"
    company: str
    date: str | None  # filing date, ISO; None where the document did not say. Never invented.
    period: str | None  # period or event date, ISO; shown, labelled, where the filing date is unknown
    section: str
    anchor: str  # "#item-1a-p12"
    url: str  # reader page with the fragment
    text: str  # the passage, whole
    snippet: str  # short extract for the trace


@dataclass(frozen=True, slots=True)
class Citation:
    """One pointer as an answer, an envelope or a trace shows it. Spec 004 envelope."""

    ref: int
    filing: str
    company: str
    date: str | None
    period: str | None
    section: str
    anchor: str
    url: str
    snippet: str
    quote: str | None = None
    verified: bool | None = None  # None: there is no quotation


_UNMARKED_FEWEST_WORDS = 5
_MARKER = re.compile(r"\[([0-9]{1,4}(?: ?[,;] ?[0-9]{1,4})*+)\]")
_ELISION = re.compile(r"\[\s*(?:…|\.{3}|\. \. \.)\s*\]|…|\.{3,4}|\. \. \.")
_EMPHASIS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|\\(?=[^\w\s])|`|~~")
_SAME = {'"': "“”„‟«»″", "'": "‘’‚‛′ʼ", "-": "‐‑‒–—―−", " ": "|\u00a0", "": "\u00ad\u200b\u200c\u200d\u2060\ufeff"}
_FOLD = str.maketrans({variant: plain for plain, variants in _SAME.items() for variant in variants})

Mention = tuple[int, str | None, bool | None]  # ref, quotation, whether it was found


def check_citations(answer: str, sources: Sequence[Source]) -> tuple[Citation, ...]:
    """Return the sources that an answer cites, by first appearance, each with its quotations and whether they stand.

    Markers are ``[3]``, ``[1][2]`` and ``[1, 2]``; a number that names no source is ignored. A quotation belongs to the
    first marker after it in its block, else to the last before it; of several that stand together, to the one whose
    passage holds it. Without any marker it is credited to the one source that holds it, if it has five words. A
    source cited with several quotations gives one citation for each; without any, ``verified`` is None. Never raises.
    """
    by_ref = {source.ref: source for source in sources}
    mentions: dict[int, dict[str, bool]] = {}
    for ref, quote, is_found in _mentions(answer, by_ref):
        quotes = mentions.setdefault(ref, {})
        if quote is not None and is_found is not None:
            quotes.setdefault(quote, is_found)
    return tuple(citation for ref, quotes in mentions.items() for citation in _citations(by_ref[ref], quotes))


def citation_numbers(citations: Iterable[Citation], start: Mapping[int, int] | None = None) -> dict[int, int]:
    """Return the number under which each ref is shown: 1, 2, 3 by first appearance, after those of ``start``.

    The model cites by the number that a tool gave a source; a reader wants them in order.
    """
    numbers = dict(start or {})
    for citation in citations:
        numbers.setdefault(citation.ref, len(numbers) + 1)
    return numbers


def renumbered(answer: str, numbers: Mapping[int, int]) -> str:
    """Return the answer's text with its markers as they are shown, for what leaves the page as text."""
    return _MARKER.sub(lambda match: "".join(f"[{numbers.get(int(ref), int(ref))}]" for ref in _refs(match)), answer)


def _refs(match: re.Match[str]) -> list[str]:
    return re.split(r"\s*[,;]\s*", match[1])


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """Return the form that envelope, trace and log show. ``quote`` is left out where there is none."""
    form: dict[str, Any] = {
        "ref": citation.ref,
        "filing": citation.filing,
        "date": citation.date,
        "period": citation.period,
        "section": citation.section,
        "anchor": citation.anchor,
        "company": citation.company,
        "url": citation.url,
        "snippet": citation.snippet,
        "verified": citation.verified,
    }
    return form if citation.quote is None else {**form, "quote": citation.quote}


def citation_from_json(form: Mapping[str, Any]) -> Citation:
    """Read what ``citation_to_json`` wrote; what an older row lacks is empty."""
    return Citation(
        ref=int(form.get("ref") or 0),
        filing=form.get("filing") or "",
        company=form.get("company") or "",
        date=form.get("date"),
        period=form.get("period"),
        section=form.get("section") or "",
        anchor=form.get("anchor") or "",
        url=form.get("url") or "",
        snippet=form.get("snippet") or "",
        quote=form.get("quote"),
        verified=form.get("verified"),
    )


def stands_in(quotation: str, passage: str) -> bool:
    """Say whether a quotation stands in a passage word for word. Elided parts must follow one another."""
    folded = _folded(passage)
    return _stands(_folded(quotation), folded) or _stands(_folded(_EMPHASIS.sub("", quotation)), folded)


def _mentions(answer: str, by_ref: Mapping[int, Source]) -> Iterator[Mention]:
    for block in quoting_blocks(answer):
        known = [Marker(marker.start, refs) for marker in block.markers if (refs := _known(marker, by_ref))]
        found = _credited(block, known, by_ref) if known else _uncredited(block, by_ref)
        yield from (mention for _at, mention in sorted(found, key=lambda one: one[0]))


def _known(marker: Marker, by_ref: Mapping[int, Source]) -> tuple[int, ...]:
    return tuple(ref for ref in marker.refs if ref in by_ref)


def _credited(block: Block, markers: Sequence[Marker], by_ref: Mapping[int, Source]) -> Iterator[tuple[int, Mention]]:
    for marker in markers:
        yield from ((marker.start, (ref, None, None)) for ref in marker.refs)
    place = 0
    for quotation in block.quotations:
        while place < len(markers) and markers[place].start < quotation.start:
            place += 1
        marker = markers[min(place, len(markers) - 1)]
        holding = (ref for ref in marker.refs if stands_in(quotation.text, by_ref[ref].text))
        ref = next(holding, None)
        yield marker.start, (marker.refs[0] if ref is None else ref, quotation.text, ref is not None)


def _uncredited(block: Block, by_ref: Mapping[int, Source]) -> Iterator[tuple[int, Mention]]:
    for quotation in block.quotations:
        if (ref := _only_source(quotation, by_ref)) is not None:
            yield quotation.start, (ref, quotation.text, True)


def _only_source(quotation: Quotation, by_ref: Mapping[int, Source]) -> int | None:
    if len(quotation.text.split()) < _UNMARKED_FEWEST_WORDS:
        return None
    holding = [ref for ref, source in by_ref.items() if stands_in(quotation.text, source.text)]
    return holding[0] if len(holding) == 1 else None


def _citations(source: Source, quotes: Mapping[str, bool]) -> Iterator[Citation]:
    for quote, is_found in quotes.items() or [(None, None)]:
        yield Citation(
            ref=source.ref,
            filing=source.filing,
            company=source.company,
            date=source.date,
            period=source.period,
            section=source.section,
            anchor=source.anchor,
            url=source.url,
            snippet=source.snippet,
            quote=quote,
            verified=is_found,
        )


@lru_cache(maxsize=512)
def _folded(text: str) -> str:
    return " ".join(text.translate(_FOLD).split())


def _stands(quotation: str, passage: str) -> bool:
    parts = [part.strip() for part in _ELISION.split(quotation)]
    parts = [*parts[:-1], parts[-1].rstrip(" ,.;:")]
    at = 0
    for part in filter(None, parts):
        at = _find(part, passage, at)
        if at < 0:
            return False
        at += len(part)
    return any(char.isalnum() for part in parts for char in part)


def _find(part: str, passage: str, start: int) -> int:
    """Return where ``part`` stands as whole words and numbers, not as a piece of longer ones; -1 if nowhere."""
    at = passage.find(part, start)
    while at >= 0 and (_is_cut(passage, at) or _is_cut(passage, at + len(part))):
        at = passage.find(part, at + 1)
    return at


def _is_cut(passage: str, at: int) -> bool:
    """Say whether a cut at this place would split a word or a number: ``1.2|5``, ``1|.25``, ``cov|enant``."""
    if at <= 0 or at >= len(passage):
        return False
    before, after = passage[at - 1], passage[at]
    if before.isalnum() and after.isalnum():
        return True
    if after in ".," and before.isdigit():
        return passage[at + 1 : at + 2].isdigit()
    return before in ".," and after.isdigit() and passage[at - 2 : at - 1].isdigit()
