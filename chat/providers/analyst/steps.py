"""The analyst's next step: search, read a passage, or answer from what came back. It keeps no state of its own.

Each step is told from the messages alone, so the first search of a question, the wider one and the look for the opening
of a business section are known by what the tool says was searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.providers.analyst.answer import answer, overview, read, scope_of
from chat.providers.analyst.followup import read_follow_up
from chat.providers.analyst.history import Asked, read_messages, tool_answer
from chat.providers.analyst.names import distinctive
from chat.providers.analyst.overview import OVERVIEW_LIMIT, OVERVIEW_QUERY, names_only, unread_opening
from chat.providers.analyst.passages import Passage, read_passages
from chat.providers.analyst.question import Question, read_question
from chat.providers.analyst.replies import (
    Reply,
    failed_search,
    no_search,
    overview_note,
    plan_note,
    read_note,
    small_talk,
)
from chat.providers.analyst.words import stem, stems_of

SEARCH_TOOL = "searchFilings"
READ_TOOL = "readPassage"
_LIMIT = 8
_MOST_SEARCHES = 3
_MAX_COMPANY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Call:
    """A decision to use a tool: what is said before, and the arguments."""

    thinking: str
    tool: str
    arguments: Mapping[str, Any]


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Call | Reply:
    """Choose the next step: search for the last question, or answer from the tool message that came back."""
    asked = read_messages(messages)
    question = read_follow_up(asked.text, asked.earlier, asked.known)
    offered = _offered(tools)
    if messages and messages[-1].get("role") == "tool":
        return _after_tool(question, asked, offered)
    if question.is_small_talk:
        return small_talk()
    if SEARCH_TOOL not in offered:
        return no_search()
    if question.carried and question.is_bare_name:
        return _search_all(_of_all(question), f"{question.text} may be a company's name. I look in all filings.")
    return _overview(question.company) if question.is_overview and question.company else _search(question)


def _after_tool(question: Question, asked: Asked, offered: frozenset[str]) -> Call | Reply:
    message = tool_answer(asked.results[-1]) if asked.results else None
    if message is None:
        return failed_search(asked.results[-1] if asked.results else "")
    scope = scope_of(message)
    if scope.get("url"):
        first = tool_answer(asked.results[0])
        return overview(question, message if message["passages"] or first is None else first)
    if (
        SEARCH_TOOL in offered
        and len(asked.results) < _MOST_SEARCHES
        and (step := _search_again(question, asked, message))
    ):
        return step
    if str(scope.get("query")).startswith(OVERVIEW_QUERY):
        return _opening(question, message, offered)
    return _answer(question, asked, message)


def _answer(question: Question, asked: Asked, message: Mapping[str, Any]) -> Reply:
    """Answer; after a look at all filings only if the question does name a company there, else from the one before."""
    if not question.carried or scope_of(message).get("company") or not question.company:
        return answer(question, message)
    if _names_one_of(question, read_passages(message)):
        return answer(_of_all(question), message)
    return answer(question, tool_answer(asked.results[0]) or message)


def _search_again(question: Question, asked: Asked, message: Mapping[str, Any]) -> Call | None:
    """Return the search that the one before calls for, if any."""
    company, passages = scope_of(message).get("company"), read_passages(message)
    if isinstance(company, str) and company:
        if not passages and not question.carried:
            # The name may be a place or a product that some company's filing speaks of.
            return _search_all(
                question, f"No filing of {company.rstrip('.')} holds these words. I look in all of them."
            )
        if question.carried and _may_name_another(question, message):
            return _search_all(_of_all(question), "The question may name another company. I look in all filings.")
    elif names_only(read_question(asked.text), passages):
        return _search(question) if question.topics and question.company else _overview(passages[0].company)
    elif question.carried and question.is_bare_name:
        return _search(question)
    return None


def _may_name_another(question: Question, message: Mapping[str, Any]) -> bool:
    """Say whether a word that is written like a name is nowhere in what was found, and nothing found answers."""
    here = stems_of(" ".join(f"{one.company} {one.text}" for one in read_passages(message)))
    return any(stem(word) not in here for word in question.nameable) and not read(question, message).is_answer


def _names_one_of(question: Question, passages: Sequence[Passage]) -> bool:
    asked = stems_of(question.text)
    return any(distinctive(passage.company) & asked for passage in passages)


def _of_all(question: Question) -> Question:
    """Return the question without the company that it took over from the one before."""
    return replace(question, names=(), carried=None) if question.carried else question


def _opening(question: Question, message: Mapping[str, Any], offered: frozenset[str]) -> Call | Reply:
    url = unread_opening(read_passages(message)) if READ_TOOL in offered else None
    return Call(read_note(), READ_TOOL, {"url": url}) if url else overview(question, message)


def _search(question: Question) -> Call:
    arguments: dict[str, Any] = {"query": question.query, "limit": _LIMIT}
    if question.company:
        return Call(plan_note(question), SEARCH_TOOL, {**arguments, "company": question.company[:_MAX_COMPANY_CHARS]})
    return Call(plan_note(question), SEARCH_TOOL, {**arguments, "query": question.wide_query})


def _search_all(question: Question, thinking: str) -> Call:
    return Call(thinking, SEARCH_TOOL, {"query": question.wide_query, "limit": _LIMIT})


def _overview(company: str) -> Call:
    arguments = {
        "query": f"{OVERVIEW_QUERY} {company}"[:300],
        "limit": OVERVIEW_LIMIT,
        "company": company[:_MAX_COMPANY_CHARS],
    }
    return Call(overview_note(company), SEARCH_TOOL, arguments)


def _offered(tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    functions = (tool.get("function") for tool in tools)
    return frozenset(str(function.get("name")) for function in functions if isinstance(function, Mapping))
