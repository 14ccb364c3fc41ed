"""The offline analyst: answers with no key and no network, by quoting filings. It does not reason, and says so.

It speaks chat completions like any model: it thinks aloud, calls ``searchFilings``, and answers from the tool message
alone, so that the trace is real. Its chunks go through the same decoder as every other model's.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.providers.analyst.answer import Reply, answer, failed_search, no_search, plan_note, small_talk
from chat.providers.analyst.question import Question, read_question
from chat.providers.base import ProviderRequest
from chat.providers.chunks import DONE, ChunkDecoder
from reasoning.deltas import RawDelta

SEARCH_TOOL = "searchFilings"
_LIMIT = 8
_PIECES = re.compile(r"\S+\s*|\s+")
_ARGUMENT_PIECE_CHARS = 12
_EARLIER_QUESTIONS = 4


@dataclass(frozen=True, slots=True)
class _Search:
    """A decision to search: what is said before, and the arguments."""

    thinking: str
    arguments: Mapping[str, Any]


class OfflineAnalyst:
    """The provider of a fresh checkout. ``delay_ms`` paces its deltas, so that an answer streams as a model's does."""

    def __init__(self, *, delay_ms: float = 12.0, new_id: Callable[[], str] = lambda: secrets.token_hex(8)) -> None:
        self.name = "Offline analyst"
        self.model = "offline-analyst"
        self.identity = "offline"
        self.starts_in_reasoning = False
        self._delay_s = delay_ms / 1000
        self._new_id = new_id

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[RawDelta, None]:
        """Yield the pieces of one response. Needs nothing from outside and never fails."""
        decoder = ChunkDecoder()
        # In a thread: weighing a few hundred sentences takes milliseconds that other streams would wait for.
        for payload in await asyncio.to_thread(self._payloads, request):
            for delta in decoder.feed(payload):
                yield delta
            await asyncio.sleep(self._delay_s)
        for delta in decoder.finish():
            yield delta

    def _payloads(self, request: ProviderRequest) -> list[bytes]:
        """Return the response as a service would send it, one chunk of it an item."""
        step = decide(request.body.get("messages") or (), request.tools)
        deltas = list(self._call(step) if isinstance(step, _Search) else _said(step, request.instructions))
        reason = "tool_calls" if isinstance(step, _Search) else "stop"
        head = {"id": f"chatcmpl-{self._new_id()}", "object": "chat.completion.chunk", "model": self.model}
        bodies = [_choice(delta) for delta in ({"role": "assistant"}, *deltas)]
        end = [_choice({}, reason), {"choices": [], "usage": _usage(request, deltas)}]
        return [*(_encoded({**head, **body}) for body in (*bodies, *end)), DONE]

    def _call(self, step: _Search) -> Iterator[dict[str, Any]]:
        yield from ({"reasoning_content": piece} for piece in _PIECES.findall(step.thinking))
        arguments = _encoded(step.arguments).decode()
        function = {"name": SEARCH_TOOL, "arguments": ""}
        yield {"tool_calls": [{"index": 0, "id": f"call_{self._new_id()}", "type": "function", "function": function}]}
        for start in range(0, len(arguments), _ARGUMENT_PIECE_CHARS):
            piece = arguments[start : start + _ARGUMENT_PIECE_CHARS]
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> _Search | Reply:
    """Choose the next step: search for the last question, or answer from the tool message that came back."""
    asked = [_text(message) for message in messages if message.get("role") == "user"]
    question = read_question(asked[-1] if asked else "", asked[-1 - _EARLIER_QUESTIONS : -1])
    if messages and messages[-1].get("role") == "tool":
        return _after_search(question, _text(messages[-1]), tools)
    if question.is_small_talk:
        return small_talk()
    return _search(question, question.company) if _offers_search(tools) else no_search()


def _after_search(question: Question, text: str, tools: Sequence[Mapping[str, Any]]) -> _Search | Reply:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("passages"), list):
        return failed_search(text)
    searched = message.get("searched")
    company = searched.get("company") if isinstance(searched, dict) else None
    if not message["passages"] and company and _offers_search(tools):
        # The name may be a place or a product that some company's filing speaks of.
        return _search(question, None, f"No filing of {company} is here. I look in all of them for the name.")
    return answer(question, message)


def _search(question: Question, company: str | None, thinking: str = "") -> _Search:
    arguments: dict[str, Any] = {"query": question.query, "limit": _LIMIT}
    if company:
        arguments["company"] = company[:200]
    return _Search(thinking or plan_note(question), arguments)


def _said(reply: Reply, instructions: str) -> Iterator[dict[str, Any]]:
    """Yield a reply in the sections that the instructions ask for; with no instructions, in all but the scratchpad."""
    yield from ({"reasoning_content": piece} for piece in _PIECES.findall(reply.thinking))
    text = reply.answer
    if not instructions or "Reasoning Summary" in instructions:
        bullets = "\n".join(f"- {bullet}" for bullet in reply.summary)
        text = f"Reasoning Summary:\n{bullets}\n\nFinal Answer:\n{text}"
    if "<scratchpad>" in instructions and reply.notes:
        text = f"{text}\n\n<scratchpad>\n{reply.notes}\n</scratchpad>"
    yield from ({"content": piece} for piece in _PIECES.findall(text))


def _offers_search(tools: Sequence[Mapping[str, Any]]) -> bool:
    functions = (tool.get("function") for tool in tools)
    return any(isinstance(function, Mapping) and function.get("name") == SEARCH_TOOL for function in functions)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return " ".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _choice(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _usage(request: ProviderRequest, deltas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Estimate token counts, four characters to a token; what was thought is contained in what was put out."""
    sent = len(request.instructions) + len(_encoded([request.body.get("messages"), *request.tools]))
    thought = sum(len(delta.get("reasoning_content", "")) for delta in deltas) // 4
    said = (
        sum(len(_encoded(delta)) - len('{"content":""}') for delta in deltas if "reasoning_content" not in delta) // 4
    )
    details = {"completion_tokens_details": {"reasoning_tokens": thought}}
    return {"prompt_tokens": sent // 4, "completion_tokens": thought + max(said, 0), **details}


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")
