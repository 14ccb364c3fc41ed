"""Which addresses a model may link to, and whether a link opens directly or after a page that shows its address.

An address is parsed once, strictly: whatever a browser might parse differently is refused, and shown as text. Every
link to another site leads over that page, except to the hosts of a setting; there too, an address that is long enough
to carry text out of the conversation, or that repeats words of the user.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote, unquote

from django.conf import settings

from chat.html.link_check import EMPTY, UserText, decodings

WARNING_PATH = "/leaving/"
MAX_URL_CHARS = 2048
# A longer part of an address has room to carry text out.
MAX_PART_CHARS = 64

# Invisible and reordering characters can make one address look like another.
_BAD_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_BAD_CHARACTERS = frozenset('\\<>"`{}|^')
_WEB = re.compile(
    r"//(?P<host>[^:\[\]%/?#]+|\[[0-9a-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>(?:[/?#].*)?)", re.IGNORECASE
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_FRAGMENT = re.compile(r"#[A-Za-z0-9_.~-]{1,128}")
_MAILBOX = re.compile(r"[A-Za-z0-9_.+-]{1,64}@(?P<host>[^@]{1,253})")
_URL_PUNCTUATION = "%/?#[]@!$&'()*+,;=:~"


@dataclass(frozen=True, slots=True)
class Address:
    """An address that passed the check, in the form that is written into the page."""

    url: str
    scheme: str  # "https", "http", "mailto"; "" for a fragment of the page
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
    """Parse an address; None where it is refused.

    Allowed are https, http, mailto with one mailbox, and a fragment of the page. Refused are other schemes, paths of
    this site, ``//host``, backslashes, a user name before the host, white space and unprintable characters anywhere.
    """
    is_odd = any(char in _BAD_CHARACTERS or unicodedata.category(char) in _BAD_CATEGORIES for char in raw)
    if len(raw) > MAX_URL_CHARS or is_odd:
        return None
    if _FRAGMENT.fullmatch(raw):
        return Address(raw, "", "")
    scheme, _, rest = raw.partition(":")
    scheme = scheme.lower()
    if scheme in ("https", "http") and (web := _WEB.fullmatch(rest)) and (host := ascii_host(web["host"])):
        port = web["port"] or ""
        tail = quote(web["rest"], safe=_URL_PUNCTUATION)
        return Address(f"{scheme}://{host}{f':{port}' if port else ''}{tail}", scheme, host, port, tail)
    if scheme == "mailto" and (mailbox := _MAILBOX.fullmatch(rest)) and (host := ascii_host(mailbox["host"])):
        return Address(f"mailto:{rest}", scheme, host)
    return None


def ascii_host(host: str) -> str:
    """Return the host as a browser resolves it, or an empty string where it is no host."""
    if host.startswith("["):
        return host.lower()
    try:
        name = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return ""
    labels = name.removesuffix(".").split(".")
    return name if len(name) <= 253 and all(map(_LABEL.fullmatch, labels)) else ""


def link_target(address: Address, user_text: UserText = EMPTY) -> str:
    """Return what a model's link opens: its address, or a page that shows the address first. Product 42.

    ``user_text`` is what the users wrote before this answer.
    """
    if not address.is_web:
        return address.url
    warning_url = f"{settings.URL_PREFIX}{WARNING_PATH}?to={quote(address.url, safe='')}"
    if address.host not in safe_hosts() or address.port:
        return warning_url
    path, _, fragment = address.rest.partition("#")
    path, _, query = path.partition("?")
    has_room = len(address.url) > 8 * MAX_PART_CHARS or any(
        len(part) > MAX_PART_CHARS for part in (query, fragment, *path.split("/"))
    )
    # Twice: a word can be escaped twice and still arrive at the other site.
    repeats_user = not user_text.contains_url(address.url) and any(
        map(user_text.shares_words_with, decodings(unquote(unquote(address.rest))))
    )
    return warning_url if has_room or repeats_user else address.url


def safe_hosts() -> Collection[str]:
    """Return the hosts that a link may open directly."""
    hosts: Collection[str] = settings.SAFE_LINK_HOSTS
    return hosts
