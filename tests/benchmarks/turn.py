"""What a turn costs from the provider's delta to what is shown and kept: ``python -m tests.benchmarks.turn``.

Normaliser, sections, redaction, citations and trace together, as the server runs them; without database and network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reasoning.citations import Source
from reasoning.deltas import RawFields
from reasoning.events import ToolCall
from reasoning.stream.turn import TurnMachine
from reasoning.trace import finish, start
from tests.benchmarks.figures import Figure, best_seconds, load, show
from tests.benchmarks.texts import answer, pieces

_MS, _US = 1e3, 1e6
_KB = 1024
_SOURCE = Source(
    ref=1,
    filing="10-K",
    company="Northwind Tidal Power, Inc.",
    date="2026-02-26",
    period=None,
    section="Item 7",
    anchor="#item-7-p1",
    url="/filings/northwind/#item-7-p1",
    text="The debt service coverage ratio was 1.31 at year end, against a minimum of 1.20. " * 8,
    snippet="The debt service coverage ratio was 1.31 at year end.",
)
_ARGUMENTS = '{"query": "debt service coverage ratio covenant", "company": "Northwind Tidal Power", "limit": 5}'


def measure(chars: int = 10 * _KB, *, rounds: int = 9) -> list[Figure]:
    """Return the figures for an answer of ``chars`` characters, in one piece and in smaller and smaller ones."""
    text = answer(chars, has_sections=True)
    sizes = (chars, 64, 6, 4)
    costs = best_seconds(*(_turn(pieces(text, size)) for size in sizes), rounds=rounds)
    whole = costs[0]
    plain = answer(chars)
    fed, bare = best_seconds(_feed(pieces(plain, 6)), _feed([plain]), rounds=rounds)
    return [
        Figure(f"answer of {chars / _KB:g} KB with one step of trace", whole * _MS, "ms", aim=3),
        *(
            Figure(
                f"  in deltas of {size} characters", cost * _MS, "ms", aim=15, ratio=cost / whole, beside="in one piece"
            )
            for size, cost in zip(sizes[1:], costs[1:], strict=True)
        ),
        Figure(
            "a delta of 6 characters",
            fed / len(pieces(plain, 6)) * _US,
            "µs",
            aim=15,
            ratio=fed / bare,
            beside="in one",
        ),
    ]


def _turn(contents: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        machine = _machine()
        machine.begin_step()
        call = ToolCall(call_id="call_1", name="searchFilings", arguments=_ARGUMENTS, step=0)
        step = finish(
            start("call_1", "searchFilings", _ARGUMENTS, at_ms=0, shown=None),
            at_ms=8,
            status="ok",
            sources=[_SOURCE] * 3,
        )
        machine.tool_finished(call, _SOURCE.text, step, [_SOURCE])
        _answer(machine, contents)
        machine.end_step()

    return run


def _feed(contents: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        machine = _machine()
        machine.begin_step()
        _answer(machine, contents)

    return run


def _machine() -> TurnMachine:
    return TurnMachine(turn_id="0" * 32, model="m", provider="p", system_prompt="Answer from the filings alone.")


def _answer(machine: TurnMachine, contents: Sequence[str]) -> None:
    for content in contents:
        machine.feed(RawFields({"content": content}))


if __name__ == "__main__":
    show("Turn", measure(), load())
