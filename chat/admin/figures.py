"""Two pages of figures for staff: what was used by whom with which model, and whose answers the guards had to mend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

from chat import usage
from chat.admin.charts import Chart, chart
from chat.usage import Guard, Line, ProviderGuards
from chat.wording import shown

SPANS = (7, 30, 90)
SHOWN = 100  # people or models on one page
GUARD_NAMES: Mapping[str, str | Promise] = {
    "stripped_delimiters": gettext_lazy("Delimiters stripped, stray closers among them"),
    "extracted_blocks": gettext_lazy("Thoughts taken out of the text"),
    "masked": gettext_lazy("Secrets masked"),
    "dropped_bullets": gettext_lazy("Summary points dropped"),
}
Values = dict[str, Any]


def urls(site: AdminSite) -> list[URLPattern]:
    """Return the addresses of both pages; each asks for the right to see turns."""
    may_see = permission_required("chat.view_turn", raise_exception=True)

    def page(name: str, template: str, title: str | Promise, values: Any) -> URLPattern:
        def view(request: HttpRequest) -> HttpResponse:
            context = {**site.each_context(request), "title": title, "page": name, **values(request)}
            return TemplateResponse(request, f"admin/chat/figures/{template}", context)

        return path(f"{name}/", site.admin_view(may_see(view)), name=f"chat_turn_{name}")

    return [
        page("usage", "usage.html", gettext_lazy("Usage by user and model"), usage_values),
        page("guards", "guards.html", gettext_lazy("What the guards took out"), guard_values),
    ]


def usage_values(request: HttpRequest) -> Values:
    """Return what the page of usage shows, for the span, the person and the model in its query."""
    asked = request.GET.get("days", "")
    span = int(asked) if asked in map(str, SPANS) else SPANS[1]
    person, model = (request.GET.get(name, "").replace("\0", "") for name in ("person", "model"))
    days = usage.last_days(timezone.localdate(), span)
    found = usage.usage(days, person=person, model=model)
    names = [_day(day) for day in days]
    return {
        "span": span,
        "spans": [(days_, _query(days=days_, person=person, model=model)) for days_ in SPANS],
        "person": person,
        "model": model,
        "everyone": _query(days=span, model=model),
        "every_model": _query(days=span, person=person),
        "first_day": days[0],
        "last_day": days[-1],
        "everybody": found.everybody,
        "charts": (
            _large(_("Answers a day"), found.everybody.turns_by_day, names),
            _large(_("Tokens a day"), found.everybody.tokens_by_day, names),
        ),
        "people": _rows(found.people, names, lambda name: _query(days=span, person=name, model=model)),
        "models": _rows(found.models, names, lambda name: _query(days=span, person=person, model=name)),
        "days": [
            {"day": day, "turns": turns, "tokens": tokens}
            for day, turns, tokens in zip(
                days, found.everybody.turns_by_day, found.everybody.tokens_by_day, strict=True
            )
            if turns
        ],
    }


def guard_values(request: HttpRequest) -> Values:
    """Return what the page of the guards shows: two weeks, to be compared."""
    today = timezone.localdate()
    days = usage.last_days(today, 2 * usage.WEEK)
    names = [_day(day) for day in days]
    found = usage.guards(today)
    return {
        "first_day": days[0],
        "last_day": days[-1],
        "this_week": days[usage.WEEK],
        "columns": tuple(GUARD_NAMES.values()),
        "providers": [_provider(one, names) for one in found],
        "worse": [_named(one.provider) for one in found if one.is_worse],
        "days": [row for one in found for row in _by_day(one, days)],
    }


def _rows(lines: Sequence[Line], names: Sequence[str], query: Any) -> Values:
    most = max((line.turns for line in lines), default=1)
    top = max((max(line.turns_by_day) for line in lines), default=1)
    shown = [
        {
            "line": line,
            "name": _named(line.name),
            "query": query(line.name),
            "most": most,
            "chart": chart(line.turns_by_day, names, _("Answers a day"), bar=_bar(names), top=top),
        }
        for line in lines[:SHOWN]
    ]
    return {"shown": shown, "more": max(0, len(lines) - SHOWN)}


def _provider(one: ProviderGuards, names: Sequence[str]) -> Values:
    cells = [
        {
            "guard": guard,
            "label": GUARD_NAMES[guard.name],
            "chart": chart(guard.by_day, names, str(GUARD_NAMES[guard.name]), bar=6),
            "verdict": _verdict(guard),
        }
        for guard in one.guards
    ]
    return {"one": one, "name": _named(one.provider), "cells": cells}


def _verdict(guard: Guard) -> str:
    """Say in words how it compares with the week before."""
    if guard.per_100_before is None:
        return _("no week before") if guard.now else ""
    if guard.change is None:
        return _("new") if guard.now else ""
    return _("%(change)+d %%") % {"change": guard.change} if guard.change else _("unchanged")


def _by_day(one: ProviderGuards, days: Sequence[Any]) -> list[Values]:
    return [
        {
            "day": day,
            "name": _named(one.provider),
            "turns": turns,
            "counts": [guard.by_day[place] for guard in one.guards],
        }
        for place, (day, turns) in enumerate(zip(days, one.turns_by_day, strict=True))
        if turns
    ]


def _large(label: str, values: Sequence[int], names: Sequence[str]) -> Values:
    drawn: Chart = chart(values, names, label, bar=4 * _bar(names), height=96)
    return {"chart": drawn, "most": max(values, default=0), "total": sum(values)}


def _bar(names: Sequence[str]) -> int:
    return {7: 8, 30: 3}.get(len(names), 1)


def _day(day: Any) -> str:
    return date_format(day, "SHORT_DATE_FORMAT")


def _named(name: str) -> str:
    return shown(name) or _("not stated")


def _query(**values: Any) -> str:
    return "?" + urlencode({name: value for name, value in values.items() if value})
