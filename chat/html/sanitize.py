"""The allow-list between a model's markup and the page: bleach, the only sanitizer."""

from __future__ import annotations

import re
import threading

from bleach.sanitizer import Cleaner

from chat.html.links import check_url
from chat.html.marks import TAG as CITATION_MARK
from chat.html.math import ELEMENTS as MATHML

_NAMES = """
    p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del sub sup kbd u a details summary table thead
    tbody tr th td
"""
TAGS = frozenset({*_NAMES.split(), CITATION_MARK}) | MATHML.keys()
SCHEMES = frozenset({"http", "https", "mailto"})

_LANGUAGE = re.compile(r"language-[A-Za-z0-9_+-]{1,32}")
_ALIGN = frozenset({"left", "center", "right"})
_START = re.compile(r"[0-9]{1,9}")
# A Cleaner has state while it works, so each thread has its own.
_local = threading.local()


def sanitize_html(html: str) -> str:
    """Return ``html`` with the allowed elements and attributes only; the words of others remain."""
    cleaner: Cleaner | None = getattr(_local, "cleaner", None)
    if cleaner is None:
        cleaner = Cleaner(tags=TAGS, attributes=is_allowed, protocols=SCHEMES, strip=True, strip_comments=True)
        _local.cleaner = cleaner
    return cleaner.clean(html)


def is_allowed(tag: str, name: str, value: str) -> bool:
    """Say whether an element may have this attribute with this value."""
    match tag, name:
        case "a", "href":
            return check_url(value) is not None
        case "ol", "start":
            return _START.fullmatch(value) is not None
        case "code", "class":
            return _LANGUAGE.fullmatch(value) is not None
        case "th" | "td", "align":
            return value in _ALIGN
        case "details", "open":
            return value == ""
    pattern = MATHML.get(tag, {}).get(name)
    return pattern is not None and pattern.fullmatch(value) is not None
