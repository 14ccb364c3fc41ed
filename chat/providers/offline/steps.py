"""The analyst's next step: search, or answer from what came back. It keeps no state of its own.

The conversation is read from the messages alone. A follow-up takes from the turns before it what it lacks: the company,
where it names none, and the topics, where it has none of its own ("And in 2023?").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.providers.offline.passages import ToolMessage, read_result
from chat.providers.offline.question import Question, first_word, read_question, stems_of, words_of
from chat.providers.offline.reply import FAILED_SEARCH, NO_SEARCH, SMALL_TALK, Reply, answer, overview, select

SEARCH_TOOL = "searchFilings"
OVERVIEW_QUERY = "business overview company general background subsidiaries"
_LIMIT, _OVERVIEW_LIMIT = 8, 20
_MAX_SEARCHES = 3
_MAX_TURNS = 7
_MAX_COMPANY_CHARS = 200
_MARKER = re.compile(r"\[(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\]")
_LEAD = re.compile(r"^\W*(?:and|or|but|so|then|also|what about|how about|what of|same for)\b", re.I)
_CONTINUES = re.compile(
    r"^\W*(?:and|or|but|so|why|when|where|who|which|what about|how|more|else|go on|continue)\b", re.I
)
_CLAUSE = re.compile(
    r"\b(?:how|who|why|when|where|which|what|is|are|was|were|does|do|did|has|have|had|can|will)\b", re.I
)
_PRONOUN = re.compile(r"\b(?:they|them|this|that|these|those)\b", re.I)
_HEADLESS = re.compile(
    r"\b(?:how many|how much|which|what)\s+(?:is|are|was|were|has|have|had|of)\b", re.I
)  # are leased?
_ABOUT_COMPANY = re.compile(r"\b(?:it|its|they|their)\b", re.I)
_ASKS_ALL = re.compile(
    r"\b(?:which|what|any|all|each|every|these|those|other|another)\s+(?:of\s+(?:the|these|those)\s+)?"
    r"(?:other\s+)?(?:compan(?:y|ies)|filings?|firms?|business(?:es)?)\b|\bwho else\b|\bwhich one\b|\beveryone\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A decision to use a tool: what is said before, and the arguments."""

    thinking: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass
class _Turn:
    text: str
    results: list[ToolMessage | None] = field(default_factory=list)
    answer: str = ""


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> ToolRequest | Reply:
    """Choose the next step: search for the last question, or answer from the tool message that came back."""
    turns = _read_turns(messages)
    question = _read_questions(turns)
    functions = (tool.get("function") for tool in tools)
    may_search = any(isinstance(one, Mapping) and one.get("name") == SEARCH_TOOL for one in functions)
    results = turns[-1].results if turns else []
    if not results:
        if question.is_small_talk:
            return SMALL_TALK
        return _search(question) if may_search else NO_SEARCH

    result = results[-1]
    if result is None:
        return FAILED_SEARCH
    if str(result.searched.get("query")).startswith(OVERVIEW_QUERY):
        return overview(question, result)
    # Whether the last search left out the company that the question carries, and looked in all filings.
    is_widened = question.company is not None and not result.searched.get("company")
    if may_search and len(results) < _MAX_SEARCHES:
        companies = result.companies
        if len(companies) == 1 and question.is_overview(companies[0]):
            return _search_overview(companies[0])
        if question.company and not is_widened and _may_name_another(question, result):
            thinking = "The question may name another company. I look in all filings."
            return _search(replace(question, company=None), thinking)
    if not is_widened:
        return answer(question, result)
    if _names_one_of(question, result.companies):
        return answer(replace(question, company=None), result)
    return answer(question, results[0] or result)


def _search(question: Question, thinking: str = "") -> ToolRequest:
    arguments: dict[str, Any] = {"query": question.query, "limit": _LIMIT}
    if question.company:
        arguments["company"] = question.company[:_MAX_COMPANY_CHARS]
        whom = f"It names no company, so I stay with the one before: {question.company.rstrip('.')}."
    elif question.is_foreign:
        whom = "It is not in English, so I take its words as they stand."
    else:
        whom = f"It names {', '.join(question.names)}." if question.names else "It names no company that I can tell."
    thinking = thinking or f"{whom} I can only read filings, so I look there for: {question.query}."
    return ToolRequest(thinking, SEARCH_TOOL, arguments)


def _search_overview(company: str) -> ToolRequest:
    name = company[:_MAX_COMPANY_CHARS]
    arguments = {"query": f"{OVERVIEW_QUERY} {name}", "limit": _OVERVIEW_LIMIT, "company": name}
    thinking = f"Only a company is named: {company.rstrip('.')}. I look for where its filing says what it does."
    return ToolRequest(thinking, SEARCH_TOOL, arguments)


def _may_name_another(question: Question, result: ToolMessage) -> bool:
    """Say whether nothing found answers, and a word with a capital is nowhere in what was found."""
    known = stems_of(" ".join(f"{one.company} {one.text}" for one in result.passages))
    # Three capitals are an acronym: *Who is the CEO?*
    capitals = " ".join(re.findall(r"\b[A-Z]{4,}\b|\b[A-Z][a-z]\w*", _CLAUSE.sub(" ", question.text)))
    return not stems_of(capitals) <= known and not select(question, result)[1]


def _names_one_of(question: Question, companies: Sequence[str]) -> bool:
    return any(first_word(company) & stems_of(question.text) for company in companies)


def _read_turns(messages: Sequence[Mapping[str, Any]]) -> list[_Turn]:
    """Read the last turns. Messages of any odd shape are passed over."""
    turns: list[_Turn] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, Mapping))
            content = " ".join(part for part in parts if isinstance(part, str))
        text = content if isinstance(content, str) else ""
        match message.get("role"):
            case "user":
                turns.append(_Turn(text))
            case "tool" if turns:
                turns[-1].results.append(read_result(text))
            case "assistant" if turns:
                turns[-1].answer += text
    return turns[-_MAX_TURNS:]


def _read_questions(turns: Sequence[_Turn]) -> Question:
    """Return the last question, completed from those before it. Small talk in between is passed over."""
    question = read_question("")
    previous: Question | None = None
    company: str | None = None
    known: set[str] = set()
    for turn in turns:
        question = read_question(turn.text)
        is_follow_up = previous and _CONTINUES.match(question.text) and not question.is_about_analyst
        if question.is_small_talk and not is_follow_up:
            continue
        if previous:
            question = _complete(question, previous, company, known)
        previous = question
        results = [result for result in turn.results if result]
        known |= {name for result in results for name in result.companies}
        company = _company_of(turn, results) or (question.company if not question.names else None)
    return question


def _complete(question: Question, previous: Question, company: str | None, known: set[str]) -> Question:
    """Take from the question before what this one lacks."""
    it = _ABOUT_COMPANY.search(question.text)
    places = [question.text.find(name) for name in question.names]
    if it and places and company and it.start() < min(places) and not question.compares:
        # *What does it say about China?* names a thing, not another company.
        words = [word for name in question.names for word in words_of(name)]
        question = replace(question, names=(), topics=tuple(dict.fromkeys((*question.topics, *words))))
    is_named = question.names or _names_one_of(question, sorted(known)) or _ASKS_ALL.search(question.text)
    if not is_named:
        question = replace(question, company=company, names=() if company else previous.names)
    named = stems_of(" ".join((*question.names, *known)))
    topics = [word for word in question.topics if question.names or not stems_of(word) <= named]
    before = [word for word in previous.topics if not stems_of(word) <= stems_of(" ".join((*previous.names, *known)))]
    kind = previous.kind if question.kind == "any" else question.kind
    is_bare_name = question.names and not _LEAD.match(question.text) and not question.text.endswith("?")
    if not topics and not question.asks_record and not is_bare_name:
        # *And in 2023?*, *What about Amrum Lines?*
        frames = tuple(dict.fromkeys((*previous.frames, *question.frames)))
        topics = list(dict.fromkeys((*question.topics, *before)))
        return replace(question, topics=tuple(topics), frames=frames, kind=kind, years=question.years or previous.years)
    rest = _LEAD.sub("", question.text)
    is_fragment = rest != question.text and not _CLAUSE.search(rest)
    if len(topics) == 1 and (is_fragment or _PRONOUN.search(question.text) or _HEADLESS.search(question.text)):
        # *How many are leased?*: the words before help to search, and weigh little.
        frames = tuple(dict.fromkeys((*question.frames, *(word for word in before if word not in topics))))
        return replace(question, frames=frames, kind=kind if is_fragment else question.kind)
    return question


def _company_of(turn: _Turn, results: Sequence[ToolMessage]) -> str | None:
    """Return the one company that the answer cites, else the one that the first search was narrowed to."""
    companies = {passage.ref: passage.company for result in results for passage in result.passages}
    refs = {int(ref) for found in _MARKER.findall(turn.answer) for ref in re.findall(r"\d+", found)}
    cited = {companies[ref] for ref in refs if companies.get(ref)}
    if len(cited) == 1:
        return cited.pop()
    narrowed = results[0].searched_companies if results else ()
    return narrowed[0] if len(narrowed) == 1 else None
