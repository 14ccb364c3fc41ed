"""Source links for the marks ``[3]`` of a rendered answer, and the verdict on each of its quotations.

Addresses and labels come from our own records, never from the answer. A failed check is never lost: where its quotation
can't be found again in the HTML, every link to that source says so.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
from operator import itemgetter
from typing import TypeAlias
from urllib.parse import urlencode

from django.utils.translation import gettext
from lxml import etree
from lxml.html import HtmlElement

from chat.html import marks
from chat.html.links import check_url, link_target
from chat.html.postprocess import REL, E, append_text, parse_fragment, serialize, text_of
from reasoning.citations import QUOTE_MARK, Citation, Source, closing_marks

Node: TypeAlias = str | HtmlElement

# A link that left this site could be a forged source; a page of the web that was read has the link guard's address.
_LOCAL_URL = re.compile(r"(?:/(?![/\\])|#)[!#-;=?-~]*")
_NO_QUOTATIONS = frozenset({"a", "code", "pre", "figure", "bdi", "button", "math", "footer"})
_BLOCKS = frozenset({"p", "li", "h3", "h4", "h5", "h6", "td", "th", "blockquote"})
_QUOTED = re.compile(r"&quote=[^&#]*")  # in an address of ``source_url``
_REFS = "data-ref"  # of a source link or a failed quotation, until the verdicts are placed

_SAME = {'"': "“”„‟«»″「」『』", "'": "‘’‚‛′", "-": "‐‑‒–—―−", "": "*_`~\\"}
_FOLD = str.maketrans({variant: plain for plain, variants in _SAME.items() for variant in variants})
MAX_SOURCE_LINKS = 2_000  # of an answer; a link is fifty times as long as its marker
MAX_QUOTE_CHARS = 300  # in an address
_QUOTED_ENDS, _MOST_MARKED_QUOTATIONS = 6, 3
_MOST_SOURCE_LINES = 3  # of a blockquote, below the quoted words


def cite_label(citation: Citation | Source) -> str:
    """Return "10-K · 2026-02-26 · Item 7 ¶31"; where the filing date is unknown, the period, labelled as one.

    A page of the web has its host in place of the date.
    """
    date = citation.date or (gettext("period %(date)s") % {"date": citation.period} if citation.period else "")
    number = re.search(r"-p([0-9]+)$", citation.anchor)
    place = f"{citation.section} ¶{number[1]}".strip() if number else citation.section
    is_paged = citation.kind in ("document", "web") and citation.page
    page = gettext("page %(number)s") % {"number": citation.page} if is_paged else ""
    host = citation.publisher if citation.kind == "web" and citation.publisher != citation.title else ""
    return " · ".join(part for part in (citation.title, host, date, page, place) if part)


def source_url(source: Citation | Source, quotations: Iterable[str] = ()) -> str:
    """Return where a page links to for a source; empty where it may link to nothing.

    On this site that is the passage with what the reader page marks there: the passage, and words quoted from it; a
    long quotation is shortened to its beginning and end. Another site's page is linked as the guard says (product 42).
    """
    if source.kind == "web":
        address = check_url(source.url)
        return link_target(address) if address and address.is_web else ""
    if not _LOCAL_URL.fullmatch(source.url):
        return ""
    page, _, fragment = source.url.partition("#")
    if not fragment:
        return source.url
    quoted = []
    for quotation in islice(dict.fromkeys(quotations), _MOST_MARKED_QUOTATIONS):
        words = quotation.split()
        ends = [*words[:_QUOTED_ENDS], "…", *words[-_QUOTED_ENDS:]] if len(words) > 2 * _QUOTED_ENDS else words
        quoted.append(("quote", " ".join(ends)[:MAX_QUOTE_CHARS]))
    return f"{page}?{urlencode([('passage', fragment), *quoted])}#{fragment}"


def cite(
    html: str,
    citations: Sequence[Citation],
    sources: Sequence[Source] = (),
    numbers: Mapping[int, int] | None = None,
) -> str:
    """Return ``html``, made by this package, with its marks as source links and checked quotations marked.

    A number that no citation and no source has becomes text. ``numbers`` says under which number a ref is shown; others
    are shown under their own.
    """
    known: list[Citation | Source] = [*sources, *reversed(citations)]
    marking = AnswerMarking({item.ref: item for item in known if source_url(item)}, numbers or {})
    for citation in citations:
        if citation.quote and citation.verified:
            marking.quoted[citation.ref].append(citation.quote)
        if citation.quote and citation.verified is not None:
            marking.quotations[fold(citation.quote)].append(citation)
    if not marking.targets and not marking.quotations:
        return marks.without_elements(html)
    root = parse_fragment(html)
    marking.mark(root)
    place_verdicts(root, marking.failed_but_not_found())
    return serialize(root)


def fold(words: str) -> str:
    """Fold words so that an answer's markdown and its rendering compare equal."""
    plain = marks.MARK.sub(" ", unescape(words)).translate(_FOLD)
    return " ".join(plain.split()).strip("\"' ").rstrip(" .,;:").strip("\"' ")


@dataclass
class AnswerMarking:
    """What is marked in an answer: sources by ref, the numbers they are shown under, quotations by folded words."""

    targets: Mapping[int, Citation | Source]
    numbers: Mapping[int, int]
    quotations: dict[str, list[Citation]] = field(default_factory=lambda: defaultdict(list))
    quoted: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # verified quotations by ref
    found: set[str] = field(default_factory=set)  # folded quotations that are in the HTML
    link_count: int = 0

    def citations_of(self, words: str) -> list[Citation]:
        """Return the checked quotations with these words, and remember that they were found."""
        key = fold(words)
        self.found.add(key)
        return self.quotations.get(key, [])

    def failed_but_not_found(self) -> set[int]:
        """Return the refs of failed quotations that aren't in the HTML."""
        missing = self.quotations.keys() - self.found
        return {citation.ref for words in missing for citation in self.quotations[words] if not citation.verified}

    def mark(self, element: HtmlElement, *, in_quotation: bool = False) -> None:
        """Replace marks and quotations below ``element``."""
        if element.tag == "blockquote" and not in_quotation:
            in_quotation = self.mark_blockquote(element)
        if self.quotations and not in_quotation:
            self.mark_quotations(element)
        marked: list[Node] = []
        for node in nodes_of(element):
            if isinstance(node, str) or node.tag in _NO_QUOTATIONS:
                marked.append(node)
                continue
            if node.tag != marks.TAG:
                self.mark(node, in_quotation=in_quotation or node.tag == "q")
                marked.append(node)
                continue
            refs = marks.refs_of(text_of(node))
            if self.targets.keys().isdisjoint(refs) or self.link_count + len(refs) > MAX_SOURCE_LINKS:
                marked.append(text_of(node))
                continue
            self.link_count += len(refs)
            if marked and isinstance(before := marked[-1], str):
                # A no-break space, so that no line begins with a source link.
                marked[-1] = re.sub(r" \Z", "\u00a0", before)
            marked += [self.source_link(ref) if ref in self.targets else f"[{ref}]" for ref in refs]
        set_nodes(element, marked)

    def source_link(self, ref: int) -> HtmlElement:
        """Return the link to a source."""
        target = self.targets[ref]
        # lxml refuses characters that XML doesn't allow.
        title = re.sub(r"[\x00-\x1f\ud800-\udfff\ufffe\uffff]", " ", target.section)
        url = source_url(target, self.quoted.get(ref, ()))
        attributes = {"class": "cite", "data-citation": "", "href": url, "title": title, _REFS: str(ref)}
        if target.kind == "web":
            attributes["rel"] = REL
        return E.a(hidden(gettext("Source")), str(self.numbers.get(ref, ref)), attributes)

    def mark_blockquote(self, block: HtmlElement) -> bool:
        """Add source and verdict to a checked blockquote; return whether it is one.

        Its last lines may name the source instead of being quoted.
        """
        lines = [line for line in text_of(block).split("\n") if line.strip()]
        for count in range(len(lines), max(0, len(lines) - _MOST_SOURCE_LINES - 1), -1):
            if citations := self.citations_of(" ".join(lines[:count])):
                verified = next((citation for citation in citations if citation.verified), None)
                block.attrib.update(verdict_attributes(citations))
                if verified:
                    verdict = E.span(gettext("found word for word"), {"class": "found"})
                else:
                    verdict = E.span(gettext("not found in the passage"), {"class": "unfound"})
                block.append(E.footer(E.span(cite_label(verified or citations[0])), verdict))
                return True
        return False

    def mark_quotations(self, element: HtmlElement) -> None:
        """Put each checked quotation of an element into ``q``, which draws its own quotation marks.

        Marks inside other marks belong to the quoted words. A quotation whose marks are in different elements is left.
        """
        nodes = nodes_of(element)
        out: list[Node] = []
        done = (0, 0)
        opening: tuple[int, int, str] | None = None
        for index, node in enumerate(nodes):
            for match in QUOTE_MARK.finditer(node) if isinstance(node, str) else ():
                at = match.start()
                if opening is None:
                    closing = closing_marks(node, at)
                    opening = (index, at, closing) if closing else None
                elif match[0] in opening[2]:
                    words = nodes_between(nodes, (opening[0], opening[1] + 1), (index, at))
                    # The check reads code as nobody's words.
                    texts = (
                        word if isinstance(word, str) else "" if word.tag == "code" else text_of(word) for word in words
                    )
                    if citations := self.citations_of("".join(texts)):
                        quotation = E.q(verdict_attributes(citations))
                        set_nodes(quotation, words)
                        out += [*nodes_between(nodes, done, opening[:2]), quotation]
                        done = (index, at + 1)
                    opening = None
        set_nodes(element, [*out, *nodes_between(nodes, done, (len(nodes), 0))])


def hidden(text: str) -> HtmlElement:
    """Return words for screen readers only."""
    return E.span(f"{text} ", {"class": "visually-hidden"})


def verdict_attributes(citations: Sequence[Citation]) -> dict[str, str]:
    """Return the attributes of a checked quotation."""
    failed = " ".join(str(citation.ref) for citation in citations if not citation.verified)
    verified = "true" if any(citation.verified for citation in citations) else "false"
    return {"data-verified": verified} | ({_REFS: failed} if failed else {})


def nodes_of(element: HtmlElement) -> list[Node]:
    """Return the texts and elements inside an element, in order."""
    nodes: list[Node] = [element.text or ""]
    for child in element:
        nodes += [child, child.tail or ""]
    return [node for node in nodes if not isinstance(node, str) or node]


def set_nodes(element: HtmlElement, nodes: Sequence[Node]) -> None:
    """Replace the content of an element."""
    del element[:]
    element.text = None
    for node in nodes:
        if isinstance(node, str):
            append_text(element, node)
        else:
            node.tail = None
            element.append(node)


def nodes_between(nodes: Sequence[Node], start: tuple[int, int], end: tuple[int, int]) -> list[Node]:
    """Return what lies between two places, each the index of a node and an offset in its text."""
    between = list(nodes[start[0] : end[0] + 1])
    if end[0] < len(nodes):
        last = between.pop()
        between += [last[: end[1]]] if isinstance(last, str) else []
    if between and isinstance(first := between[0], str):
        between[0] = first[start[1] :]
    return between


def place_verdicts(root: HtmlElement, unplaced: set[int]) -> None:
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

    unverified: list[HtmlElement] = []
    for ref, order, block, quotation in failed:
        following = bisect(links[ref], order, key=itemgetter(0))
        nearest = links[ref][max(0, following - 1) : following + 1]
        after = [link for at, of, link in nearest if at > order and of <= last_blocks.get(quotation, block)]
        before = [link for at, of, link in nearest if at < order and of == block]
        unverified += (after or before)[:1]
        if not (after or before):
            unplaced.add(ref)
    unverified += [link for ref in unplaced for _order, _block, link in links[ref]]
    for link in unverified:
        number = (link[0].tail or "").removesuffix("?")
        link.set("data-verified", "false")
        link.set("title", gettext("Not found in the passage"))
        link.set("href", _QUOTED.sub("", link.get("href", "")))  # what another quotation found isn't this one's
        set_nodes(link, [hidden(gettext("Unverified source")), f"{number}?"])
