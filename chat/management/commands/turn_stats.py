"""``manage.py turn_stats``: figures of recent turns, numbers and names of models only."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.turns.statistics import GUARDS, TIMES, TOKENS, recent_turns

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(BaseCommand):
    """Print statistics of recent turns."""

    help = "Figures of recent turns: how they ended, how long they took, tokens, and what filters removed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--since", type=time_span, default="24h", metavar="24h", help="how far back: 90m, 24h, 7d")
        parser.add_argument("--format", choices=("text", "json"), default="text", help="json: all figures")

    def handle(self, *args: Any, **options: Any) -> None:
        figures = recent_turns(timezone.now() - options["since"])
        if options["format"] == "json":
            self.stdout.write(json.dumps(figures, indent=2))
            return
        for line in report_lines(figures):
            self.stdout.write(line)


def time_span(text: str) -> timedelta:
    # five digits at most: no date is a million days ago
    match = re.fullmatch(r"([0-9]{1,5})([mhd])", text)
    if match is None:
        raise ArgumentTypeError(_("a number and m, h or d, such as 90m, 24h or 7d"))
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def report_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield _("Turns since %(since)s: %(turns)d") % figures
    for heading, counts in ((_("How they ended"), figures["statuses"]), (_("Codes"), figures["codes"])):
        if counts:
            yield f"{heading}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    for model in figures["models"]:
        yield ""
        names = {"model": model["model"] or "-", "provider": model["provider"] or "-", "turns": model["turns"]}
        yield _("%(model)s at %(provider)s, turns: %(turns)d") % names
        times = [(name, *("-" if value is None else value for value in model[name].values())) for name in TIMES]
        yield from table_lines([(_("ms"), "p50", "p95"), *times])
        share = "" if model["cached_share"] is None else f" ({model['cached_share']:.0%})"
        yield "  " + ", ".join(f"{name} {model[name]}" for name in TOKENS) + share
    if figures["guards"]:
        yield ""
        rows = [(row["day"], row["provider"] or "-", row["turns"], *map(row.get, GUARDS)) for row in figures["guards"]]
        yield from table_lines([(_("day"), _("provider"), _("turns"), *GUARDS), *rows])


def table_lines(rows: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
