"""What a turn costs from the provider's delta to what is shown and stored: ``python -m tests.benchmarks.turn``.

Normaliser, sections, redaction, citations and trace together, as the server runs them; without database and network.
"""

from collections.abc import Callable, Sequence

from reasoning.citations import Source
from reasoning.deltas import RawFields
from reasoning.events import ToolCall
from reasoning.stream.turn import TurnMachine
from reasoning.trace import finish, start
from tests.benchmarks.helpers import KB, MS, OPENING, US, Figure, answer, best_seconds, pieces, show

_SOURCE = Source(
    ref=1,
    kind="filing",
    title="10-K",
    publisher="Northwind Tidal Power, Inc.",
    date="2026-02-26",
    period=None,
    section="Item 7",
    anchor="#item-7-p1",
    url="/filings/northwind/#item-7-p1",
    text="The debt service coverage ratio was 1.31 at year end, against a minimum of 1.20. " * 8,
    snippet="The debt service coverage ratio was 1.31 at year end.",
)
_ARGUMENTS = '{"query": "debt service coverage ratio covenant", "company": "Northwind Tidal Power", "limit": 5}'


def measure(chars: int = 10 * KB, *, rounds: int = 9) -> list[Figure]:
    """Return the figures for an answer of ``chars`` characters, in one piece and in smaller and smaller ones."""
    text = OPENING + answer(chars)
    cuts = {size: pieces(text, size) for size in (len(text), 64, 6, 4)}
    whole, *others = best_seconds(*map(turn, cuts.values()), rounds=rounds)
    return [
        Figure(f"answer of {chars / KB:g} KB with one step of trace", whole * MS, "ms", aim=3),
        *(
            Figure(
                f"  in deltas of {size} characters", cost * MS, "ms", aim=15, ratio=cost / whole, beside="in one piece"
            )
            for size, cost in zip(list(cuts)[1:], others, strict=True)
        ),
        Figure("  a delta of 6 characters", others[1] / len(cuts[6]) * US, "µs", aim=15),
    ]


def turn(contents: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        machine = TurnMachine(turn_id="0" * 32, model="m", provider="p", system_prompt="Answer from the filings alone.")
        step = machine.begin_step()
        call = ToolCall(call_id="call_1", name="searchFilings", arguments=_ARGUMENTS, step=0)
        opened = start("call_1", "searchFilings", _ARGUMENTS, at_ms=0, shown=None)
        traced = finish(opened, at_ms=8, status="ok", sources=[_SOURCE] * 3)
        machine.tool_finished(call, _SOURCE.text, traced, [_SOURCE])
        for content in contents:
            step.feed(RawFields({"content": content}))
        step.end()

    return run


if __name__ == "__main__":
    show("Turn", measure())
