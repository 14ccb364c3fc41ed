"""Dates as filings write them."""

from __future__ import annotations

import datetime as dt
import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WRITTEN = (
    re.compile(_MONTH + r"\s*(?P<day>\d{1,2})(?:st|nd|rd|th)?\s*,?\s*(?P<year>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:day of\s+)?" + _MONTH + r",?\s+(?P<year>(?:19|20)\d\d)", re.I),
    re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>(?:19|20)?\d\d)(?!\d)"),
)


def find_date(text: str) -> dt.date | None:
    """Return the first date in ``text`` that exists in the calendar: written out, ISO, or month/day/year."""
    found = [match for pattern in _WRITTEN for match in pattern.finditer(text)]
    for match in sorted(found, key=lambda one: one.start()):
        if date := _date(match["year"], match["month"], match["day"]):
            return date
    return None


def _date(year: str, month: str, day: str) -> dt.date | None:
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    full_year = int(year) if len(year) == 4 else 2000 + int(year) if int(year) < 70 else 1900 + int(year)
    try:
        return dt.date(full_year, number, int(day))
    except ValueError:
        return None
