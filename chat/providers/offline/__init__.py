"""The offline analyst: answers with no key and no network, by quoting filings. It does not reason, and says so.

It speaks chat completions like any model: it thinks aloud, calls ``searchFilings``, and answers from the tool message
alone, so that the trace is real. It has no state; each step is decided from the messages.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chat.providers.base import ProviderRequest
from chat.providers.offline.passages import ToolMessage
from chat.providers.offline.question import (
    CONTINUES,
    Context,
    Question,
    complete,
    named_companies,
    read_conversation,
    read_question,
    split_question,
    stems_of,
)
from chat.providers.offline.ranking import THRESHOLD, unknown_name
from chat.providers.offline.reply import (
    FAILED_SEARCH,
    NO_SEARCH,
    SMALL_TALK,
    Reply,
    answer,
    join,
    list_filings,
    overview,
    select,
)
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from reasoning.prompt import CONTINUE

SEARCH_TOOL = "searchFilings"
LIST_QUERY = "exact name of registrant as specified in its charter form"
OVERVIEW_QUERY = "business overview company general background subsidiaries"
_LIMIT, _OVERVIEW_LIMIT = 8, 20
_MAX_COMPANY_CHARS = 200
_GOOD_SCORE = 0.7  # below it another search may find more
_PIECES = re.compile(r"(?:\S+\s*){1,3}|\s+")  # as much as is shown at once
_ARGUMENT_PIECE_CHARS = 40


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A decision to search: what is said before, and the arguments."""

    thinking: str
    arguments: Mapping[str, Any]


class OfflineAnalyst:
    """The provider of a fresh checkout. ``delay_ms`` paces its deltas, so that an answer streams as a model's does."""

    def __init__(self, *, delay_ms: float = 40.0) -> None:
        self.name = "Offline analyst"
        self.model = "offline-analyst"
        self.identity = "offline"
        self.starts_in_reasoning = False
        self.context_limit: int | None = None
        self.delay_s = delay_ms / 1000

    def request_body(self, request: ProviderRequest) -> dict[str, Any]:
        """Return what a service of this API would get; here nothing leaves the server."""
        head = [{"role": "system", "content": request.instructions}] if request.instructions else []
        body = {**request.body, "model": self.model, "messages": [*head, *(request.body.get("messages") or ())]}
        return {**body, "tools": list(request.tools)} if request.tools else body

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Needs nothing from outside and never fails."""
        # In a thread: weighing a few hundred sentences takes milliseconds that other streams would wait for.
        step = await asyncio.to_thread(decide, request.body.get("messages") or (), request.tools)
        answer_so_far = cut_answer(request.body.get("messages") or ())
        deltas: list[dict[str, Any]] = [{"reasoning_content": piece} for piece in _PIECES.findall(step.thinking)]
        if isinstance(step, ToolRequest):
            arguments = encode(step.arguments).decode()
            function = {"name": SEARCH_TOOL, "arguments": ""}
            calls: list[dict[str, Any]] = [
                {"id": f"call_{secrets.token_hex(8)}", "type": "function", "function": function}
            ]
            for start in range(0, len(arguments), _ARGUMENT_PIECE_CHARS):
                calls.append({"function": {"arguments": arguments[start : start + _ARGUMENT_PIECE_CHARS]}})
            deltas += [{"tool_calls": [{"index": 0, **call}]} for call in calls]
        elif answer_so_far and step.answer.startswith(answer_so_far):
            deltas = [{"content": piece} for piece in _PIECES.findall(step.answer[len(answer_so_far) :])]
        else:
            deltas += [{"content": piece} for piece in _PIECES.findall(write_sections(step, request.instructions))]
        for fields in deltas:
            yield RawFields(fields)
            await asyncio.sleep(self.delay_s)
        yield RawEnd("tool_calls" if isinstance(step, ToolRequest) else "stop", self.model)

        # Token counts are estimated, four characters to a token. Thinking is a part of the output.
        sent = len(request.instructions) + len(encode([request.body.get("messages"), *request.tools]))
        thought = len(step.thinking) // 4
        said = sum(len(encode(delta)) - len('{"content":""}') for delta in deltas if "reasoning_content" not in delta)
        yield RawUsage(sent // 4, thought + max(said // 4, 0), thought)


def cut_answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer whose rest is asked for at the end of these messages; empty where none is."""
    text = ""
    for message in reversed(messages):
        if message.get("role") == "assistant" and not message.get("tool_calls"):
            text = f"{message.get('content') or ''}{text}"
        elif message.get("content") != CONTINUE:
            break
    return text if messages and messages[-1].get("content") == CONTINUE else ""


def write_sections(reply: Reply, instructions: str) -> str:
    """Return a reply in the sections that the instructions ask for; with no instructions, in all but the scratchpad."""
    text = reply.answer
    if not instructions or "Reasoning Summary" in instructions:
        bullets = "\n".join(f"- {bullet}" for bullet in reply.summary)
        text = f"Reasoning Summary:\n{bullets}\n\nFinal Answer:\n{text}"
    if "<scratchpad>" in instructions and reply.notes:
        text = f"{text}\n\n<scratchpad>\n{reply.notes}\n</scratchpad>"
    return text


def encode(value: Any) -> bytes:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> ToolRequest | Reply:
    """Choose the next step: search for the last question, or answer from the tool messages that came back."""
    text, context, results = read_conversation(messages)
    question = complete(text, context)
    if not results:
        continues = context.previous and CONTINUES.match(text) and not question.is_about_analyst
        if read_question(text).is_small_talk and not continues:
            return SMALL_TALK
        functions = (tool.get("function") for tool in tools)
        if not any(isinstance(one, Mapping) and one.get("name") == SEARCH_TOOL for one in functions):
            return NO_SEARCH
    # The steps are replayed: each search that was made gets the result that came back for it.
    steps = look_up(text, context)
    step = next(steps)
    try:
        for result in results:
            if result is None:
                return FAILED_SEARCH
            step = steps.send(result)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    return step


def look_up(text: str, context: Context) -> Generator[ToolRequest, ToolMessage, Reply]:
    """Answer a message, each of its halves by searches of its own. Yields searches, and is sent their results."""
    halves = split_question(text)
    found: list[tuple[Question, ToolMessage]] = []
    for half in halves:
        question = complete(half, context)
        if question.asks_list:
            result = yield ToolRequest(
                "It asks which filings are here. I look for their cover pages.",
                {"query": f"{LIST_QUERY} {question.query}", "limit": _OVERVIEW_LIMIT},
            )
            return list_filings(result)
        result = yield search(question)
        if question.likely_company:
            # The search knows all companies: it is narrowed where the question names one.
            named = named_companies(question.text, result.searched.companies)
            again = complete(half, replace(context, known={*context.known, *named}))
            if not named:
                again = replace(question, company=question.likely_company, likely_company=None)
            if (again.query, again.company) != (question.query, question.company):
                other = yield search(again)
                if named or best_score(again, other) >= min(THRESHOLD, best_score(question, result)):
                    question, result = again, other
        if len(result.companies) == 1 and question.is_overview(result.companies[0]) and len(halves) == 1:
            name = result.companies[0][:_MAX_COMPANY_CHARS]
            thinking = f"Only a company is named: {name.rstrip('.')}. I look for where its filing says what it does."
            arguments = {"query": f"{OVERVIEW_QUERY} {name}", "limit": _OVERVIEW_LIMIT, "company": name}
            return overview(question, (yield ToolRequest(thinking, arguments)))
        results = [result]
        if question.company and may_name_another(question, result):
            thinking = "The question may name another company. I look in all filings."
            results.append((yield search(replace(question, company=None), thinking)))
        elif (
            question.wide_query != question.query
            and not unknown_name(question, result)
            and best_score(question, result) < _GOOD_SCORE
        ):
            thinking = "No good answer yet. I look for words that mean about the same."
            results.append((yield search(question, thinking, is_wide=True)))
        # With more words, or in all filings, more is found, and not always better.
        found.append((question, max(results, key=partial(best_score, question))))
        # The next half refers to this one.
        company = question.company or (result.searched.companies[0] if len(result.searched.companies) == 1 else None)
        context = replace(context, previous=question, names=question.names, company=company)
    return join([answer(question, result) for question, result in found], halves)


def best_score(question: Question, result: ToolMessage) -> float:
    """Return how well a result answers; 0 where nothing of it would be quoted."""
    return max((one.score for one in select(question, result)[1]), default=0.0)


def search(question: Question, thinking: str = "", *, is_wide: bool = False) -> ToolRequest:
    """Return the search for a question. ``is_wide``: also for synonyms of its words."""
    arguments: dict[str, Any] = {"query": question.wide_query if is_wide else question.query, "limit": _LIMIT}
    if question.company:
        arguments["company"] = question.company[:_MAX_COMPANY_CHARS]
        whom = f"It names no company, so I stay with the one before: {question.company.rstrip('.')}."
    elif question.is_foreign:
        whom = "It is not in English, so I search for its words without translating them."
    else:
        whom = f"It names {', '.join(question.names)}." if question.names else "It names no company that I can tell."
    return ToolRequest(thinking or f"{whom} I can only read filings, so I look there for: {question.query}.", arguments)


def may_name_another(question: Question, result: ToolMessage) -> bool:
    """Say whether nothing found answers, and a word with a capital is nowhere in what was found."""
    known = stems_of(" ".join(f"{one.company} {one.text}" for one in result.passages))
    # Three capitals are an acronym: *Who is the CEO?* The first word of a question is no name either.
    capitals = stems_of(" ".join(re.findall(r"\b[A-Z]{4,}\b|\b[A-Z][a-z]\w*", question.without_question_words)))
    return not capitals <= known and not select(question, result)[1]
