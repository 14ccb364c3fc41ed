"""Helpers for tests of the stream: run deltas through the normaliser or a turn."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reasoning import scratchpad as core
from reasoning.deltas import Channel, Delta, RawFields
from reasoning.scratchpad import Scratchpad, ScratchpadGrant
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.step import StepMachine
from reasoning.stream.turn import TurnMachine
from reasoning.stream.updates import ShowText

PIECES = (
    *(f"<{slash}{name}>" for slash in ("", "/") for name in ("think", "thinking", "REASONING", "scratchpad")),
    *(
        "<think/>",
        "</THINKING  >",
        "<",
        "</",
        "<thi",
        "nk>",
        "scratch",
        "pad>",
        ">",
        "\ud83d",
        "\ude00",
        "é",
        "1",
        "b c",
    ),
    *("`", "``", "```", "~~~", "\n", "\n\n", "\n```\n", "```py\n", " ", "  "),
)


@dataclass(frozen=True)
class Channels:
    """Everything that one response came to."""

    visible: str
    thinking: str
    scratchpads: tuple[str, ...]
    tools: tuple[tuple[Any, ...], ...]
    stored: str | None
    stripped: int
    extracted: int


def channels(deltas: Iterable[Mapping[str, Any]], **options: Any) -> Channels:
    normalizer = Normalizer(**options)
    out = [piece for delta in deltas for piece in normalizer.feed(delta)]
    out += normalizer.finish()
    assert normalizer.finish() == ()
    counters = normalizer.counters
    return Channels(
        joined(out, Channel.VISIBLE),
        joined(out, Channel.THINKING),
        tuple(text_of(piece.text) for piece in out if isinstance(piece.text, Scratchpad)),
        _tools(out),
        normalizer.thinking,
        counters.stripped_delimiters,
        counters.extracted_blocks,
    )


def of_text(text: str, *, native: str = "", **options: Any) -> Channels:
    deltas = [{"reasoning_content": native}] if native else []
    return channels([*deltas, {"content": text}], **options)


def joined(deltas: Iterable[Delta], channel: Channel) -> str:
    return "".join(str(piece.text) for piece in deltas if piece.channel is channel)


def text_of(scratchpad: Scratchpad) -> str:
    return core.reveal(scratchpad, ScratchpadGrant(core.GRANT_KEY), max_tokens=10**9)


def first_step(**options: Any) -> StepMachine:
    """Return the first step of a turn."""
    values = {"turn_id": "0123456789abcdef", "model": "m", "provider": "p", "system_prompt": "Be brief.", **options}
    return TurnMachine(**values).begin_step()


def shown(step: StepMachine, field: str, text: str) -> str:
    """Feed text to a step; return what it shows now."""
    updates = step.feed(RawFields({field: text}))
    return "".join(update.text for update in updates if isinstance(update, ShowText))


def calls_made(work: Callable[[], object]) -> int:
    """Return how many function calls ``work`` makes: a measure of cost that no clock disturbs."""
    count = 0

    def counting(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _tools(out: Iterable[Delta]) -> tuple[tuple[Any, ...], ...]:
    calls: dict[int | None, list[str]] = {}
    for piece in out:
        if piece.channel is Channel.TOOL:
            call = calls.setdefault(piece.index, ["", "", ""])
            call[0] = call[0] or piece.call_id or ""
            call[1] = call[1] or piece.name or ""
            call[2] += str(piece.text)
    return tuple((index, *call) for index, call in sorted(calls.items(), key=lambda item: item[0] or 0))
