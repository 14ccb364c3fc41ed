"""Pages of figures for staff: usage by person and model, what the guards removed by provider, and the status now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.admin.status import status_values
from chat.texts.stored_text import translate_stored
from chat.turns import statistics
from chat.turns.statistics import WEEK_DAYS, GuardRate, UsageRow

SPANS_DAYS = (7, 30, 90)
MAX_ROWS = 100  # people or models on one page
BAR_WIDTHS = {7: 8, 30: 3, 90: 1}
BAR_GAP = 1
GUARD_LABELS: Mapping[str, str | Promise] = {
    "stripped_delimiters": gettext_lazy("Delimiters stripped, stray closers among them"),
    "extracted_blocks": gettext_lazy("Reasoning removed from the text"),
    "masked": gettext_lazy("Secrets masked"),
    "dropped_bullets": gettext_lazy("Summary points dropped"),
}
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart, by its corner, with its label."""

    x: int
    y: int
    width: int
    height: int
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart that a template draws as SVG."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    label: str


def bar_chart(
    values: Sequence[int], names: Sequence[str], label: str, *, bar: int = 5, height: int = 24, top: int | None = None
) -> Chart:
    """Return bars of these values; ``top`` is the value of a full bar. Any value but 0 has at least one unit."""
    full = max(top or max(values, default=0), 1)
    bars = []
    for index, (value, name) in enumerate(zip(values, names, strict=True)):
        tall = max(1, value * height // full) if value else 0
        bars.append(Bar(index * (bar + BAR_GAP), height - tall, bar, tall, f"{name}: {value}"))
    return Chart(max(1, len(values) * (bar + BAR_GAP) - BAR_GAP), height, tuple(bars), label)


def urls(site: AdminSite) -> list[URLPattern]:
    """Return the URLs of the pages; each requires the permission to view turns."""

    def page(name: str, title: str | Promise, values: Callable[[HttpRequest], Values]) -> URLPattern:
        def view(request: HttpRequest) -> HttpResponse:
            context = {**site.each_context(request), "title": title, "page": name, **values(request)}
            return TemplateResponse(request, f"admin/chat/figures/{name}.html", context)

        may_view = permission_required("chat.view_turn", raise_exception=True)
        return path(f"{name}/", site.admin_view(may_view(view)), name=f"chat_turn_{name}")

    return [
        page("usage", gettext_lazy("Usage by user and model"), usage_values),
        page("guards", gettext_lazy("Redaction and filtering"), guard_values),
        page("status", gettext_lazy("Status of the server"), status_values),
    ]


def usage_values(request: HttpRequest) -> Values:
    requested = request.GET.get("days", "")
    # any other value gets the default: this is no form
    span = int(requested) if requested in map(str, SPANS_DAYS) else 30
    # PostgreSQL refuses NUL in a parameter
    person, model = (request.GET.get(name, "").replace("\0", "") for name in ("person", "model"))
    days = statistics.last_days(timezone.localdate(), span)
    usage = statistics.usage(days, person=person, model=model)
    everybody = usage.everybody
    day_names = [date_format(day, "SHORT_DATE_FORMAT") for day in days]
    bar = BAR_WIDTHS[span]

    def large_chart(label: str, values: Sequence[int]) -> Values:
        chart = bar_chart(values, day_names, label, bar=4 * bar, height=96)
        return {"chart": chart, "most": max(values, default=0), "total": sum(values)}

    def table(rows: Sequence[UsageRow], query: Callable[[str], str]) -> Values:
        # one scale for all rows, so that they can be compared
        top = max((max(row.turns_by_day) for row in rows), default=1)
        shown = [
            {
                "line": row,
                "name": label_of(row.name),
                "query": query(row.name),
                "most": max(row.turns for row in rows),
                "chart": bar_chart(row.turns_by_day, day_names, _("Answers per day"), bar=bar, top=top),
            }
            for row in rows[:MAX_ROWS]
        ]
        return {"shown": shown, "more": max(0, len(rows) - MAX_ROWS)}

    daily = zip(days, everybody.turns_by_day, everybody.tokens_by_day, strict=True)
    return {
        "span": span,
        "spans": [(choice, query_string(days=choice, person=person, model=model)) for choice in SPANS_DAYS],
        "person": person,
        "model": model,
        "everyone": query_string(days=span, model=model),
        "every_model": query_string(days=span, person=person),
        "first_day": days[0],
        "last_day": days[-1],
        "everybody": everybody,
        "charts": (
            large_chart(_("Answers per day"), everybody.turns_by_day),
            large_chart(_("Tokens per day"), everybody.tokens_by_day),
        ),
        "people": table(usage.people, lambda name: query_string(days=span, person=name, model=model)),
        "models": table(usage.models, lambda name: query_string(days=span, person=person, model=name)),
        "days": [{"day": day, "turns": turns, "tokens": tokens} for day, turns, tokens in daily if turns],
    }


def guard_values(request: HttpRequest) -> Values:
    today = timezone.localdate()
    days = statistics.last_days(today, 2 * WEEK_DAYS)
    day_names = [date_format(day, "SHORT_DATE_FORMAT") for day in days]
    providers: list[Values] = []
    rows: list[Values] = []
    for provider in statistics.guards(today):
        name = label_of(provider.provider)
        cells = [
            {
                "guard": guard,
                "chart": bar_chart(guard.by_day, day_names, str(GUARD_LABELS[guard.name]), bar=6),
                "verdict": verdict_on(guard),
            }
            for guard in provider.guards
        ]
        providers.append({"one": provider, "name": name, "cells": cells})
        for index, (day, turns) in enumerate(zip(days, provider.turns_by_day, strict=True)):
            if turns:
                counts = [guard.by_day[index] for guard in provider.guards]
                rows.append({"day": day, "name": name, "turns": turns, "counts": counts})
    return {
        "first_day": days[0],
        "last_day": days[-1],
        "this_week": days[WEEK_DAYS],
        "columns": tuple(GUARD_LABELS.values()),
        "providers": providers,
        "worse": [row["name"] for row in providers if row["one"].is_worse],
        "days": rows,
    }


def verdict_on(guard: GuardRate) -> str:
    """Compare a rate with the week before, in words."""
    if guard.per_100_before is None:
        return _("no week before") if guard.now else ""
    if guard.change is None:
        return _("new") if guard.now else ""
    return _("%(change)+d %%") % {"change": guard.change} if guard.change else _("unchanged")


def label_of(name: str) -> str:
    return translate_stored(name) or _("not stated")


def query_string(**values: Any) -> str:
    return "?" + urlencode({name: value for name, value in values.items() if value})
