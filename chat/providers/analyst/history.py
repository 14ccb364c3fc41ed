"""The turns before, as the analyst reads them off the messages: what was asked, and which company was cited."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.providers.analyst.followup import Earlier
from chat.providers.analyst.passages import read_passages

_MARKER = re.compile(r"\[(\d+(?:\s*[,;]\s*\d+)*)\]")
_MOST_TURNS = 6

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that stands, the turns before it, the companies that they met, and its own tool messages."""

    text: str
    earlier: tuple[Earlier, ...]
    known: tuple[str, ...]
    results: tuple[str, ...]


def read_messages(messages: Sequence[Message]) -> Asked:
    """Read the conversation. Messages of any odd shape are passed over."""
    turns = list(_turns(messages))[-1 - _MOST_TURNS :]
    if not turns:
        return Asked("", (), (), ())
    texts = [text_of(turn[0]) for turn in turns]
    companies = [_companies(turn) for turn in turns[:-1]]
    earlier = [Earlier(text, _cited(turn, met)) for text, turn, met in zip(texts, turns, companies, strict=False)]
    known = dict.fromkeys(company for met in companies for company in met.values())
    known |= dict.fromkeys(_only_company(turns[-1]))
    return Asked(texts[-1], tuple(earlier), tuple(known), tuple(map(text_of, _results(turns[-1]))))


def text_of(message: Message) -> str:
    """Return what a message says, of plain text or of parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return " ".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def tool_answer(text: str) -> dict[str, Any] | None:
    """Read what a search returned; None for anything else."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and isinstance(message.get("passages"), list) else None


def _turns(messages: Sequence[Message]) -> Iterator[list[Message]]:
    turn: list[Message] = []
    for message in messages:
        if message.get("role") == "user":
            if turn:
                yield turn
            turn = [message]
        elif turn:
            turn.append(message)
    if turn:
        yield turn


def _results(turn: Iterable[Message]) -> Iterator[Message]:
    return (message for message in turn if message.get("role") == "tool")


def _companies(turn: Sequence[Message]) -> dict[int, str]:
    """Return the company behind each number by which a passage of this turn can be cited."""
    answers = (tool_answer(text_of(message)) for message in _results(turn))
    passages = (passage for answer in answers if answer for passage in read_passages(answer))
    return {passage.ref: passage.company for passage in passages if passage.company}


def _only_company(turn: Sequence[Message]) -> set[str]:
    """Return the company that the first search of the turn found alone: the question named it, in whatever words."""
    first = next(_results(turn), None)
    met = set(_companies([first]).values()) if first else set()
    return met if len(met) == 1 else set()


def _cited(turn: Sequence[Message], companies: Mapping[int, str]) -> str | None:
    said = " ".join(text_of(message) for message in turn if message.get("role") == "assistant")
    refs = {int(number) for found in _MARKER.findall(said) for number in re.findall(r"\d{1,6}", found)}
    cited = {companies[ref] for ref in refs if ref in companies}
    return cited.pop() if len(cited) == 1 else None
