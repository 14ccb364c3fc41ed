"""What many streams need, computed from what one process was measured to need: ``python -m tests.benchmarks.sizing``.

An argument is another number of streams. The figures of ``MEASURED`` are those of docs/deployment.md, "Capacity";
replace them by your own. What PostgreSQL and Redis can do on a machine is not computed: their own tools measure it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import ceil

from tests.benchmarks.helpers import Figure, show


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process needs, and what an answer is like. The last two are assumptions."""

    cpu_ms_per_1000_tokens: float = 354.0  # at 50 streams, over PostgreSQL and Redis
    tokens_a_second: float = 50.0  # of one stream
    tokens_an_answer: float = 300.0
    frames_a_token: float = 0.27
    idle_mb: float = 105.0
    stream_kb: float = 121.0
    page_kb: float = 18.0
    statements_a_turn: float = 14.0
    checkpoint_s: float = 1.5  # between two checkpoints of a running answer
    connections: float = 4.0  # to PostgreSQL: sockets and turns, two readers of documents, a request
    load: float = 0.6  # of a processor; more makes answers wait when many begin together


MEASURED = Measured()


def size(streams: int, measured: Measured = MEASURED) -> list[Figure]:
    """Return what so many concurrent streams need, each with an open page."""
    tokens = streams * measured.tokens_a_second
    cores = tokens * measured.cpu_ms_per_1000_tokens / 1e6
    processes = ceil(cores / measured.load)
    turns = tokens / measured.tokens_an_answer
    memory_mb = processes * measured.idle_mb + streams * (measured.stream_kb + measured.page_kb) / 1024
    return [
        Figure("processes, each with a processor", processes, ""),
        Figure("streams of a process", streams / processes, ""),
        Figure("memory of all processes", memory_mb / 1024, "GB"),
        Figure("turns that begin", turns, "a second"),
        Figure("database statements of turns", turns * measured.statements_a_turn, "a second"),
        Figure("checkpoints that are written", streams / measured.checkpoint_s, "rows a second"),
        Figure("transactions with checkpoints", processes / measured.checkpoint_s, "a second"),
        Figure("database connections", processes * measured.connections, ""),
        Figure("messages through Redis", tokens * measured.frames_a_token, "a second"),
    ]


def main(streams: int) -> None:
    show(f"{streams:,} concurrent streams", size(streams))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10_000)
