"""What the offline analyst says: quotations with their sources, or that these filings do not answer.

Never a bare number, never a source that was not returned, never a sentence of its own about a company.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.providers.analyst.passages import Passage, read_passages
from chat.providers.analyst.question import Kind, Question
from chat.providers.analyst.quoting import quotation
from chat.providers.analyst.scoring import THRESHOLD, Found, Scorer, choose, unknown_name
from chat.providers.analyst.words import stem

CONNECT_LINE = "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"
REFUSAL = "These filings do not answer this."
MAX_QUOTES = 3
_SHOWN_COMPANIES = 5
_KIND_WORDS: dict[Kind, str] = {
    "number": "a number",
    "money": "an amount",
    "percent": "a share or a rate",
    "date": "a date",
    "person": "a person or a body",
    "place": "a place",
    "reason": "a reason",
    "any": "a statement",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """``thinking`` is what it did, step by step; ``notes`` are for the scratchpad, should one be asked for."""

    thinking: str
    summary: tuple[str, ...]
    answer: str
    notes: str = ""


def plan_note(question: Question) -> str:
    """Say how the question was understood, before the search."""
    whom = f"It names {', '.join(question.names)}." if question.names else "It names no company that I can tell."
    years = f" It speaks of {', '.join(sorted(question.years))}." if question.years else ""
    return (
        f"The question asks for {_KIND_WORDS[question.kind]}. {whom}{years} "
        f"I can only read filings, so I look there for: {question.query}."
    )


def small_talk() -> Reply:
    """Say what this is, and how to get more."""
    return Reply(
        thinking="Nothing here can be looked up in a filing, so there is nothing to search for.",
        summary=("Read the message: it asks for nothing that a filing could answer.", "Searched nothing."),
        answer=(
            "I am the offline analyst. I look up the filings on this server and quote them word for word; I do not "
            "reason or converse. Ask about a company whose filings are here.\n\n"
            f"To talk with a language model, put one line into `.env` and restart:\n\n```\n{CONNECT_LINE}\n```"
        ),
    )


def no_search() -> Reply:
    """Say that there is nothing to search with."""
    return Reply(
        thinking="No search tool was offered with this message, and I know nothing that I have not looked up.",
        summary=("Looked for a way to search the filings; none was offered.", "Answered nothing from memory."),
        answer="I cannot search the filings here, and I answer only from what I find in them.",
    )


def failed_search(text: str) -> Reply:
    """Say that the search gave no passages to read. ``text`` is what came instead; it is not repeated."""
    return Reply(
        thinking=f"The search came back with {len(text)} characters and no passages: there is nothing to quote.",
        summary=("Searched the filings.", "Got no passages back, so nothing is cited."),
        answer="The search of the filings did not work, so I cannot answer. Try again.",
    )


def answer(question: Question, message: Mapping[str, Any]) -> Reply:
    """Answer from one tool message alone: its passages and what it says was searched."""
    passages = read_passages(message)
    searched = message.get("searched")
    scope = searched if isinstance(searched, Mapping) else {}
    found = Scorer(question, passages).ranked()
    stranger = unknown_name(question, passages)
    is_record = question.asks_record and not question.topics
    chosen = [] if stranger or is_record else choose(found, limit=MAX_QUOTES, across=question.compares)
    records = _records(question, chosen, passages) if not stranger else []
    text = _answer(question, chosen, records) if chosen or records else _refusal(question, scope, passages, stranger)
    summary = (_searched_bullet(question, scope), *_reading_bullets(found, passages, chosen))
    return Reply(_thinking(passages, found, chosen, stranger), summary, text, _notes(found))


def _answer(question: Question, chosen: Sequence[Found], records: Sequence[str]) -> str:
    wanted = frozenset(map(stem, (*question.topics, *question.frames, *question.years)))
    lines = [f"- {_source(one.passage)}{_quoted(one, wanted)} [{one.passage.ref}]" for one in chosen]
    lead = "The filings say this, word for word:" if chosen else "This is what is known of the filing here:"
    return "\n".join([lead, "", *records, *lines])


def _quoted(one: Found, wanted: frozenset[str]) -> str:
    columns = f", under the columns {quotation(one.piece.header, wanted)}" if one.piece.header else ""
    return f"{columns}: {quotation(one.piece.text, wanted)}"


def _source(passage: Passage) -> str:
    return f"{passage.company}, {passage.filing}{_dated(passage)}, {passage.section or 'no section'}"


def _dated(passage: Passage) -> str:
    if passage.date:
        return f" filed {passage.date}"
    return f" for {passage.period}" if passage.period else ""


def _records(question: Question, chosen: Sequence[Found], passages: Sequence[Passage]) -> list[str]:
    """Return what the records of the filings say, where that is what was asked."""
    if not question.asks_record or not question.names:
        return []
    of = [one.passage for one in chosen] or list(passages[:1])
    filings = {(passage.company, passage.filing, passage.period): passage for passage in of}
    return [
        f"- {passage.company}, {passage.filing}, "
        f"{f'filed {passage.date}' if passage.date else 'filing date not known here'}"
        f"{f', period {passage.period}' if passage.period else ''} [{passage.ref}]"
        for passage in filings.values()
    ]


def _refusal(question: Question, scope: Mapping[str, Any], passages: Sequence[Passage], stranger: str | None) -> str:
    why = f"No filing of {stranger} is among them." if stranger else _nearest(passages)
    return f"{REFUSAL} {why}\n\n{_searched_line(question, scope)}"


def _nearest(passages: Sequence[Passage]) -> str:
    if not passages:
        return "The search found no passage."
    return "The passages that come nearest hold too little of what was asked to be quoted as an answer."


def _searched_line(question: Question, scope: Mapping[str, Any]) -> str:
    count = scope.get("filings")
    among = f", among {count} {'filing' if count == 1 else 'filings'}" if isinstance(count, int) else ""
    companies = [name for name in scope.get("companies") or () if isinstance(name, str)]
    more = f" and {len(companies) - _SHOWN_COMPANIES} more" if len(companies) > _SHOWN_COMPANIES else ""
    of = f" of {'; '.join(companies[:_SHOWN_COMPANIES])}{more}" if among and companies else ""
    return f"Searched for: {scope.get('query') or question.query}{among}{of}."


def _searched_bullet(question: Question, scope: Mapping[str, Any]) -> str:
    company = scope.get("company")
    only = f", only in those of {company}" if isinstance(company, str) else ""
    return f"Searched the filings for “{scope.get('query') or question.query}”{only}."


def _reading_bullets(found: Sequence[Found], passages: Sequence[Passage], chosen: Sequence[Found]) -> tuple[str, ...]:
    if not passages:
        return ("Found no passage, so nothing is cited.",)
    compared = f"Compared {len(found)} sentences and table rows of {len(passages)} passages with the question's words."
    if not chosen:
        return (compared, "Quoted none of them as an answer: none holds enough of what was asked.")
    which = "the one that holds" if len(chosen) == 1 else f"the {len(chosen)} that hold"
    return (compared, f"Quoted {which} most of them, word for word.")


def _thinking(
    passages: Sequence[Passage], found: Sequence[Found], chosen: Sequence[Found], stranger: str | None
) -> str:
    companies = "; ".join(dict.fromkeys(passage.company for passage in passages)) or "nobody"
    came = f"{len(passages)} passages came back, of {companies}."
    if stranger:
        return f"{came} The question is about {stranger}, and none of these is. Their words would be another's answer."
    best = f" The best sentence scores {found[0].score:.2f}; an answer needs {THRESHOLD}." if found else ""
    verdict = f" I quote {len(chosen)}." if chosen else " That is too little, so I say so."
    return f"{came}{best}{verdict}"


def _notes(found: Sequence[Found]) -> str:
    best = [f"[{one.passage.ref}] {one.score:.2f} {one.passage.section}" for one in found[:5]]
    return f"Threshold {THRESHOLD}. Best pieces: {'; '.join(best) or 'none'}."
