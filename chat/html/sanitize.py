"""The allow-list that stands between any HTML and the page, behind one function.

bleach is what the product was asked to use; its last release is 6.4.0, so nh3 stands ready behind the same function,
and every test of this module runs through both.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Literal

import nh3
from bleach.sanitizer import Cleaner

from chat.html.links import check_url
from chat.html.mathml import ELEMENTS as MATHML

Engine = Literal["bleach", "nh3"]

_NAMES = "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del a table thead tbody tr th td"
TAGS = frozenset(_NAMES.split()) | MATHML.keys()
ATTRIBUTES = {"a": frozenset({"href", "title"}), "ol": frozenset({"start"}), "code": frozenset({"class"})} | {
    tag: frozenset(values) for tag, values in MATHML.items()
}
SCHEMES = frozenset({"http", "https", "mailto"})

_LANGUAGE = re.compile(r"language-[A-Za-z0-9_+-]{1,32}")
_START = re.compile(r"[0-9]{1,9}")
_local = threading.local()  # a bleach Cleaner keeps state while it works, so each thread has its own


def sanitize_html(html: str, *, engine: Engine = "bleach") -> str:
    """Return ``html`` with nothing but the allowed elements and attributes; links whose address is refused lose it.

    Kept of attributes: ``a`` href and title, ``ol`` start, ``code`` with one class ``language-…``, and of a formula
    those that lay it out.
    """
    return _nh3().clean(html) if engine == "nh3" else _bleach().clean(html)


def is_kept(tag: str, name: str, value: str) -> bool:
    """Say whether an attribute may stay, with this value."""
    match tag, name:
        case "a", "href":
            return check_url(value) is not None
        case "a", "title":
            return True
        case "ol", "start":
            return _START.fullmatch(value) is not None
        case "code", "class":
            return _LANGUAGE.fullmatch(value) is not None
    pattern = MATHML.get(tag, {}).get(name)
    return pattern is not None and pattern.fullmatch(value) is not None


def _bleach() -> Cleaner:
    cleaner: Cleaner | None = getattr(_local, "cleaner", None)
    if cleaner is None:
        cleaner = Cleaner(tags=TAGS, attributes=is_kept, protocols=SCHEMES, strip=True, strip_comments=True)
        _local.cleaner = cleaner
    return cleaner


@cache
def _nh3() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=lambda tag, name, value: value if is_kept(tag, name, value) else None,
        url_schemes=set(SCHEMES),
        link_rel=None,
    )
