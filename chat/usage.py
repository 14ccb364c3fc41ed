"""Who used which model how much, and what the guards took out of whose answers: sums of turns' rows, by day.

Numbers alone, never a text; turns of deleted conversations count as long as their rows are there. The database adds
up; what comes back is a row for each day and name. Days are those of the site's time zone.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from chat.models import Turn
from chat.turnstats import GUARDS, TOKENS

WEEK = 7
LEAST_SEEN = 5  # fewer a week say nothing
WORSE_BY = 1.5
_PER = 100
_PERSON = "conversation__owner__username"


@dataclass(frozen=True, slots=True)
class Line:
    """What one person, one model, or everybody used: totals, and turns and tokens day by day."""

    name: str
    turns: int
    failed: int
    tokens: Mapping[str, int]
    turns_by_day: tuple[int, ...]
    tokens_by_day: tuple[int, ...]

    @property
    def tokens_total(self) -> int:
        return self.tokens["input_tokens"] + self.tokens["output_tokens"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used on ``days``, by everybody, by person and by model; the most turns first."""

    days: tuple[dt.date, ...]
    everybody: Line
    people: tuple[Line, ...]
    models: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """How often one guard acted on one provider's answers, this week and the week before. ``by_day``: both weeks."""

    name: str
    now: int
    before: int
    per_100: float
    per_100_before: float | None
    by_day: tuple[int, ...]

    @property
    def is_worse(self) -> bool:
        """Whether it acted half as often again as the week before, and often enough to mean something."""
        if self.per_100_before is None or self.now < LEAST_SEEN:
            return False
        return self.per_100 >= WORSE_BY * self.per_100_before

    @property
    def change(self) -> int | None:
        """The change of its rate in percent; None where there is nothing to compare with."""
        if not self.per_100_before:
            return None
        return round((self.per_100 / self.per_100_before - 1) * 100)


@dataclass(frozen=True, slots=True)
class ProviderGuards:
    """What the guards did with one provider's answers."""

    provider: str
    turns: int
    turns_before: int
    turns_by_day: tuple[int, ...]
    guards: tuple[Guard, ...]

    @property
    def is_worse(self) -> bool:
        return any(guard.is_worse for guard in self.guards)


def usage(days: Sequence[dt.date], *, person: str = "", model: str = "") -> Usage:
    """Return what was used on these days, in order; of one person, or with one model, where they are named."""
    turns = _between(days)
    if person:
        turns = turns.filter(**{_PERSON: person})
    if model:
        turns = turns.filter(model=model)
    failed = Count("pk", filter=Q(status=Turn.Status.ERRORED))
    sums = turns.values("day", "model", person=F(_PERSON)).annotate(turns=Count("pk"), failed=failed, **_sums(TOKENS))
    rows = list(sums)  # one pass over the turns, and the rest from its few rows
    return Usage(
        days=tuple(days),
        everybody=_line("", rows, days),
        people=_lines(_by_name(rows, "person"), days),
        models=_lines(_by_name(rows, "model"), days),
    )


def guards(today: dt.date) -> tuple[ProviderGuards, ...]:
    """Return what the guards did in the seven days to ``today`` and the seven before; the worse first."""
    days = last_days(today, 2 * WEEK)
    rows = _between(days).values("day", "provider").annotate(turns=Count("pk"), **_sums(GUARDS))
    found = [_guarded(name, of, days) for name, of in _by_name(rows, "provider").items()]
    return tuple(sorted(found, key=lambda one: (not one.is_worse, -one.turns, one.provider)))


def last_days(today: dt.date, count: int) -> tuple[dt.date, ...]:
    """Return so many days up to ``today``, in order."""
    return tuple(today - dt.timedelta(days=ago) for ago in reversed(range(count)))


def _between(days: Sequence[dt.date]) -> QuerySet[Any]:
    start, end = (_midnight(day) for day in (days[0], days[-1] + dt.timedelta(days=1)))
    found = Turn.objects.filter(started_at__gte=start, started_at__lt=end).order_by()
    return found.annotate(day=TruncDate("started_at"))


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time()))


def _sums(names: Iterable[str]) -> dict[str, Sum]:
    return {f"{name}_sum": Sum(name, default=0) for name in names}


def _by_name(rows: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, list[Mapping[str, Any]]]:
    found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[str(row[name])].append(row)
    return found


def _lines(found: Mapping[str, Sequence[Mapping[str, Any]]], days: Sequence[dt.date]) -> tuple[Line, ...]:
    lines = [_line(name, rows, days) for name, rows in found.items()]
    return tuple(sorted(lines, key=lambda line: (-line.turns, line.name)))


def _line(name: str, rows: Sequence[Mapping[str, Any]], days: Sequence[dt.date]) -> Line:
    turns, tokens = Counter[dt.date](), Counter[dt.date]()
    for row in rows:
        turns[row["day"]] += row["turns"]
        tokens[row["day"]] += row["input_tokens_sum"] + row["output_tokens_sum"]
    return Line(
        name=name,
        turns=turns.total(),
        failed=sum(row["failed"] for row in rows),
        tokens={token: sum(row[f"{token}_sum"] for row in rows) for token in TOKENS},
        turns_by_day=tuple(turns[day] for day in days),
        tokens_by_day=tuple(tokens[day] for day in days),
    )


def _guarded(provider: str, rows: Sequence[Mapping[str, Any]], days: Sequence[dt.date]) -> ProviderGuards:
    by_day = {name: Counter({row["day"]: row[f"{name}_sum"] for row in rows}) for name in GUARDS}
    turns = Counter({row["day"]: row["turns"] for row in rows})
    before, now = (sum(turns[day] for day in week) for week in (days[:WEEK], days[WEEK:]))
    return ProviderGuards(
        provider=provider,
        turns=now,
        turns_before=before,
        turns_by_day=tuple(turns[day] for day in days),
        guards=tuple(_guard(name, tuple(counts[day] for day in days), now, before) for name, counts in by_day.items()),
    )


def _guard(name: str, by_day: tuple[int, ...], turns: int, turns_before: int) -> Guard:
    before, now = sum(by_day[:WEEK]), sum(by_day[WEEK:])
    return Guard(
        name=name,
        now=now,
        before=before,
        per_100=now * _PER / turns if turns else 0.0,
        per_100_before=before * _PER / turns_before if turns_before else None,
        by_day=by_day,
    )
