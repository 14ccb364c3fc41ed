"""Statistics of turns, summed from their rows: numbers and names of models only, never a text.

``usage``, ``guards``, ``workload`` and ``services`` feed the admin's pages, with days in the site's time zone;
``recent_turns`` feeds ``manage.py turn_stats``. Turns of deleted conversations count until they are purged.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from statistics import median
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from chat.models import QueuedMessage, Turn

GUARDS = ("stripped_delimiters", "extracted_blocks", "masked", "dropped_bullets")
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
TIMES = ("duration_ms", "first_token_ms", "thinking_ms")
WEEK_DAYS = 7
MAX_WAITS = 1000  # of the newest turns
MAX_SERVICES = 50
MIN_ACTIONS = 5  # a guard that acted less often in a week is never called worse
WORSE_FACTOR = 1.5
_PERSON = "conversation__owner__username"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one person, one model, or everybody used: totals, and turns and tokens by day."""

    name: str
    turns: int
    failed: int
    tokens: Mapping[str, int]
    turns_by_day: tuple[int, ...]
    tokens_by_day: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used by everybody, by person and by model, the most turns first."""

    everybody: UsageRow
    people: tuple[UsageRow, ...]
    models: tuple[UsageRow, ...]


@dataclass(frozen=True, slots=True)
class GuardRate:
    """How often a guard acted on a provider's answers, this week and the week before. ``by_day``: both weeks."""

    name: str
    now: int
    before: int
    per_100: float
    per_100_before: float | None
    by_day: tuple[int, ...]

    @property
    def is_worse(self) -> bool:
        if self.per_100_before is None or self.now < MIN_ACTIONS:
            return False
        return self.per_100 >= WORSE_FACTOR * self.per_100_before

    @property
    def change(self) -> int | None:
        """The change of the rate in percent; None if it was zero or there was no week before."""
        if not self.per_100_before:
            return None
        return round((self.per_100 / self.per_100_before - 1) * 100)


@dataclass(frozen=True, slots=True)
class ProviderGuards:
    """What the guards did to one provider's answers."""

    provider: str
    turns: int
    turns_before: int
    turns_by_day: tuple[int, ...]
    guards: tuple[GuardRate, ...]

    @property
    def is_worse(self) -> bool:
        return any(guard.is_worse for guard in self.guards)


@dataclass(frozen=True, slots=True)
class Overview:
    """The last seven days at a glance. ``first_token_ms``: the median of the newest turns; None without any."""

    today: int
    week: int
    failed: int
    running: int
    guarded: int  # turns in which a guard removed something
    bad: int  # answers rated bad
    first_token_ms: int | None


def overview(now: dt.datetime) -> Overview:
    """Return the figures of the admin's first page."""
    week = Turn.objects.filter(started_at__gt=now - dt.timedelta(days=WEEK_DAYS)).order_by("-started_at")
    week = week.exclude(error_code__startswith=Turn.UNASKED)
    midnight = timezone.make_aware(dt.datetime.combine(timezone.localdate(now), dt.time()))
    removed = reduce(or_, (Q(**{f"{name}__gt": 0}) for name in GUARDS))
    counts = week.order_by().aggregate(
        today=Count("pk", filter=Q(started_at__gte=midnight)),
        week=Count("pk"),
        failed=Count("pk", filter=Q(status__in=(Turn.Status.ERRORED, Turn.Status.INTERRUPTED))),
        running=Count("pk", filter=Q(status=Turn.Status.RUNNING)),
        guarded=Count("pk", filter=removed),
        bad=Count("pk", filter=Q(feedback__is_good=False)),
    )
    newest = week.filter(first_token_ms__isnull=False).values_list("first_token_ms", flat=True)[:MAX_WAITS]
    waits = [wait for wait in newest if wait is not None]
    return Overview(**counts, first_token_ms=round(median(waits)) if waits else None)


@dataclass(frozen=True, slots=True)
class Workload:
    """What all processes do now: turns by the process that leases them, messages that wait or are held."""

    processes: Mapping[str, int]
    waiting: int
    held: int

    @property
    def running(self) -> int:
        return sum(self.processes.values())


def workload() -> Workload:
    """Return what all processes do now. Two queries."""
    running = Turn.objects.filter(status=Turn.Status.RUNNING).order_by("worker").values_list("worker")
    is_held = Q(priority=QueuedMessage.Priority.HELD)
    queued = QueuedMessage.objects.aggregate(waiting=Count("pk", filter=~is_held), held=Count("pk", filter=is_held))
    return Workload(dict(running.annotate(Count("pk"))), **queued)


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """When a model service last answered and last failed in the last seven days, over all processes."""

    provider: str
    answered_at: dt.datetime | None
    failed_at: dt.datetime | None
    code: str  # of the last failure

    @property
    def is_failing(self) -> bool:
        return self.failed_at is not None and (self.answered_at is None or self.failed_at > self.answered_at)


def services(now: dt.datetime) -> tuple[ServiceHealth, ...]:
    """Return the health of the model services that were asked in the last seven days, failing ones first."""
    week = Turn.objects.filter(started_at__gt=now - dt.timedelta(days=WEEK_DAYS))
    week = week.exclude(error_code__startswith=Turn.UNASKED).order_by()
    has_failed = Q(status=Turn.Status.ERRORED)
    has_answered = Q(status__in=(Turn.Status.COMPLETED, Turn.Status.ITERATION_CAPPED))
    rows = week.values("provider").annotate(
        answered_at=Max("ended_at", filter=has_answered), failed_at=Max("ended_at", filter=has_failed)
    )
    found = []
    for row in rows[:MAX_SERVICES]:
        failures = week.filter(has_failed, provider=row["provider"], ended_at=row["failed_at"])
        code = failures.values_list("error_code", flat=True).first() if row["failed_at"] else ""
        found.append(ServiceHealth(**row, code=code or ""))
    return tuple(sorted(found, key=lambda one: (not one.is_failing, one.provider)))


def last_days(today: dt.date, count: int) -> tuple[dt.date, ...]:
    """Return ``count`` days up to and including ``today``, in order."""
    return tuple(today - dt.timedelta(days=ago) for ago in reversed(range(count)))


def usage(days: Sequence[dt.date], *, person: str = "", model: str = "") -> Usage:
    """Return what was used on these consecutive days, optionally by one person or with one model only."""
    turns = _turns_on(days)
    if person:
        turns = turns.filter(**{_PERSON: person})
    if model:
        turns = turns.filter(model=model)
    failed = Count("pk", filter=Q(status=Turn.Status.ERRORED))
    # One query groups by all three; everybody, people and models are summed from its few rows.
    grouped = turns.values("day", "model", person=F(_PERSON))
    rows = list(grouped.annotate(turns=Count("pk"), failed=failed, **_sums(TOKENS)))

    def usage_rows(key: str) -> tuple[UsageRow, ...]:
        found = [_usage_row(name, of, days) for name, of in _group(rows, key).items()]
        return tuple(sorted(found, key=lambda row: (-row.turns, row.name)))

    return Usage(_usage_row("", rows, days), usage_rows("person"), usage_rows("model"))


def guards(today: dt.date) -> tuple[ProviderGuards, ...]:
    """Return what the guards did in the seven days to ``today`` and the seven before, the worse providers first."""
    days = last_days(today, 2 * WEEK_DAYS)
    rows = _turns_on(days).values("day", "provider").annotate(turns=Count("pk"), **_sums(GUARDS))
    found = []
    for provider, of in _group(rows, "provider").items():
        turns_by_day = _by_day(of, "turns", days)
        before, now = sum(turns_by_day[:WEEK_DAYS]), sum(turns_by_day[WEEK_DAYS:])
        rates = tuple(_guard_rate(name, _by_day(of, f"{name}_sum", days), now, before) for name in GUARDS)
        found.append(ProviderGuards(provider, now, before, turns_by_day, rates))
    return tuple(sorted(found, key=lambda one: (not one.is_worse, -one.turns, one.provider)))


def recent_turns(since: dt.datetime) -> dict[str, Any]:
    """Return the figures of turns that started at ``since`` or later, as plain JSON values."""
    statuses: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    models: defaultdict[tuple[str, str], _ModelFigures] = defaultdict(_ModelFigures)
    guards_by_day: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    fields = (
        "status",
        "error_code",
        "model",
        "provider",
        "started_at",
        "resumed_at",
        "ended_at",
        "first_token_ms",
        "thinking_ms",
    )
    turns = Turn.objects.filter(started_at__gte=since).exclude(error_code__startswith=Turn.UNASKED)
    for row in turns.order_by().values(*fields, *TOKENS, *GUARDS).iterator():
        statuses[row["status"]] += 1
        if row["error_code"]:
            codes[row["error_code"]] += 1
        models[row["model"], row["provider"]].add(row)
        day = row["started_at"].date().isoformat()
        guards_by_day[day, row["provider"]].update({"turns": 1, **{name: row[name] for name in GUARDS}})
    return {
        "since": since.isoformat(timespec="seconds"),
        "turns": statuses.total(),
        "statuses": dict(statuses),
        "codes": dict(codes),
        "models": [{"model": name, "provider": of, **models[name, of].as_json()} for name, of in sorted(models)],
        "guards": [{"day": day, "provider": of, **guards_by_day[day, of]} for day, of in sorted(guards_by_day)],
    }


@dataclass(slots=True)
class _ModelFigures:
    turns: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    input_with_known_cache: int = 0
    times: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in TIMES})

    def add(self, row: Row) -> None:
        self.turns += 1
        self.statuses[row["status"]] += 1
        self.tokens.update({name: row[name] or 0 for name in TOKENS})
        if row["cached_tokens"] is not None:  # not every service reports it
            self.input_with_known_cache += row["input_tokens"] or 0
        is_whole = row["status"] in (Turn.Status.COMPLETED, Turn.Status.ITERATION_CAPPED)
        if is_whole and row["ended_at"]:
            duration_ms = int((row["ended_at"] - (row["resumed_at"] or row["started_at"])).total_seconds() * 1000)
            for name, value in {**row, "duration_ms": duration_ms}.items():
                if name in TIMES and value is not None:
                    self.times[name].append(value)

    def as_json(self) -> dict[str, Any]:
        known = self.input_with_known_cache
        return {
            "turns": self.turns,
            "statuses": dict(self.statuses),
            **{name: {"p50": _percentile(of, 50), "p95": _percentile(of, 95)} for name, of in self.times.items()},
            **{name: self.tokens[name] for name in TOKENS},
            "cached_share": round(self.tokens["cached_tokens"] / known, 3) if known else None,
        }


def _percentile(values: Sequence[int], percent: int) -> int | None:
    """Return the nearest-rank percentile, which is the value of a real turn."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)] if values else None


def _turns_on(days: Sequence[dt.date]) -> QuerySet[Any]:
    start = timezone.make_aware(dt.datetime.combine(days[0], dt.time()))
    end = timezone.make_aware(dt.datetime.combine(days[-1] + dt.timedelta(days=1), dt.time()))
    turns = Turn.objects.filter(started_at__gte=start, started_at__lt=end).order_by()
    return turns.annotate(day=TruncDate("started_at"))


def _sums(names: Iterable[str]) -> dict[str, Sum]:
    return {f"{name}_sum": Sum(name, default=0) for name in names}


def _group(rows: Iterable[Row], key: str) -> Mapping[str, list[Row]]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[str(row[key])].append(row)
    return groups


def _by_day(rows: Iterable[Row], key: str, days: Sequence[dt.date]) -> tuple[int, ...]:
    counts: Counter[dt.date] = Counter()
    for row in rows:
        counts[row["day"]] += row[key]
    return tuple(counts[day] for day in days)


def _usage_row(name: str, rows: Sequence[Row], days: Sequence[dt.date]) -> UsageRow:
    input_by_day, output_by_day = (_by_day(rows, f"{kind}_tokens_sum", days) for kind in ("input", "output"))
    return UsageRow(
        name=name,
        turns=sum(row["turns"] for row in rows),
        failed=sum(row["failed"] for row in rows),
        tokens={token: sum(row[f"{token}_sum"] for row in rows) for token in TOKENS},
        turns_by_day=_by_day(rows, "turns", days),
        tokens_by_day=tuple(map(sum, zip(input_by_day, output_by_day, strict=True))),
    )


def _guard_rate(name: str, by_day: tuple[int, ...], turns: int, turns_before: int) -> GuardRate:
    before, now = sum(by_day[:WEEK_DAYS]), sum(by_day[WEEK_DAYS:])
    return GuardRate(
        name=name,
        now=now,
        before=before,
        per_100=100 * now / turns if turns else 0.0,
        per_100_before=100 * before / turns_before if turns_before else None,
        by_day=by_day,
    )
