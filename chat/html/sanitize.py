"""The allow-list between a model's markup and the page: nh3, the only sanitizer."""

from __future__ import annotations

import re

import nh3

from chat.html.links import check_url
from chat.html.math import ELEMENTS as MATHML

_NAMES = "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del sup a table thead tbody tr th td"
TAGS = frozenset(_NAMES.split()) | MATHML.keys()
SCHEMES = frozenset({"http", "https", "mailto"})

_LANGUAGE = re.compile(r"language-[A-Za-z0-9_+-]{1,32}")
_START = re.compile(r"[0-9]{1,9}")


def is_allowed(tag: str, name: str, value: str) -> bool:
    """Say whether an element may have this attribute with this value."""
    match tag, name:
        case "a", "href":
            return check_url(value) is not None
        case "ol", "start":
            return _START.fullmatch(value) is not None
        case "code", "class":
            return _LANGUAGE.fullmatch(value) is not None
    pattern = MATHML.get(tag, {}).get(name)
    return pattern is not None and pattern.fullmatch(value) is not None


def allowed_value(tag: str, name: str, value: str) -> str | None:
    """Return the value of an attribute if the element may have it."""
    return value if is_allowed(tag, name, value) else None


_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes={"a": {"href"}, "ol": {"start"}, "code": {"class"}} | {tag: set(names) for tag, names in MATHML.items()},
    attribute_filter=allowed_value,
    clean_content_tags=set(),
    url_schemes=set(SCHEMES),
    link_rel=None,
)


def sanitize_html(html: str) -> str:
    """Return ``html`` with the allowed elements and attributes only; the words of others remain."""
    return _CLEANER.clean(html)
