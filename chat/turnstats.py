"""Figures of recent turns, from their rows alone: how they ended, how long they took, what the guards took out.

Turns of deleted conversations are gone from them. Times are those of answers that came whole; a percentile is the value
of a real turn (nearest rank). ``provider`` is whose model it was, so that the guards' counts by provider and day tell
which one regressed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from chat.models import Turn

GUARDS = ("stripped_delimiters", "extracted_blocks", "masked", "dropped_bullets")
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
TIMES = ("duration_ms", "first_token_ms", "thinking_ms")
_WHOLE = frozenset({Turn.Status.COMPLETED, Turn.Status.ITERATION_CAPPED})
_FIELDS = (
    *("status", "error_code", "model", "provider", "started_at", "ended_at", "first_token_ms", "thinking_ms"),
    *TOKENS,
    *GUARDS,
)
Row = dict[str, Any]


@dataclass(slots=True)
class _Model:
    turns: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    input_of_known_cache: int = 0
    times: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in TIMES})

    def add(self, row: Row) -> None:
        self.turns += 1
        self.statuses[row["status"]] += 1
        self.tokens.update({name: row[name] or 0 for name in TOKENS})
        if row["cached_tokens"] is not None:
            self.input_of_known_cache += row["input_tokens"] or 0
        if row["status"] in _WHOLE and row["ended_at"]:
            lasted = int((row["ended_at"] - row["started_at"]).total_seconds() * 1000)
            for name, value in (*((name, row[name]) for name in TIMES[1:]), ("duration_ms", lasted)):
                if value is not None:
                    self.times[name].append(value)

    def account(self) -> Row:
        known = self.input_of_known_cache
        return {
            "turns": self.turns,
            "statuses": dict(self.statuses),
            **{name: {"p50": percentile(of, 50), "p95": percentile(of, 95)} for name, of in self.times.items()},
            **{name: self.tokens[name] for name in TOKENS},
            "cached_share": round(self.tokens["cached_tokens"] / known, 3) if known else None,
        }


def turn_stats(since: datetime) -> Row:
    """Return the figures of the turns that began at ``since`` or later. Plain JSON values; reads the database."""
    statuses: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    models: defaultdict[tuple[str, str], _Model] = defaultdict(_Model)
    guards: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in _rows(since):
        statuses[row["status"]] += 1
        codes.update([row["error_code"]] if row["error_code"] else [])
        models[row["model"], row["provider"]].add(row)
        day = row["started_at"].date().isoformat()
        guards[day, row["provider"]].update({"turns": 1, **{name: row[name] for name in GUARDS}})
    return {
        "since": since.isoformat(timespec="seconds"),
        "turns": statuses.total(),
        "statuses": dict(statuses),
        "codes": dict(codes),
        "models": [{"model": name, "provider": of, **models[name, of].account()} for name, of in sorted(models)],
        "guards": [{"day": day, "provider": of, **guards[day, of]} for day, of in sorted(guards)],
    }


def percentile(values: Sequence[int], share: int) -> int | None:
    """Return the smallest value that at least ``share`` percent of ``values`` do not exceed; None of none."""
    return sorted(values)[max(0, math.ceil(len(values) * share / 100) - 1)] if values else None


def _rows(since: datetime) -> Iterator[Row]:
    yield from (
        Turn.objects.filter(started_at__gte=since)
        .exclude(error_code__startswith=Turn.UNASKED)
        .order_by()
        .values(*_FIELDS)
        .iterator()
    )
