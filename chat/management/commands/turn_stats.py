"""``manage.py turn_stats``: figures of recent turns. Numbers and names of models, never a text."""

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

from chat.turnstats import GUARDS, TIMES, TOKENS, turn_stats

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_MOST_DIGITS = 5


class Command(BaseCommand):
    """See the module."""

    help = "Figures of recent turns: how they ended, how long they took, tokens, and what the guards took out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--since", type=_ago, default="24h", metavar="24h", help="how far back: 90m, 24h, 7d")
        parser.add_argument("--format", choices=("text", "json"), default="text", help="json: all figures")

    def handle(self, *args: Any, **options: Any) -> None:
        found = turn_stats(timezone.now() - options["since"])
        if options["format"] == "json":
            self.stdout.write(json.dumps(found, indent=2))
            return
        for line in _told(found):
            self.stdout.write(line)


def _ago(text: str) -> timedelta:
    found = re.fullmatch(rf"([0-9]{{1,{_MOST_DIGITS}}})([mhd])", text)
    if found is None:
        raise ArgumentTypeError(_("a number and m, h or d, such as 90m, 24h or 7d"))
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _told(found: Mapping[str, Any]) -> Iterator[str]:
    yield _("Turns since %(since)s: %(turns)d") % found
    yield from _counts(_("How they ended"), found["statuses"])
    yield from _counts(_("Codes"), found["codes"])
    for model in found["models"]:
        yield ""
        yield _("%(model)s at %(provider)s, turns: %(turns)d") % _named(model)
        yield from _table([(_("ms"), "p50", "p95"), *((name, *_ends(model[name])) for name in TIMES)])
        shown = ", ".join(f"{name} {model[name]}" for name in TOKENS)
        share = "" if model["cached_share"] is None else f" ({model['cached_share']:.0%})"
        yield f"  {shown}{share}"
    if found["guards"]:
        yield ""
        yield from _table(
            [
                (_("day"), _("provider"), _("turns"), *GUARDS),
                *((row["day"], row["provider"] or "-", row["turns"], *map(row.get, GUARDS)) for row in found["guards"]),
            ]
        )


def _named(model: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": model["model"] or "-", "provider": model["provider"] or "-", "turns": model["turns"]}


def _ends(measured: Mapping[str, int | None]) -> tuple[int | str, ...]:
    return tuple("-" if value is None else value for value in (measured["p50"], measured["p95"]))


def _counts(heading: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield f"{heading}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _table(rows: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
