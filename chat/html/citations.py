"""Source links for the markers ``[3]`` of a rendered answer, and the verdict on each of its quotations.

Addresses and labels come from our own records, never from the answer. A failed check is never lost: where its quotation
can't be found again in the HTML, every link to that source says so.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from operator import itemgetter
from typing import TypeAlias

from django.utils.translation import gettext
from lxml import etree
from lxml.html import HtmlElement

from chat.html.postprocess import E, append_text, parse_fragment, serialize, text_of
from reasoning.citations import Citation, Source

Piece: TypeAlias = str | HtmlElement

_MARKER = re.compile(r"\[([0-9]{1,4}(?: ?[,;] ?[0-9]{1,4})*+)\]")
_LOCAL_URL = re.compile(r"(?:/(?![/\\])|#)[!#-;=?-~]*")
_SKIPPED = frozenset({"a", "code", "pre", "figure", "bdi", "button", "math", "footer"})
_BLOCKS = frozenset({"p", "li", "h3", "h4", "h5", "h6", "td", "th", "blockquote"})
_REFS = "data-ref"  # of a source link or a failed quotation, until the verdicts are placed

_SAME = {'"': "“”„‟«»″", "'": "‘’‚‛′", "-": "‐‑‒–—―−", "": "*_`~\\"}
_FOLD = str.maketrans({variant: plain for plain, variants in _SAME.items() for variant in variants})
_QUOTE_MARK = re.compile('["“”„«»]')
_CLOSING_MARKS = {'"': '"', "“": "”", "„": "”", "«": "»"}
_MOST_SOURCE_LINES = 3  # of a blockquote, below the quoted words


@dataclass(slots=True)
class _Quotations:
    """The checked quotations of an answer by their folded words; ``found``: those that were found in the HTML."""

    by_words: dict[str, list[Citation]]
    found: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, citations: Sequence[Citation]) -> _Quotations:
        by_words: dict[str, list[Citation]] = defaultdict(list)
        for citation in citations:
            if citation.quote and citation.verified is not None:
                by_words[_folded(citation.quote)].append(citation)
        return cls(dict(by_words))

    def citations_of(self, words: str) -> list[Citation]:
        key = _folded(words)
        self.found |= {key} & self.by_words.keys()
        return self.by_words.get(key, [])

    def failed_but_not_found(self) -> set[int]:
        missing = self.by_words.keys() - self.found
        return {citation.ref for words in missing for citation in self.by_words[words] if not citation.verified}


def _folded(words: str) -> str:
    """Fold words so that an answer's markdown and its rendering compare equal."""
    plain = _MARKER.sub(" ", unescape(words)).translate(_FOLD)
    return " ".join(plain.split()).strip("\"' ").rstrip(" .,;:").strip("\"' ")


def cite_label(citation: Citation | Source) -> str:
    """Return "10-K · 2026-02-26 · Item 7 ¶31"; where the filing date is unknown, the period, labelled as one."""
    date = citation.date or (gettext("period %(date)s") % {"date": citation.period} if citation.period else "")
    number = re.search(r"-p([0-9]+)$", citation.anchor)
    place = f"{citation.section} ¶{number[1]}" if number else citation.section
    return " · ".join(part for part in (citation.filing, date, place) if part)


def cite(
    html: str,
    citations: Sequence[Citation],
    sources: Sequence[Source] = (),
    numbers: Mapping[int, int] | None = None,
) -> str:
    """Return ``html``, made by this package, with markers as source links and checked quotations marked.

    A number that no citation and no source has stays text, as do markers in code and in links. ``numbers`` says under
    which number a ref is shown; others are shown under their own.
    """
    known: list[Citation | Source] = [*sources, *reversed(citations)]
    targets = {item.ref: item for item in known if _LOCAL_URL.fullmatch(item.url)}
    quotations = _Quotations.of(citations)
    if not targets and not quotations.by_words:
        return html
    root = parse_fragment(html)
    _mark(root, targets, numbers or {}, quotations)
    _place_verdicts(root, quotations.failed_but_not_found())
    return serialize(root)


def _mark(
    element: HtmlElement,
    targets: Mapping[int, Citation | Source],
    numbers: Mapping[int, int],
    quotations: _Quotations,
    *,
    in_quotation: bool = False,
) -> None:
    """Replace markers and quotations below ``element``."""
    if element.tag == "blockquote" and not in_quotation:
        in_quotation = _mark_blockquote(element, quotations)
    if quotations.by_words and not in_quotation:
        _set_pieces(element, _with_quotations(_pieces(element), quotations))
    marked: list[Piece] = []
    for piece in _pieces(element):
        if isinstance(piece, str):
            marked.extend(_with_source_links(piece, targets, numbers))
            continue
        if piece.tag not in _SKIPPED:
            _mark(piece, targets, numbers, quotations, in_quotation=in_quotation or piece.tag == "q")
        marked.append(piece)
    _set_pieces(element, marked)


def _pieces(element: HtmlElement) -> list[Piece]:
    """Return the texts and elements inside an element, in order."""
    pieces: list[Piece] = [element.text or ""]
    for child in element:
        pieces += [child, child.tail or ""]
    return [piece for piece in pieces if not isinstance(piece, str) or piece]


def _set_pieces(element: HtmlElement, pieces: Sequence[Piece]) -> None:
    del element[:]
    element.text = None
    for piece in pieces:
        if isinstance(piece, str):
            append_text(element, piece)
        else:
            piece.tail = None
            element.append(piece)


def _with_source_links(
    text: str, targets: Mapping[int, Citation | Source], numbers: Mapping[int, int]
) -> Iterator[Piece]:
    done = 0
    for match in _MARKER.finditer(text):
        refs = [int(ref) for ref in re.split("[,;]", match[1])]
        if targets.keys().isdisjoint(refs):
            continue
        # A no-break space, so that no line begins with a source link.
        yield re.sub(r" \Z", "\u00a0", text[done : match.start()])
        yield from (_source_link(targets[ref], numbers.get(ref, ref)) if ref in targets else f"[{ref}]" for ref in refs)
        done = match.end()
    yield text[done:]


def _source_link(target: Citation | Source, number: int) -> HtmlElement:
    title = re.sub(r"[\x00-\x1f\ud800-\udfff\ufffe\uffff]", " ", target.section)
    attributes = {"class": "cite", "data-citation": "", "href": target.url, "title": title, _REFS: str(target.ref)}
    return E.a(_hidden(gettext("Source")), str(number), attributes)


def _hidden(text: str) -> HtmlElement:
    return E.span(f"{text} ", {"class": "visually-hidden"})


def _mark_blockquote(block: HtmlElement, quotations: _Quotations) -> bool:
    """Add source and verdict to a checked blockquote; return whether it is one.

    Its last lines may name the source instead of being quoted.
    """
    lines = [line for line in text_of(block).split("\n") if line.strip()]
    for count in range(len(lines), max(0, len(lines) - _MOST_SOURCE_LINES - 1), -1):
        if citations := quotations.citations_of(" ".join(lines[:count])):
            verified = next((citation for citation in citations if citation.verified), None)
            block.attrib.update(_verdict(citations))
            if verified:
                verdict = E.span(gettext("found word for word"), {"class": "found"})
            else:
                verdict = E.span(gettext("not found in the passage"), {"class": "unfound"})
            block.append(E.footer(E.span(cite_label(verified or citations[0])), verdict))
            return True
    return False


def _verdict(citations: Sequence[Citation]) -> dict[str, str]:
    failed = " ".join(str(citation.ref) for citation in citations if not citation.verified)
    verified = "true" if any(citation.verified for citation in citations) else "false"
    return {"data-verified": verified} | ({_REFS: failed} if failed else {})


def _with_quotations(pieces: Sequence[Piece], quotations: _Quotations) -> list[Piece]:
    """Return the pieces with each checked quotation as ``q``, which draws its own quotation marks.

    Marks inside other marks belong to the quoted words. A quotation whose marks are in different elements is left.
    """
    out: list[Piece] = []
    done = (0, 0)
    opening: tuple[int, int, str] | None = None
    for index, piece in enumerate(pieces):
        for match in _QUOTE_MARK.finditer(piece) if isinstance(piece, str) else ():
            at, mark = match.start(), match[0]
            if opening is None:
                is_inch = mark == '"' and at > 0 and piece[at - 1].isdigit()  # as in 12" pipe
                opening = (index, at, mark) if mark in _CLOSING_MARKS and not is_inch else None
            elif _CLOSING_MARKS[opening[2]] == mark:
                words = _between(pieces, (opening[0], opening[1] + 1), (index, at))
                # The check reads code as nobody's words.
                said = (
                    word if isinstance(word, str) else "" if word.tag == "code" else text_of(word) for word in words
                )
                if citations := quotations.citations_of("".join(said)):
                    quotation = E.q(_verdict(citations))
                    _set_pieces(quotation, words)
                    out += [*_between(pieces, done, opening[:2]), quotation]
                    done = (index, at + 1)
                opening = None
    return [*out, *_between(pieces, done, (len(pieces), 0))]


def _between(pieces: Sequence[Piece], start: tuple[int, int], end: tuple[int, int]) -> list[Piece]:
    """Return what lies between two places, each the index of a piece and an offset in its text."""
    between = list(pieces[start[0] : end[0] + 1])
    if end[0] < len(pieces):
        last = between.pop()
        between += [last[: end[1]]] if isinstance(last, str) else []
    if between and isinstance(first := between[0], str):
        between[0] = first[start[1] :]
    return between


def _place_verdicts(root: HtmlElement, unplaced: set[int]) -> None:
    """Mark a source link for each failed quotation: the first that follows in its block, else the last before it there.

    A blockquote's block includes what comes right after it. ``unplaced`` are refs all of whose links are marked.
    """
    block = 0
    links: dict[int, list[tuple[int, int, HtmlElement]]] = defaultdict(list)  # by ref: order, block, link
    failed: list[tuple[int, int, int, HtmlElement]] = []  # ref, order, block, quotation
    last_blocks: dict[HtmlElement, int] = {}  # of blockquotes
    for order, (event, element) in enumerate(etree.iterwalk(root, events=("start", "end"))):
        if event == "end":
            if element.tag == "blockquote":
                last_blocks[element] = block + 1
            continue
        block += element.tag in _BLOCKS
        refs = [int(ref) for ref in element.attrib.pop(_REFS, "").split()]
        if element.tag == "a":
            for ref in refs:
                links[ref].append((order, block, element))
        else:
            failed += [(ref, order, block, element) for ref in refs]
    for ref, order, block, quotation in failed:
        following = bisect(links[ref], order, key=itemgetter(0))
        nearest = links[ref][max(0, following - 1) : following + 1]
        after = next((link for at, of, link in nearest if at > order and of <= last_blocks.get(quotation, block)), None)
        before = next((link for at, of, link in nearest if at < order and of == block), None)
        if (link := after if after is not None else before) is not None:
            _mark_unverified(link)
        else:
            unplaced.add(ref)
    for ref in unplaced:
        for _order, _block, link in links[ref]:
            _mark_unverified(link)


def _mark_unverified(link: HtmlElement) -> None:
    number = (link[0].tail or "").removesuffix("?")
    link.set("data-verified", "false")
    link.set("title", gettext("Not found in the passage"))
    _set_pieces(link, [_hidden(gettext("Unverified source")), f"{number}?"])
