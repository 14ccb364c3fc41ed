"""Puts a chip into rendered HTML for each marker ``[3]`` that names a source of this answer, and its doubts on it.

Addresses and labels come from our own records, never from the answer. A doubt is never lost: where the quotation that
failed can't be found again in the HTML, every chip of its source says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext

from chat.html.quotations import DOUBTS, MARKER, Verdicts, foot_blockquote, quoted
from chat.html.sanitize import ATTRIBUTES, TAGS
from chat.html.tree import Node, Piece, parse, serialize
from reasoning.citations import Citation, Source

_OURS = {"figure", "figcaption", "button", "span", "div", "bdi"}
_WRITTEN = "class dir href rel title tabindex role aria-label type data-copy-code scope start"
_NAMES = frozenset(_WRITTEN.split())
_OWN_HTML: Mapping[str, frozenset[str]] = {tag: _NAMES | ATTRIBUTES.get(tag, frozenset()) for tag in TAGS | _OURS}

_REF = "data-ref"  # from a chip's making to its doubts; never written
_LOCAL = re.compile(r"(?:/(?![/\\])|#)[!#-;=?-~]*")
_SPACE = re.compile(r" \Z")  # before a chip it becomes one that doesn't break, so that no line begins with a chip
_SKIPPED = frozenset({"a", "code", "pre", "figure", "bdi", "button", "math"})
_LEAVES = frozenset({"p", "li", "h3", "h4", "h5", "h6", "td", "th", "blockquote"})


def cite(
    html: str,
    citations: Sequence[Citation],
    sources: Sequence[Source] = (),
    numbers: Mapping[int, int] | None = None,
) -> str:
    """Return ``html``, made by this package, with its markers as chips and its checked quotations marked.

    A number that no citation and no source bears stays text, as do markers in code and in links. ``numbers`` says which
    number a ref is shown under; without it, under its own.
    """
    known: list[Citation | Source] = [*sources, *reversed(citations)]
    targets = {item.ref: item for item in known if _LOCAL.fullmatch(item.url)}
    verdicts = Verdicts.of(citations)
    if not targets and not verdicts.by_words:
        return html
    root = parse(html, _OWN_HTML)
    _mark(root, targets, verdicts)
    _number(root, numbers or {})
    doubts = _Doubts()
    doubts.visit(root)
    doubts.settle(verdicts.lost_doubts())
    return serialize(root.children)


def _mark(node: Node, targets: Mapping[int, Citation | Source], verdicts: Verdicts, *, in_quote: bool = False) -> None:
    """Mark quotations and chips below ``node``."""
    if node.tag == "blockquote" and not in_quote:
        in_quote = foot_blockquote(node, verdicts)
    if verdicts.by_words and not in_quote:
        node.children = quoted(node.children, verdicts)
    chipped: list[Piece] = []
    for child in node.children:
        if isinstance(child, str):
            chipped.extend(_chipped(child, targets))
            continue
        if child.tag not in _SKIPPED and child.tag != "footer":
            _mark(child, targets, verdicts, in_quote=in_quote or child.tag == "q")
        chipped.append(child)
    node.children = chipped


def _chipped(text: str, targets: Mapping[int, Citation | Source]) -> Iterator[Piece]:
    done = 0
    for match in MARKER.finditer(text):
        refs = [int(ref) for ref in re.split("[,;]", match[1])]
        if targets.keys().isdisjoint(refs):
            continue
        yield _SPACE.sub("\u00a0", text[done : match.start()])
        yield from (_chip(ref, targets[ref]) if ref in targets else f"[{ref}]" for ref in refs)
        done = match.end()
    yield text[done:]


def _chip(ref: int, target: Citation | Source) -> Node:
    attrs = {"class": "cite", "data-citation": "", "href": target.url, "title": target.section, _REF: str(ref)}
    return Node("a", attrs, [_hidden(gettext("Source")), str(ref)])


def _number(node: Node, numbers: Mapping[int, int]) -> None:
    """Show each chip under its number."""
    for child in node.children:
        if isinstance(child, Node):
            ref = child.attrs.get(_REF)
            if ref is not None:
                child.children[-1] = str(numbers.get(int(ref), int(ref)))
            _number(child, numbers)


def _hidden(text: str) -> Node:
    return Node("span", {"class": "vh"}, [f"{text} "])


def _doubt(chip: Node) -> None:
    number = str(chip.children[-1]).removesuffix("?")
    chip.attrs |= {"data-verified": "false", "title": gettext("Not found in the passage")}
    chip.children = [_hidden(gettext("Unverified source")), f"{number}?"]


@dataclass(slots=True)
class _Doubts:
    """Carries each failed quotation to its chip: the first that follows it in its block, else the last before it.

    For a blockquote the block includes what comes right after it.
    """

    leaf: int = 0
    chips: dict[int, list[Node]] = field(default_factory=dict)
    last_in_leaf: dict[tuple[int, int], Node] = field(default_factory=dict)
    pending: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # ref: leaf of the quotation, last leaf to look in
    unmet: list[tuple[int, int]] = field(default_factory=list)

    def visit(self, node: Node) -> None:
        """Walk the tree in reading order."""
        self.leaf += node.tag in _LEAVES
        own = [int(ref) for ref in node.attrs.pop(DOUBTS, "").split()]
        start = self.leaf
        for ref in own:
            self._expect(ref, start, until=start if node.tag == "q" else start + 1_000_000)
        if _REF in node.attrs:
            self._meet(int(node.attrs.pop(_REF)), node)
        for child in node.children:
            if isinstance(child, Node):
                self.visit(child)
        if node.tag == "blockquote":
            self.pending |= {ref: (start, self.leaf + 1) for ref in own if self.pending.get(ref, (0,))[0] == start}

    def settle(self, lost: set[int]) -> None:
        """Mark what is left: the last chip before the quotation in its block, or all of the source's."""
        self.unmet += [(ref, leaf) for ref, (leaf, _) in self.pending.items()]
        for ref, leaf in self.unmet:
            if (ref, leaf) in self.last_in_leaf:
                _doubt(self.last_in_leaf[ref, leaf])
            else:
                lost = lost | {ref}
        for ref in lost:
            for chip in self.chips.get(ref, ()):
                _doubt(chip)

    def _expect(self, ref: int, leaf: int, *, until: int) -> None:
        if ref in self.pending:
            self.unmet.append((ref, self.pending[ref][0]))
        self.pending[ref] = (leaf, until)

    def _meet(self, ref: int, chip: Node) -> None:
        self.chips.setdefault(ref, []).append(chip)
        self.last_in_leaf[ref, self.leaf] = chip
        if ref in self.pending and self.leaf <= self.pending[ref][1]:
            del self.pending[ref]
            _doubt(chip)
