"""What the offline analyst answers: quotations with their sources, or that these filings do not answer.

Never a bare number, never a source that was not returned, never a sentence of its own about a company.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chat.providers.offline.passages import FiledPassage, ToolMessage, split_sentences
from chat.providers.offline.question import Question, first_word, named_companies, stem, stems_of, words_of
from chat.providers.offline.ranking import SIGNS, THRESHOLD, ScoredPiece, choose, rank, unknown_name

MAX_QUOTE_CHARS = 600
_MAX_QUOTES = 3
_SHOWN_COMPANIES = 5
_REFUSAL = "I couldn’t find an answer in %s."
_LEAD = "The filings say this, word for word:"
# By the kinds of the passages that are quoted; any other mixture is "the sources".
_LEADS = {
    frozenset({"filing"}): _LEAD,
    frozenset({"attachment"}): "The attached file says this, word for word:",
    frozenset({"document"}): "The documents say this, word for word:",
}
_SOURCES_LEAD = "The sources say this, word for word:"
_PLACES = {"attachment": "the attached files", "document": "the documents"}
_ENGLISH_ONLY = "I read English questions; I looked for the names and words of this one without translating them."
_REFS = re.compile(r"\[\d+\]$", re.M)
_BULLET = re.compile(r"^[\s•·▪◦●\-–—*]+")
_MARKER_OR_TAG = re.compile(r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]|<[^>\s][^>]*>")
_UNIT = re.compile(r"\bin (?:thousands|millions|billions)\b|\bin (?:USD|EUR|GBP|euros|dollars)\b", re.I)
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#~|]|&(?=#?\w+;))")


@dataclass(frozen=True, slots=True)
class Reply:
    """``thinking`` is what it did, step by step; ``notes`` are for the scratchpad, should one be asked for."""

    thinking: str
    summary: tuple[str, ...]
    answer: str
    notes: str = ""


SMALL_TALK = Reply(
    thinking="Nothing here can be looked up in a filing, so there is nothing to search for.",
    summary=("Read the message: it asks for nothing that a filing could answer.", "Searched nothing."),
    answer="I am the offline analyst. I look up the filings on this server and quote them word for word; I do not "
    "reason or converse. Ask what a company reports, such as its debt, its employees or its risks, or ask me "
    "to list all filings.",
)
NO_SEARCH = Reply(
    thinking="No search tool was offered with this message, and I know nothing that I have not looked up.",
    summary=("Looked for a way to search the filings; none was offered.", "Answered nothing from memory."),
    answer="I cannot search the filings here, and I answer only from what I find in them.",
)
FAILED_SEARCH = Reply(
    thinking="The search came back without passages that I can read: there is nothing to quote.",
    summary=("Searched the filings.", "Got no passages back, so nothing is cited."),
    answer="The search of the filings did not work, so I cannot answer. Try again.",
)


def select(question: Question, result: ToolMessage) -> tuple[list[ScoredPiece], list[ScoredPiece]]:
    """Return all candidates, best first, and those that are quoted: none where they speak of somebody else."""
    # What doesn't mention the company or document of the question speaks of something else, however alike its words.
    named = named_companies(question.text, result.companies)
    is_of_any = question.compares or " and " in question.text
    words = {one.ref: stems_of(f"{one.company} {one.title} {one.text}") for one in result.passages}
    titles = {one.ref: stems_of(one.title) & stems_of(question.text) for one in result.passages}
    shared = {word for ref in words for word in words[ref] - titles[ref]}
    required = frozenset().union(*titles.values()) - shared

    def is_about(passage: FiledPassage) -> bool:
        mentioned = [bool(first_word(company) & words[passage.ref]) for company in named]
        fitting = any if passage.is_attached or is_of_any else all
        return required <= words[passage.ref] and (not named or fitting(mentioned))

    candidates = [one for one in rank(question, result.passages) if is_about(one.passage)]
    is_record_only = question.asks_record and not question.topics
    if is_record_only or unknown_name(question, result):
        return candidates, []
    return candidates, choose(candidates, question, limit=_MAX_QUOTES)


def answer(question: Question, result: ToolMessage) -> Reply:
    """Answer from one search alone: its passages and what it says was searched."""
    # 1. What is quoted, and whether the question names a company without filings here.
    candidates, chosen = select(question, result)
    stranger = unknown_name(question, result)
    lines: list[str] = []
    if question.asks_record and not stranger:
        shown = [one.passage for one in chosen] or list(result.passages[:1])
        filings = {(one.company, one.filing, one.period): one for one in shown if one.company}
        lines += map(describe_record, filings.values())
    # 2. One line for each quotation, with its source.
    wanted = frozenset(map(stem, (*question.topics, *question.frames, *question.years)))
    for scored in chosen:
        header = scored.piece.header
        columns = f", under the columns {quotation(header, wanted)}" if header else ""
        quoted = quotation(with_reason(question, scored), wanted) + figure_asked(question, scored)
        lines.append(f"- {describe_source(scored.passage)}{columns}: {quoted} [{scored.passage.ref}]")
    if lines:
        lead = _LEADS.get(frozenset(one.passage.kind for one in chosen), _SOURCES_LEAD)
        text = "\n".join([lead if chosen else "This is what is known of the filing here:", "", *lines])
    else:
        text = refusal(question, result, stranger)
    text = f"{_ENGLISH_ONLY}\n\n{text}" if question.is_foreign else text

    # 3. The same in the shapes of a model's answer: thinking, summary and notes.
    thinking = [describe_found(result)]
    if stranger:
        thinking.append(f"The question is about {stranger}, and none of these is.")
    else:
        if candidates:
            thinking.append(f"The best sentence scores {candidates[0].score:.2f}; an answer needs {THRESHOLD}.")
        thinking.append(f"I quote {len(chosen)}." if chosen else "That is too little, so I say so.")
    found = count_words(len(result.passages), "passage")
    outcome = f"Quoted {len(chosen)} of {found}, word for word." if chosen else f"Found no answer in {found}."
    scores = "; ".join(f"[{one.passage.ref}] {one.score:.2f} {one.passage.section}" for one in candidates[:5])
    notes = f"Threshold {THRESHOLD}. Best pieces: {scores or 'none'}."
    return Reply(" ".join(thinking), (describe_search(question, result), outcome), text, notes)


def figure_asked(question: Question, scored: ScoredPiece) -> str:
    """Return the figure of a row in the one column that the question names, with its unit; empty where that is unclear.

    Cells stand under their columns, but for a label without a head.
    """
    heads, cells = (scored.piece.header.split("|"), scored.piece.text.split("|"))
    heads = [""] * (len(cells) - len(heads) == 1) + heads
    asked = question.years or frozenset(map(stem, question.topics))
    fitting = [(head.strip(), cell.strip()) for head, cell in zip(heads[1:], cells[1:], strict=False)]
    fitting = [(head, cell) for head, cell in fitting if stems_of(head) & asked and re.search(r"\d", cell)]
    if len(fitting) != 1:
        return ""
    # The last unit above the row; a percentage, or an amount for each share, has none.
    units = _UNIT.findall(scored.passage.text.partition(scored.piece.text)[0])
    has_unit = units and not re.search(r"%|\bper\b", scored.piece.text)
    return f" – {escape_markdown(': '.join(fitting[0]))}{f' ({units[-1].lower()})' if has_unit else ''}"


def join(replies: Sequence[Reply], halves: Sequence[str]) -> Reply:
    """Answer both halves of a question: what the filings say of either, or which half has no answer."""
    if len(replies) == 1 or not any(_REFS.search(reply.answer) for reply in replies):
        return replies[0]
    parts: list[str] = []
    for half, reply in zip(halves, replies, strict=True):
        asked = escape_markdown(half.strip(" ,;.?"))
        parts.append(f"{asked[:1].upper()}{asked[1:]}?")
        parts.append(reply.answer)
    thinking = " ".join(reply.thinking for reply in replies)
    summary = tuple(dict.fromkeys(bullet for reply in replies for bullet in reply.summary))
    return Reply(thinking, summary[:5], "\n\n".join(parts), "\n".join(reply.notes for reply in replies))


def list_filings(result: ToolMessage) -> Reply:
    """List the filings of the passages that were found, and say if there are more."""
    filings = {one.source or one.filing: one for one in reversed(result.passages) if one.company}
    lines = sorted(describe_record(one) for one in filings.values())
    count = max(result.searched.filings, len(lines))
    shown = f"{count_words(count, 'filing')} {'is' if count == 1 else 'are'} here"
    if count > len(lines):
        shown = (
            f"{shown}, of {count_words(len(result.searched.companies), 'company', 'companies')}. These are {len(lines)}"
        )
    return Reply(
        describe_found(result),
        ("Searched for the cover pages of the filings.", f"Listed {len(lines)} of {count_words(count, 'filing')}."),
        "\n".join([f"{shown}:" if lines else "No filing is here.", "", *lines]).strip(),
    )


def describe_record(passage: FiledPassage) -> str:
    """Return the line of a list that says what is known of a filing."""
    dated = f"filed {passage.date}" if passage.date else "filing date not known here"
    period = f", period {passage.period}" if passage.period else ""
    return f"- {escape_markdown(passage.company)}, {passage.filing}, {dated}{period} [{passage.ref}]"


def with_reason(question: Question, scored: ScoredPiece) -> str:
    """Return what is quoted of a passage: where a reason is asked for and the sentence has none, also the next one."""
    text = scored.piece.text
    if question.kind != "reason" or scored.piece.kind != "sentence" or SIGNS["reason"].search(text):
        return text
    rest = scored.passage.text.partition(text)[2].partition("\n")[0]
    return f"{text} {next(split_sentences(rest), '')}".strip()


def overview(question: Question, result: ToolMessage) -> Reply:
    """Quote how the filing of a company begins to say what it does.

    In the opening of a business section any sentence will do if none begins with the company itself.
    """
    openings = [one for one in result.passages if one.section == "Item 1" and re.search(r"-p[1-3]$", one.url)]
    openings.sort(key=lambda one: one.url)
    sentences = [
        (passage, piece.text)
        for passage in (*openings, *result.passages)
        for piece in passage.pieces
        if piece.kind == "sentence" and len(words_of(piece.text)) >= 6
    ]
    first = next((pair for pair in sentences if pair[0] in openings), None)
    for passage, sentence in sentences:
        if not {*first_word(passage.company), "we", "company"}.isdisjoint(map(stem, words_of(sentence)[:3])):
            first = passage, sentence
            break
    if first is None:
        return Reply(
            f"{describe_found(result)} None opens a description of the company, so I say so.",
            (describe_search(question, result), "Found no opening of a business section to quote."),
            refusal(question, result, hint=" Ask for something that it reports, such as its revenue."),
        )
    passage, sentence = first
    return Reply(
        f"{describe_found(result)} Passage {passage.ref} opens with what the company does. I quote its beginning.",
        (
            describe_search(question, result),
            "Quoted the opening of what the company says about its business, word for word.",
        ),
        f"{_LEAD}\n\n- {describe_source(passage)}: {quotation(sentence)} [{passage.ref}]",
    )


def refusal(question: Question, result: ToolMessage, stranger: str | None = None, hint: str = "") -> str:
    """Say that the filings don't answer, why, and what was searched."""
    if stranger:
        why = end_sentence(f"No filing of {escape_markdown(stranger)} is here")
    elif result.passages:
        why = "The closest passages say too little about the question to be quoted."
    else:
        why = "The search found no passage."
    searched = result.searched
    companies = list(map(escape_markdown, searched.companies))
    more = f" and {len(companies) - _SHOWN_COMPANIES} more" if len(companies) > _SHOWN_COMPANIES else ""
    among = f", among {count_words(searched.filings, 'filing')}" if searched.filings else ""
    of = f" of {'; '.join(companies[:_SHOWN_COMPANIES])}{more}" if among and companies else ""
    query = escape_markdown((searched.query or question.query).replace('"', " "))
    searched_line = end_sentence(f"Searched for: “{query}”{among}{of}")
    where = searched_places(result, "or", "these filings")
    return f"{_REFUSAL % where} {why}{hint}\n\n{searched_line}"


def describe_search(question: Question, result: ToolMessage) -> str:
    """Return the first bullet of a summary."""
    company = result.searched.company
    # One company is called by the name in its filings.
    name = result.companies[0] if company and len(result.companies) == 1 else company
    only = f", only in those of {name}" if name else ""
    where = searched_places(result, "and", "the filings")
    return end_sentence(f"Searched {where} for “{result.searched.query or question.query}”{only}")


def searched_places(result: ToolMessage, joint: str, filings: str) -> str:
    """Return where passages came from besides the filings, and those: ``the documents and the filings``."""
    kinds = {passage.kind for passage in result.passages}
    *others, last = [words for kind, words in _PLACES.items() if kind in kinds] + [filings]
    return f"{', '.join(others)} {joint} {last}" if others else last


def describe_found(result: ToolMessage) -> str:
    """Return how many passages came back, and of whom."""
    companies = "; ".join(result.companies).rstrip(".") or "nobody"
    return f"{count_words(len(result.passages), 'passage')} came back, of {companies}."


def describe_source(passage: FiledPassage) -> str:
    """Return company, filing, date and section, as a quotation is introduced."""
    dated = f" filed {passage.date}" if passage.date else f" for {passage.period}" if passage.period else ""
    if passage.is_attached:
        page = f"page {passage.page}" if passage.page else ""
        return ", ".join(map(escape_markdown, filter(None, (passage.title, page, passage.section))))
    return f"{escape_markdown(passage.company)}, {passage.filing}{dated}, {passage.section or 'no section'}"


def quotation(text: str, wanted: Iterable[str] = ()) -> str:
    """Return ``text`` in quotation marks. ``wanted`` are stems; a long text is cut to the part with most of them.

    Straight quotes enclose a text that holds curly ones. What would read as a citation marker or a tag is cut off.
    """
    plain = " ".join(_BULLET.sub("", text).split()).strip("| ")
    plain = max((part.strip() for part in _MARKER_OR_TAG.split(plain)), key=len)
    if len(plain) > MAX_QUOTE_CHARS:
        # Whole words around most of the wanted ones, with dots where it is cut.
        words = list(re.finditer(r"\S+", plain))
        stems = frozenset(wanted)
        starts = [match.start() for match in words if stems.intersection(map(stem, words_of(match[0])))] or [0]
        room = MAX_QUOTE_CHARS - 4
        best = max(starts, key=lambda start: (sum(start <= other < start + room for other in starts), -start))
        # A clause before the first word that is wanted, as far as there is room.
        clauses = [match.end() for match in re.finditer(r"[.;:,] ", plain[:best]) if best - match.end() < 200]
        start = max(clauses, default=0 if best < 200 else best)
        end = max((match.end() for match in words if match.end() <= start + room), default=start + room)
        plain = f"{'… ' if start else ''}{plain[start:end]}{' …' if end < len(plain) else ''}"
    is_quoting = '"' not in plain and re.search("[“”]", plain)
    return f'"{plain}"' if is_quoting else f"“{plain}”"


def escape_markdown(text: str) -> str:
    """Return words that a person typed, or a filing's name, so that markdown shows them unchanged."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def count_words(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 passage``, ``2 passages``."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def end_sentence(sentence: str) -> str:
    """Return a sentence with its full stop, which a name such as *Inc.* may have brought along."""
    return sentence if sentence.endswith(".") else f"{sentence}."
