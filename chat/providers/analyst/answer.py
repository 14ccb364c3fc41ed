"""What the offline analyst answers: quotations with their sources, or that these filings do not answer.

Never a bare number, never a source that was not returned, never a sentence of its own about a company.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.providers.analyst.choosing import choose
from chat.providers.analyst.names import unknown_name
from chat.providers.analyst.overview import opening
from chat.providers.analyst.passages import Passage, read_passages
from chat.providers.analyst.question import Question
from chat.providers.analyst.quoting import quotation
from chat.providers.analyst.replies import Reply
from chat.providers.analyst.scoring import THRESHOLD, Found, Scorer
from chat.providers.analyst.wording import counted, echoed, ended, escaped
from chat.providers.analyst.words import stem

REFUSAL = "These filings do not answer this."
LEAD = "The filings say this, word for word:"
ENGLISH_ONLY = "I read English questions; I looked for the names and words of this one as they stand."
MAX_QUOTES = 3
_SHOWN_COMPANIES = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """What was made of one tool message: its passages, the pieces by rank, and those that are quoted."""

    question: Question
    scope: Mapping[str, Any]
    passages: tuple[Passage, ...]
    found: tuple[Found, ...]
    stranger: str | None
    chosen: tuple[Found, ...]
    records: tuple[str, ...]

    @property
    def is_answer(self) -> bool:
        return bool(self.chosen or self.records)


def read(question: Question, message: Mapping[str, Any]) -> Reading:
    """Weigh the passages of one tool message for a question."""
    passages = read_passages(message)
    found = tuple(Scorer(question, passages).ranked())
    scope = scope_of(message)
    is_searched = bool(scope.get("company") and scope.get("filings"))
    stranger = unknown_name(question, passages, is_searched=is_searched)
    is_record = question.asks_record and not question.topics
    chosen = () if stranger or is_record else tuple(choose(found, question, limit=MAX_QUOTES))
    records = () if stranger else tuple(_records(question, chosen, passages))
    return Reading(question, scope, passages, found, stranger, chosen, records)


def answer(question: Question, message: Mapping[str, Any]) -> Reply:
    """Answer from one tool message alone: its passages and what it says was searched."""
    reading = read(question, message)
    text = _answer(reading) if reading.is_answer else _refusal(reading)
    summary = (_searched_bullet(question, reading.scope), *_reading_bullets(reading))
    return Reply(_thinking(reading), summary, _noted(question, text), _notes(reading.found))


def overview(question: Question, message: Mapping[str, Any]) -> Reply:
    """Quote how the filing of a company begins to say what it does."""
    passages, scope = read_passages(message), scope_of(message)
    found = opening(passages)
    came = f"{counted(len(passages), 'passage')} came back, of {_companies(passages)}."
    searched = _searched_bullet(question, scope)
    if found is None:
        reading = replace(read(question, message), chosen=(), records=())
        return Reply(
            f"{came} None opens a description of the company, so I say so.",
            (searched, "Found no opening of a business section to quote."),
            _refusal(reading, hint="Ask for something that it reports, such as its revenue."),
        )
    passage, words = found
    line = f"- {_source(passage)}: {quotation(words, frozenset())} [{passage.ref}]"
    return Reply(
        f"{came} Passage {passage.ref} opens with what the company does. I quote its beginning.",
        (searched, "Quoted the opening of what the company says about its business, word for word."),
        f"{LEAD}\n\n{line}",
    )


def scope_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a tool message says was searched."""
    searched = message.get("searched")
    return searched if isinstance(searched, Mapping) else {}


def _noted(question: Question, text: str) -> str:
    return f"{ENGLISH_ONLY}\n\n{text}" if question.is_foreign else text


def _answer(reading: Reading) -> str:
    question = reading.question
    wanted = frozenset(map(stem, (*question.topics, *question.frames, *question.years)))
    lines = [f"- {_source(one.passage)}{_quoted(one, wanted)} [{one.passage.ref}]" for one in reading.chosen]
    lead = LEAD if reading.chosen else "This is what is known of the filing here:"
    return "\n".join([lead, "", *reading.records, *lines])


def _quoted(one: Found, wanted: frozenset[str]) -> str:
    columns = f", under the columns {quotation(one.piece.header, wanted)}" if one.piece.header else ""
    return f"{columns}: {quotation(one.piece.text, wanted)}"


def _source(passage: Passage) -> str:
    return f"{escaped(passage.company)}, {passage.filing}{_dated(passage)}, {passage.section or 'no section'}"


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
        f"- {escaped(passage.company)}, {passage.filing}, "
        f"{f'filed {passage.date}' if passage.date else 'filing date not known here'}"
        f"{f', period {passage.period}' if passage.period else ''} [{passage.ref}]"
        for passage in filings.values()
    ]


def _refusal(reading: Reading, hint: str = "") -> str:
    stranger = reading.stranger
    why = ended(f"No filing of {escaped(stranger)} is here") if stranger else _nearest(reading.passages)
    return f"{REFUSAL} {why}{f' {hint}' if hint else ''}\n\n{_searched_line(reading.question, reading.scope)}"


def _nearest(passages: Sequence[Passage]) -> str:
    if not passages:
        return "The search found no passage."
    return "The passages that come nearest hold too little of what was asked to be quoted as an answer."


def _searched_line(question: Question, scope: Mapping[str, Any]) -> str:
    count = scope.get("filings")
    among = f", among {counted(count, 'filing')}" if isinstance(count, int) and count else ""
    companies = [escaped(name) for name in scope.get("companies") or () if isinstance(name, str)]
    more = f" and {len(companies) - _SHOWN_COMPANIES} more" if len(companies) > _SHOWN_COMPANIES else ""
    of = f" of {'; '.join(companies[:_SHOWN_COMPANIES])}{more}" if among and companies else ""
    return ended(f"Searched for: {echoed(str(scope.get('query') or question.query))}{among}{of}")


def _searched_bullet(question: Question, scope: Mapping[str, Any]) -> str:
    """Say what was searched, as plain text. One company goes by the name that its filings bear."""
    asked, found = scope.get("company"), scope.get("companies")
    names = found if isinstance(found, list) and len(found) == 1 else [asked]
    only = f", only in those of {names[0]}" if isinstance(asked, str) and isinstance(names[0], str) else ""
    return ended(f"Searched the filings for “{scope.get('query') or question.query}”{only}")


def _reading_bullets(reading: Reading) -> tuple[str, ...]:
    if not reading.passages:
        return ("Found no passage, so nothing is cited.",)
    pieces = counted(len(reading.found), "sentence or table row").replace(
        "sentence or table rows", "sentences and table rows"
    )
    compared = f"Compared {pieces} of {counted(len(reading.passages), 'passage')} with the question's words."
    if not reading.chosen:
        return (compared, "Quoted none of them as an answer: none holds enough of what was asked.")
    count = len(reading.chosen)
    which = "the one that holds" if count == 1 else f"the {count} that hold"
    return (compared, f"Quoted {which} most of them, word for word.")


def _thinking(reading: Reading) -> str:
    passages, found, stranger = reading.passages, reading.found, reading.stranger
    came = f"{counted(len(passages), 'passage')} came back, of {_companies(passages)}."
    if stranger:
        return f"{came} The question is about {stranger}, and none of these is. Their words would be another's answer."
    best = f" The best sentence scores {found[0].score:.2f}; an answer needs {THRESHOLD}." if found else ""
    verdict = f" I quote {len(reading.chosen)}." if reading.chosen else " That is too little, so I say so."
    return f"{came}{best}{verdict}"


def _companies(passages: Sequence[Passage]) -> str:
    return "; ".join(dict.fromkeys(passage.company for passage in passages)).rstrip(".") or "nobody"


def _notes(found: Sequence[Found]) -> str:
    best = [f"[{one.passage.ref}] {one.score:.2f} {one.passage.section}" for one in found[:5]]
    return f"Threshold {THRESHOLD}. Best pieces: {'; '.join(best) or 'none'}."
