"""What the analyst says besides quotations: what it is, how it understood a question, and that a search failed."""

from __future__ import annotations

from dataclasses import dataclass

from chat.providers.analyst.kinds import Kind
from chat.providers.analyst.question import Question

CONNECT_LINE = "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"
_KIND_WORDS: dict[Kind, str] = {
    "number": "a number",
    "figure": "a figure",
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
    years = f" It speaks of {', '.join(sorted(question.years))}." if question.years else ""
    context = (
        f" Alone it says too little, so I also look for: {', '.join(question.context)}." if question.context else ""
    )
    return (
        f"The question asks for {_KIND_WORDS[question.kind]}. {_whom(question)}{years} "
        f"I can only read filings, so I look there for: {question.query}.{context}"
    )


def _whom(question: Question) -> str:
    if question.is_foreign:
        return "It is not in English, so I take its words as they stand."
    if question.carried:
        return f"It names no company, so I stay with the one before: {question.carried.rstrip('.')}."
    return f"It names {', '.join(question.names)}." if question.names else "It names no company that I can tell."


def overview_note(company: str) -> str:
    """Say that a company alone was named."""
    return f"Only a company is named: {company.rstrip('.')}. I look for where its filing says what it does."


def read_note() -> str:
    """Say that the beginning of a section is read, which the search did not return in full."""
    return "The business section is there; how it begins is not all among the passages. I read that."


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
