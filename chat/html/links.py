"""Which addresses a model may link to, and how such a link is shown.

An address is read once, strictly: whatever a browser might read differently is refused. What passes leads straight
there (hosts of the allow-list), over the page that shows the whole address first, or nowhere: an address that is long
enough to carry something out of the conversation stays text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, unquote_plus

from django.conf import settings

from chat.html.asked import NOTHING, Asked

LEAVING_PATH = "/leaving/"
MAX_URL = 2048
MAX_PIECE = 64
DEFAULT_SAFE_HOSTS = ("sec.gov", "www.sec.gov")

_BAD_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_BAD_CHARACTERS = frozenset('\\<>"`{}|^')
_AUTHORITY = re.compile(r"(?P<host>[^:\[\]%]+|\[[0-9a-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_FRAGMENT = re.compile(r"#[A-Za-z0-9_.~-]{1,128}")
_MAILBOX = re.compile(r"[A-Za-z0-9_.+-]{1,64}@(?P<host>[^@]{1,253})")
_URL_PUNCTUATION = "%/?#[]@!$&'()*+,;=:~"


class Place(Enum):
    """Where a link leads: straight to its target, to the page in between, or nowhere."""

    DIRECT = "direct"
    LEAVING = "leaving"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Address:
    """An address that passed the check: as it is written into the page, with the host that it really reaches."""

    url: str
    scheme: str  # "https", "http", "mailto"; "" for an address on this site
    host: str  # ASCII, lower case; "" on this site
    port: str = ""
    rest: str = ""  # path, query and fragment

    @property
    def is_web(self) -> bool:
        """Whether it leads to another site."""
        return self.scheme in ("https", "http")

    @property
    def is_international(self) -> bool:
        """Whether the host is punycode, whose letters may look like those of another name."""
        return any(label.startswith("xn--") for label in self.host.split("."))


def check_url(raw: str) -> Address | None:
    """Return the address that ``raw`` is, or None where it is refused.

    Allowed are https, http, mailto to one mailbox, a fragment of the page, and the paths of this site in the setting
    ``SAFE_LINK_PATHS``. Refused are all else: other schemes, ``//host``, backslashes, a user name before the host,
    white space and characters that don't print, wherever they stand.
    """
    if not raw or len(raw) > MAX_URL or any(map(_is_odd, raw)):
        return None
    if raw.startswith("#"):
        return Address(raw, "", "") if _FRAGMENT.fullmatch(raw) else None
    if raw.startswith("/"):
        return Address(raw, "", "") if raw in safe_paths() else None
    scheme, _, rest = raw.partition(":")
    match scheme.lower():
        case "https" | "http" as web:
            return _web(web, rest)
        case "mailto":
            return _mail(rest)
    return None


def place(address: Address, asked: Asked = NOTHING) -> Place:
    """Decide where a model's link leads. ``asked`` is what people asked before this answer."""
    if not address.is_web:
        return Place.DIRECT
    if address.host in safe_hosts() and not address.port:
        return Place.DIRECT
    if _is_roomy(address) or _echoes(address, asked):
        return Place.TEXT
    return Place.LEAVING


def safe_hosts() -> Collection[str]:
    """Return the hosts that a link may lead to directly."""
    return getattr(settings, "SAFE_LINK_HOSTS", DEFAULT_SAFE_HOSTS)


def safe_paths() -> Collection[str]:
    """Return the paths of this site that a model may link to: none, unless the site says so."""
    return getattr(settings, "SAFE_LINK_PATHS", ())


def leaving_url(address: Address) -> str:
    """Return the address of the page that shows ``address`` whole before one goes there."""
    return f"{LEAVING_PATH}?to={quote(address.url, safe='')}"


def _is_odd(char: str) -> bool:
    return char in _BAD_CHARACTERS or unicodedata.category(char) in _BAD_CATEGORIES


def _web(scheme: str, rest: str) -> Address | None:
    if not rest.startswith("//"):
        return None
    authority = re.match(r"[^/?#]*", rest[2:])
    parts = _AUTHORITY.fullmatch(authority[0]) if authority else None
    host = _ascii_host(parts["host"]) if parts else ""
    if not parts or not authority or not host:
        return None
    port = parts["port"] or ""
    tail = quote(rest[2 + authority.end() :], safe=_URL_PUNCTUATION)
    shown = f"{host}:{port}" if port else host
    return Address(f"{scheme}://{shown}{tail}", scheme, host, port, tail)


def _mail(rest: str) -> Address | None:
    mailbox = _MAILBOX.fullmatch(rest)
    host = _ascii_host(mailbox["host"]) if mailbox else ""
    return Address(f"mailto:{rest}", "mailto", host) if host else None


def _ascii_host(host: str) -> str:
    """Return the host as a browser resolves it, or an empty string where it is no host."""
    if host.startswith("["):
        return host.lower()
    try:
        name = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return ""
    labels = name.removesuffix(".").split(".")
    return name if len(name) <= 253 and all(map(_LABEL.fullmatch, labels)) else ""


def _is_roomy(address: Address) -> bool:
    """Whether a piece of the address is long enough to carry text out."""
    path, _, fragment = address.rest.partition("#")
    path, _, query = path.partition("?")
    pieces = [query, fragment, *path.split("/"), *address.host.split(".")]
    return len(address.url) > 8 * MAX_PIECE or any(len(piece) > MAX_PIECE for piece in pieces)


def _echoes(address: Address, asked: Asked) -> bool:
    """Whether the address repeats words of the questions that it was not part of as a whole."""
    decoded = unquote_plus(unquote_plus(f"{address.host}/{address.rest}"))
    return not asked.gave(address.url) and asked.shares_words_with(decoded)
