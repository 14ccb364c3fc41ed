"""Citations, and the check that a quotation occurs in the passage that it cites.

A citation points at a stored passage of a document, never at an address that a model wrote. The check is verbatim
after folding white space, quotation marks, dashes, composed letters and emphasis, never case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

_UNMARKED_MIN_WORDS = 5  # of a quotation that is credited to a source without a marker
# Each quotation without a marker is looked for in every source, of adjacent markers in each of theirs.
_MOST_UNMARKED, _MOST_ADJACENT = 50, 10

_EXCERPT_QUOTE_CHARS, _EXCERPT_CONTEXT_CHARS = 600, 120  # of a quotation, and before and after it

_ONE_MARKER = r"\[\d{1,4}(?: ?[,;] ?\d{1,4})*+\]"
_MARKERS = re.compile(rf"(?<![\\!]){_ONE_MARKER}(?: ?{_ONE_MARKER})*(?!\()")  # not a link or an image
# The stop of a sentence, with the closing marks and the markers behind it.
_SENTENCE_END = re.compile(rf"[.!?][\"“”’»)*_]{{0,9}}(?: ?{_ONE_MARKER}){{0,9}}(?=\s|$)")
COUNTED_CHARS = 50_000
_REF = re.compile(r"\d+")
_DEFINITION = re.compile(r"[ ]{0,3}\[\d{1,4}\]:\s*\S+(?:\s+[\"'(].*)?\s*")
_FENCE = re.compile(r"[ ]{0,3}(?P<fence>`{3,}|~{3,})")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_QUOTED_LINE = re.compile(r"[ ]{0,3}>[ ]?")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]")
# Possessive: a long run of blanks would be divided in every way.
_ATTRIBUTION = re.compile(r"\s*+(?:[-–—]|\()?\s*+\[\d|\s*+[–—]\s*+\S")
_BACKTICKS = re.compile(r"`+")
# What closes a quotation, by its opening mark: each language has its own, and models write a plain one after „.
_CLOSING_QUOTES = {"“": "”", "„": '“”"', "«": "»", "»": "«", "「": "」", "『": "』", '"': '"'}
QUOTE_MARK = re.compile('["“”„«»「」『』]')

_ELISION = re.compile(r"\[\s*(?:…|\.{3}|\. \. \.)\s*\]|…|\.{3,4}|\. \. \.")
_EMPHASIS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|\\(?=[^\w\s])|`|~~")
# Marks of quotations inside a quotation change from double to single ones.
_SAME = {"'": '"“”„‟«»″「」『』‘’‚‛‹›′ʼ', "-": "‐‑‒–—―−", " ": "|\u00a0", "": "\u00ad\u200b\u200c\u200d\u2060\ufeff"}
# Each form of a mark to all of its forms.
_FORMS = {form: plain + variants for plain, variants in _SAME.items() if plain.strip() for form in plain + variants}
_STOPS = " ,.;:、。，；："
# Letters that are written without spaces, or with others joined to them: Thai, Lao, Myanmar, Khmer, Hangul, Chinese and
# Japanese. Words of them have no ends that could be seen.
_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u31ff\u3400-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_FOLD = str.maketrans({variant: plain for plain, variants in _SAME.items() for variant in variants})

SourceKind = Literal["filing", "attachment", "document", "web"]


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that a tool returned in this turn, under the number by which the model may cite it: ``[ref]``."""

    ref: int
    kind: SourceKind
    title: str  # of the document: a filing's form such as "10-K", the name of a file
    publisher: str  # of a filing its company; empty if nobody is known
    date: str | None  # ISO; when it was filed or published. None where the document does not say. Never invented.
    period: str | None  # period or event date, ISO; shown, labelled, where the date is unknown
    section: str
    anchor: str  # "#item-1a-p12"
    url: str  # reader page with the fragment
    text: str  # the whole passage
    snippet: str  # short extract for the trace
    page: int | None = None  # of a document with pages, from 1

    def citation(self, *, quote: str | None = None, verified: bool | None = None) -> Citation:
        """Return a pointer to this passage. With a quotation that is found its snippet is what surrounds that."""
        fields = asdict(self)
        text = fields.pop("text")
        if quote and verified:
            fields["snippet"] = excerpt(text, quote) or self.snippet
        return Citation(**fields, quote=quote, verified=verified)


@dataclass(frozen=True, slots=True)
class Citation:
    """One pointer as an answer, an envelope or a trace shows it. Spec 004 envelope."""

    ref: int
    kind: SourceKind
    title: str
    publisher: str
    date: str | None
    period: str | None
    section: str
    anchor: str
    url: str
    snippet: str
    page: int | None = None
    quote: str | None = None
    verified: bool | None = None  # None: there is no quotation


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """Return the form that envelope, trace and log show. ``page`` and ``quote`` are left out where there is none.

    ``filing`` and ``company`` are the title and the publisher, under the names that spec 004 has for them.
    """
    form = asdict(citation)
    form["filing"], form["company"] = form["title"], form.pop("publisher")
    return {name: value for name, value in form.items() if value is not None or name not in ("page", "quote")}


def citation_from_json(form: Mapping[str, Any]) -> Citation:
    """Read what ``citation_to_json`` wrote; what an older row lacks is empty."""
    publisher = form.get("company") or ""
    values: dict[str, Any] = {name: form.get(name) for name in ("date", "period", "page", "quote", "verified")}
    values |= {name: form.get(name) or "" for name in ("section", "anchor", "url", "snippet")}
    return Citation(
        ref=int(form.get("ref") or 0),
        kind=form.get("kind") or ("filing" if publisher else "attachment"),  # older rows know these two
        title=form.get("title") or form.get("filing") or "",
        publisher=publisher,
        **values,
    )


def check_citations(answer: str, sources: Sequence[Source]) -> tuple[Citation, ...]:
    """Return the sources that an answer cites, by first appearance, each with its quotations and their verdicts.

    Markers are ``[3]``, ``[1][2]`` and ``[1, 2]``; a number that names no source is ignored. A quotation belongs to the
    first marker after it in its block, else to the last before it; of several adjacent ones, to the one whose passage
    contains it. Without any marker it is credited to the one source that contains it, if it has five words and is one
    of the first of its kind. A source cited with several quotations gives one citation for each; without any,
    ``verified`` is None. Never raises.
    """
    # A dict is ordered by insertion, so refs come out by first appearance.
    by_ref = {source.ref: source for source in sources}
    if not by_ref:
        return ()
    quotes_by_ref: dict[int, dict[str, bool]] = {}
    passage_of = cache(lambda ref: fold_text(by_ref[ref].text))
    unmarked = iter(range(_MOST_UNMARKED))
    for block in blocks(answer):
        for mention in sorted(mentions(block, by_ref, passage_of, unmarked), key=lambda mention: mention.start):
            quotes = quotes_by_ref.setdefault(mention.ref, {})
            if mention.quote is not None:
                quotes.setdefault(mention.quote, mention.is_found)
    citations: list[Citation] = []
    for ref, quotes in quotes_by_ref.items():
        source = by_ref[ref]
        cited = [source.citation(quote=quote, verified=is_found) for quote, is_found in quotes.items()]
        citations += cited or [source.citation()]
    return tuple(citations)


def count_uncited(answer: str) -> int:
    """Return how many sentences of an answer's prose name no source, in its first ``COUNTED_CHARS`` characters.

    A sentence has a full stop and at least five words; a marker right behind the stop belongs to it.
    """
    uncited = 0
    for block in blocks(answer[:COUNTED_CHARS]):
        start = 0
        for end in _SENTENCE_END.finditer(block.prose):
            sentence, start = block.prose[start : end.end()], end.end()
            uncited += len(sentence.split()) >= _UNMARKED_MIN_WORDS and not _MARKERS.search(sentence)
    return uncited


def citation_numbers(citations: Iterable[Citation], start: Mapping[int, int] | None = None) -> dict[int, int]:
    """Return the number under which each ref is shown: 1, 2, 3 by first appearance, after those of ``start``.

    The model cites by the number that a tool gave a source; a reader wants them in order.
    """
    numbers = dict(start or {})
    for citation in citations:
        numbers.setdefault(citation.ref, len(numbers) + 1)
    return numbers


def find_quotation(quotation: str, text: str) -> tuple[int, int] | None:
    """Return where a quotation begins and ends in a text, to mark it there; None where it isn't found simply."""
    start, at = -1, 0
    words_only = quotation.rstrip(_STOPS)
    # Part by part, each at its first place: one pattern of all could take very long.
    for part in _ELISION.split(_EMPHASIS.sub("", words_only)):
        words = part.replace("|", " ").split()
        found = re.compile(r"[\s|]+".join(map(_word_pattern, words))).search(text, at)
        if found is None:
            return None
        start = found.start() if start < 0 and words else start
        at = found.end()
    stop = quotation[len(words_only) :]
    return (start, at + len(stop) * text.startswith(stop, at)) if start >= 0 else None


def _word_pattern(word: str) -> str:
    """Return a pattern of a word with any form of its quotation marks, dashes and letters with accents."""
    pattern = ""
    for char in unicodedata.normalize("NFC", word):
        apart = unicodedata.normalize("NFD", char)
        if char in _FORMS:
            pattern += f"[{re.escape(_FORMS[char])}]"
        else:
            pattern += re.escape(char) if apart == char else f"(?:{char}|{apart})"
    return pattern


def excerpt(text: str, quotation: str) -> str:
    """Return the words around a quotation in a passage, in one line; empty where it isn't found."""
    span = find_quotation(quotation, text)
    if span is None:
        return ""
    end = min(span[1], span[0] + _EXCERPT_QUOTE_CHARS)
    # Whole words.
    start = text.rfind(" ", 0, max(0, span[0] - _EXCERPT_CONTEXT_CHARS) + 1) + 1
    stop = text.find(" ", end + _EXCERPT_CONTEXT_CHARS)
    stop = len(text) if stop < 0 else stop
    line = " · ".join(" ".join(line.split()) for line in text[start:stop].splitlines() if line.strip(" |"))
    return f"{'… ' if start else ''}{line}{' …' if stop < len(text) else ''}"


# Which source a quotation belongs to


class Mention(NamedTuple):
    """A source that a block cites at ``start``, with a quotation credited to it."""

    start: int
    ref: int
    quote: str | None = None
    is_found: bool = False


def mentions(
    block: AnswerBlock, by_ref: Mapping[int, Source], passage_of: Callable[[int], str], unmarked: Iterator[int]
) -> Iterator[Mention]:
    """Yield what a block cites. ``passage_of``: a source's folded text. ``unmarked``: numbers quotations to try."""
    markers = [(start, known) for start, refs in block.markers if (known := [ref for ref in refs if ref in by_ref])]
    for start, refs in markers:
        yield from (Mention(start, ref) for ref in refs)
    at = 0
    for start, quote in block.quotations:
        # A model that quotes without citing gets the credit only where one source alone has the words.
        if not markers:
            if len(quote.split()) < _UNMARKED_MIN_WORDS or next(unmarked, None) is None:
                continue
            read = readings(quote)
            found = [ref for ref in by_ref if occurs(read, passage_of(ref))]
            if len(found) == 1:
                yield Mention(start, found[0], quote, True)
            continue
        while at < len(markers) and markers[at][0] < start:
            at += 1
        marker_start, refs = markers[min(at, len(markers) - 1)]
        read = readings(quote)
        source = next((ref for ref in refs[:_MOST_ADJACENT] if occurs(read, passage_of(ref))), None)
        yield Mention(marker_start, refs[0] if source is None else source, quote, source is not None)


# Finding markers and quotations. Linear in the answer, for any text.


class AnswerBlock(NamedTuple):
    """One block of an answer: its markers (start, refs) and quotations (start, words), in reading order.

    A block is a paragraph, a list item, a table row, a heading, or a blockquote with the line right after it. Code has
    neither markers nor quotations.
    """

    markers: list[tuple[int, list[int]]]
    quotations: list[tuple[int, str]]
    prose: str = ""  # without code; nothing of a blockquote, a heading or a table


def blocks(answer: str) -> Iterator[AnswerBlock]:
    lines: list[str] = []
    fence = ""
    for line in answer.splitlines():
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark["fence"]
            elif mark and mark["fence"].startswith(fence) and not line[mark.end() :].strip():
                fence = ""  # a bare run of at least that length closes it
            yield read_block(lines)
            lines = []
        elif begins_block(line, lines):
            yield read_block(lines)
            lines = [line]
        elif _DEFINITION.fullmatch(line):
            continue
        elif line.strip() or (is_quote(lines) and _QUOTED_LINE.match(lines[-1])):
            lines.append(line)  # a blank line after a blockquote ends it only if no source line follows
        else:
            yield read_block(lines)
            lines = []
    yield read_block(lines)


def begins_block(line: str, lines: Sequence[str]) -> bool:
    if not lines or not line.strip():
        return False
    is_quoted = bool(_QUOTED_LINE.match(line))
    if not is_quote(lines):
        return (
            is_quoted
            or line[0] == "|"
            or bool(_LIST_ITEM.match(line) or _HEADING.match(line) or _HEADING.match(lines[-1]))
        )
    if is_quoted:
        return False
    last = lines[-1]
    if last.strip():  # after a quoted line its source may follow; after the source another block begins
        return not _QUOTED_LINE.match(last)
    return not _ATTRIBUTION.match(line)


def is_quote(lines: Sequence[str]) -> bool:
    return bool(lines) and bool(_QUOTED_LINE.match(lines[0]))


def read_block(lines: Sequence[str]) -> AnswerBlock:
    if not is_quote(lines):
        text = blank_code("\n".join(lines))
        prose = "" if text.startswith("|") or _HEADING.match(text) else text
        return AnswerBlock(find_markers(text), list(find_quotations(text)), prose)
    text = blank_code("\n".join(_QUOTED_LINE.sub("", line, count=1) for line in lines))
    quoted = [_QUOTED_LINE.sub("", line, count=1) for line in lines if _QUOTED_LINE.match(line)]
    quoted = [line for line in quoted if line.strip()]
    while len(quoted) > 1 and _ATTRIBUTION.match(quoted[-1]):
        quoted.pop()
    words = without_markers(" ".join(quoted)).strip()
    if len(words) > 1 and words[-1] in _CLOSING_QUOTES.get(words[0], "") and not QUOTE_MARK.search(words[1:-1]):
        words = words[1:-1].strip()
    return AnswerBlock(find_markers(text), [(0, words)] if has_words(words) else [])


def find_markers(text: str) -> list[tuple[int, list[int]]]:
    return [(found.start(), [int(ref) for ref in _REF.findall(found[0])]) for found in _MARKERS.finditer(text)]


def closing_marks(text: str, at: int) -> str:
    """Return what closes the quotation that the mark at this place opens; empty where it opens none.

    It opens none in ``12" pipe`` and ``Home » Legal``.
    """
    is_inch = text[at] == '"' and at > 0 and text[at - 1].isdigit()
    is_arrow = text[at] == "»" and text[at + 1 : at + 2].isspace()
    return "" if is_inch or is_arrow else _CLOSING_QUOTES.get(text[at], "")


def find_quotations(text: str) -> Iterator[tuple[int, str]]:
    """Yield what is between quotation marks. Marks inside other marks belong to the words quoted."""
    start, closing = 0, ""
    for found in QUOTE_MARK.finditer(text):
        at = found.start()
        if not closing:
            start, closing = at, closing_marks(text, at)
        elif found[0] in closing:
            words = without_markers(text[start + 1 : at])
            if has_words(words):
                yield start, words
            closing = ""


def has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def without_markers(text: str) -> str:
    return " ".join(_MARKERS.sub(" ", text).split())


def blank_code(text: str) -> str:
    """Return text with code spans blanked out, positions unchanged. A run of backticks that none closes is no code."""
    if "`" not in text:
        return text
    runs = [(found.start(), found.end()) for found in _BACKTICKS.finditer(text)]
    # From the last run to the first, each run learns its closer: one pass, however many runs stay open.
    closing: dict[int, int] = {}  # index of a run: index of the next run of the same length
    following: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        if length in following:
            closing[index] = following[length]
        following[length] = index
    pieces, done, index = [], 0, 0
    while index < len(runs):
        end = closing.get(index)
        if end is not None:
            pieces += [text[done : runs[index][0]], " " * (runs[end][1] - runs[index][0])]
            done = runs[end][1]
        index = index + 1 if end is None else end + 1
    return "".join([*pieces, text[done:]])


# Comparing a quotation with a passage


@lru_cache(maxsize=512)
def fold_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).translate(_FOLD).split())


def readings(quotation: str) -> list[list[str]]:
    """Return the folded parts of a quotation, with and without emphasis; none where it has no words."""
    found = []
    for words in dict.fromkeys((fold_text(quotation), fold_text(_EMPHASIS.sub("", quotation)))):
        parts = [part.strip() for part in _ELISION.split(words)]
        # Punctuation inside the closing quotation mark belongs to the answer's sentence, not to the passage.
        parts = [*parts[:-1], parts[-1].rstrip(_STOPS)]
        found += [parts] if any(map(has_words, parts)) else []
    return found


def occurs(read: Iterable[Sequence[str]], passage: str) -> bool:
    """Say whether a folded passage has the parts of one of these readings word for word, in their order."""
    return any(has_parts(parts, passage) for parts in read)


def has_parts(parts: Iterable[str], passage: str) -> bool:
    at = 0
    for part in filter(None, parts):
        # It counts as whole words and numbers, not as a piece of longer ones.
        at = passage.find(part, at)
        while at >= 0 and (splits_word(passage, at) or splits_word(passage, at + len(part))):
            at = passage.find(part, at + 1)
        if at < 0:
            return False
        at += len(part)
    return True


def splits_word(passage: str, at: int) -> bool:
    """Say whether a cut at this position would split a word or a number: ``1.2|5``, ``1|.25``, ``cov|enant``."""
    if at <= 0 or at >= len(passage):
        return False
    before, after = passage[at - 1], passage[at]
    if before.isalnum() and after.isalnum():
        is_in_number = before.isnumeric() and after.isnumeric()  # 5|亿, 五|十
        return is_in_number or not (_UNSPACED.match(before) or _UNSPACED.match(after))
    if after in ".," and before.isdigit():
        return passage[at + 1 : at + 2].isdigit()
    return before in ".," and after.isdigit() and passage[at - 2 : at - 1].isdigit()
