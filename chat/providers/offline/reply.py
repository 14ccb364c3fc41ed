"""What the offline analyst answers: quotations with their sources, or that these filings do not answer.

Never a bare number, never a source that was not returned, never a sentence of its own about a company.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chat.providers.offline.passages import FiledPassage, ToolMessage
from chat.providers.offline.question import Question, first_word, stem, words_of
from chat.providers.offline.ranking import THRESHOLD, ScoredPiece, choose, rank, unknown_name

CONNECT_LINE = "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"
MAX_QUOTE_CHARS = 600
_MAX_QUOTES = 3
_SHOWN_COMPANIES = 5
_OPENING_PASSAGES = 3
_REFUSAL = "These filings do not answer this."
_LEAD = "The filings say this, word for word:"
_ENGLISH_ONLY = "I read English questions; I looked for the names and words of this one as they stand."
_BULLET = re.compile(r"^[\s•·▪◦●\-–—*]+")
_MARKER_OR_TAG = re.compile(r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]|<[^>\s][^>]*>")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#~|]|&(?=#?\w+;))")
_ORDINAL = re.compile(r"-p(\d+)$")


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
    "reason or converse. Ask about a company whose filings are here.\n\n"
    f"To talk with a language model, put one line into `.env` and restart:\n\n```\n{CONNECT_LINE}\n```",
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
    candidates = rank(question, result.passages)
    is_record_only = question.asks_record and not question.topics
    if is_record_only or unknown_name(question, result):
        return candidates, []
    return candidates, choose(candidates, question, limit=_MAX_QUOTES)


def answer(question: Question, result: ToolMessage) -> Reply:
    """Answer from one search alone: its passages and what it says was searched."""
    candidates, chosen = select(question, result)
    stranger = unknown_name(question, result)
    records = [] if stranger or not question.asks_record else _records(chosen, result.passages)
    if chosen or records:
        wanted = frozenset(map(stem, (*question.topics, *question.frames, *question.years)))
        lines = [f"- {_source(one.passage)}{_quoted(one, wanted)} [{one.passage.ref}]" for one in chosen]
        text = "\n".join([_LEAD if chosen else "This is what is known of the filing here:", "", *records, *lines])
    else:
        text = _refusal(question, result, stranger)
    text = f"{_ENGLISH_ONLY}\n\n{text}" if question.is_foreign else text
    found = f"{counted(len(result.passages), 'passage')} came back, of {_companies(result)}."
    best = f" The best sentence scores {candidates[0].score:.2f}; an answer needs {THRESHOLD}." if candidates else ""
    if stranger:
        verdict = f" The question is about {stranger}, and none of these is."
    else:
        verdict = best + (f" I quote {len(chosen)}." if chosen else " That is too little, so I say so.")
    if result.passages:
        bullets = [f"Compared {counted(len(result.passages), 'passage')} with the question's words, piece by piece."]
        bullets.append(
            f"Quoted {len(chosen)} of them, word for word." if chosen else "Quoted none of them as an answer."
        )
    else:
        bullets = ["Found no passage, so nothing is cited."]
    scores = "; ".join(f"[{one.passage.ref}] {one.score:.2f} {one.passage.section}" for one in candidates[:5])
    notes = f"Threshold {THRESHOLD}. Best pieces: {scores or 'none'}."
    return Reply(f"{found}{verdict}", (_searched_bullet(question, result), *bullets), text, notes)


def overview(question: Question, result: ToolMessage) -> Reply:
    """Quote how the filing of a company begins to say what it does."""
    found = f"{counted(len(result.passages), 'passage')} came back, of {_companies(result)}."
    opening = _opening(result.passages)
    if opening is None:
        return Reply(
            f"{found} None opens a description of the company, so I say so.",
            (_searched_bullet(question, result), "Found no opening of a business section to quote."),
            _refusal(question, result, hint="Ask for something that it reports, such as its revenue."),
        )
    passage, sentence = opening
    return Reply(
        f"{found} Passage {passage.ref} opens with what the company does. I quote its beginning.",
        (
            _searched_bullet(question, result),
            "Quoted the opening of what the company says about its business, word for word.",
        ),
        f"{_LEAD}\n\n- {_source(passage)}: {quotation(sentence)} [{passage.ref}]",
    )


def _opening(passages: Sequence[FiledPassage]) -> tuple[FiledPassage, str] | None:
    """Return the passage that says what the company is, and the sentence that does.

    In the opening of a business section any sentence will do if none begins with the company itself.
    """

    def ordinal(passage: FiledPassage) -> int:
        found = _ORDINAL.search(passage.url)
        return int(found[1]) if found else 10_000

    business = sorted((one for one in passages if one.section == "Item 1"), key=ordinal)
    openings = [one for one in business if ordinal(one) <= _OPENING_PASSAGES]
    sentences = [
        (passage, piece.text)
        for passage in (*openings, *passages)
        for piece in passage.pieces
        if piece.kind == "sentence" and len(words_of(piece.text)) >= 6
    ]
    about = (pair for pair in sentences if _is_about_itself(*pair))
    first = next((pair for pair in sentences if pair[0] in openings), None)
    return next(about, first)


def _is_about_itself(passage: FiledPassage, sentence: str) -> bool:
    return not {*first_word(passage.company), "we", "company"}.isdisjoint(map(stem, words_of(sentence)[:3]))


def _records(chosen: Sequence[ScoredPiece], passages: Sequence[FiledPassage]) -> list[str]:
    """Return what the records of the filings say: form, filing date, period."""
    shown = [one.passage for one in chosen] or list(passages[:1])
    filings = {(passage.company, passage.filing, passage.period): passage for passage in shown}
    return [
        f"- {escaped(passage.company)}, {passage.filing}, "
        f"{f'filed {passage.date}' if passage.date else 'filing date not known here'}"
        f"{f', period {passage.period}' if passage.period else ''} [{passage.ref}]"
        for passage in filings.values()
    ]


def _refusal(question: Question, result: ToolMessage, stranger: str | None = None, hint: str = "") -> str:
    if stranger:
        why = ended(f"No filing of {escaped(stranger)} is here")
    elif result.passages:
        why = "The passages that come nearest hold too little of what was asked to be quoted as an answer."
    else:
        why = "The search found no passage."
    searched = result.searched
    count, companies = searched.get("filings"), list(map(escaped, result.searched_companies))
    more = f" and {len(companies) - _SHOWN_COMPANIES} more" if len(companies) > _SHOWN_COMPANIES else ""
    among = f", among {counted(count, 'filing')}" if isinstance(count, int) and count else ""
    of = f" of {'; '.join(companies[:_SHOWN_COMPANIES])}{more}" if among and companies else ""
    query = escaped(str(searched.get("query") or question.query).replace('"', " "))
    searched_line = ended(f'Searched for: "{query}"{among}{of}')
    return f"{_REFUSAL} {why}{f' {hint}' if hint else ''}\n\n{searched_line}"


def _searched_bullet(question: Question, result: ToolMessage) -> str:
    company = result.searched.get("company")
    # One company is called by the name in its filings.
    name = result.companies[0] if company and len(result.companies) == 1 else company
    only = f", only in those of {name}" if isinstance(name, str) else ""
    return ended(f"Searched the filings for “{result.searched.get('query') or question.query}”{only}")


def _source(passage: FiledPassage) -> str:
    dated = f" filed {passage.date}" if passage.date else f" for {passage.period}" if passage.period else ""
    return f"{escaped(passage.company)}, {passage.filing}{dated}, {passage.section or 'no section'}"


def _quoted(one: ScoredPiece, wanted: frozenset[str]) -> str:
    columns = f", under the columns {quotation(one.piece.header, wanted)}" if one.piece.header else ""
    return f"{columns}: {quotation(one.piece.text, wanted)}"


def quotation(text: str, wanted: Iterable[str] = ()) -> str:
    """Return ``text`` in double quotes. ``wanted`` are stems; a long text keeps the part that holds most of them.

    Curly quotes go around a text that holds straight ones. What would read as a citation marker or a tag is cut off.
    """
    plain = " ".join(_BULLET.sub("", text).split()).strip("| ")
    plain = max((part.strip() for part in _MARKER_OR_TAG.split(plain)), key=len)
    if len(plain) > MAX_QUOTE_CHARS:
        plain = _excerpt(plain, frozenset(wanted))
    return f"“{plain}”" if '"' in plain else f'"{plain}"'


def _excerpt(text: str, wanted: frozenset[str]) -> str:
    """Return whole words of a long text around most of the wanted ones, with dots where it is cut."""
    words = list(re.finditer(r"\S+", text))
    starts = [match.start() for match in words if wanted.intersection(map(stem, words_of(match[0])))] or [0]
    room = MAX_QUOTE_CHARS - 4
    best = max(starts, key=lambda start: (sum(start <= other < start + room for other in starts), -start))
    # A clause before the first word that is wanted, as far as there is room.
    clause = max((match.end() for match in re.finditer(r"[.;:,] ", text[:best]) if best - match.end() < 200), default=0)
    start = clause if best - clause < 200 else best
    end = max((match.end() for match in words if match.end() <= start + room), default=start + room)
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def escaped(text: str) -> str:
    """Return words that a person typed, or a filing's name, so that markdown shows them as they are."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def counted(count: int, noun: str) -> str:
    """Return ``1 passage``, ``2 passages``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, which a name such as *Inc.* may have brought along."""
    return sentence if sentence.endswith(".") else f"{sentence}."


def _companies(result: ToolMessage) -> str:
    return "; ".join(result.companies).rstrip(".") or "nobody"
