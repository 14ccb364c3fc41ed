"""Why a page is not read, in words for the model and in words for people."""

from __future__ import annotations

from typing import Final, Literal

from chat.tools.base import ToolRefusedError, gettext_noop
from chat.web.addresses import AddressProblem

Problem = Literal[
    "host", "private", "unreachable", "slow", "large", "robots", "robots_unread", "redirects", "redirect", "type",
    "status", "unreadable", "busy",
]  # fmt: skip

# For the model, which can ask for another address, and for people, in English: they name the host.
_TEXTS: Final[dict[Problem, tuple[str, str]]] = {
    "host": ("this site allows no pages of {host}", gettext_noop("Pages of this host are not allowed: %(name)s")),
    "private": ("{host} has no public address", gettext_noop("This host has no public address: %(name)s")),
    "unreachable": ("{host} can't be reached", gettext_noop("This host can’t be reached: %(name)s")),
    "slow": ("{host} took too long to answer", gettext_noop("This host took too long to answer: %(name)s")),
    "large": ("the page is larger than 2 MB", gettext_noop("The page is too large: %(name)s")),
    "robots": (
        "robots.txt of {host} doesn't allow programs to read this page; don't try another way to it",
        gettext_noop("The host’s robots.txt does not allow this page: %(name)s"),
    ),
    "robots_unread": (
        "robots.txt of {host} can't be read, so whether the page may be read is unknown; try again later",
        gettext_noop("The host’s robots.txt can’t be read: %(name)s"),
    ),
    "redirects": ("{host} redirects too often", gettext_noop("This host redirects too often: %(name)s")),
    "redirect": (
        "{host} redirects to an address that pages can't be read from",
        gettext_noop("This host redirects to an unusable address: %(name)s"),
    ),
    "type": (
        "what {host} sent is neither HTML nor text nor PDF",
        gettext_noop("The page is neither HTML nor text nor PDF: %(name)s"),
    ),
    "status": ("{host} has no such page for us: status {detail}", gettext_noop("This host gave no page: %(name)s")),
    "unreadable": ("the page has no text that can be read", gettext_noop("The page has no readable text: %(name)s")),
    "busy": (
        "other files are being read; try again in a moment",
        gettext_noop("Other files are being read, try again: %(name)s"),
    ),
}
ADDRESS_TEXTS: Final[dict[AddressProblem, str]] = {
    "address": "url: not an address of a web page; give the whole one, with https://, without user name and password",
    "scheme": "url: only https and http",
    "number": "url: give the name of the host, not its IP address",
    "port": "url: only the ports 80 and 443",
    "dots": "url: leave out /./ and /../",
}


def refusal(problem: Problem, host: str, detail: object = "") -> ToolRefusedError:
    """Return the error that says why no page of this host is read."""
    reason, shown = _TEXTS[problem]
    return ToolRefusedError(reason.format(host=host, detail=detail), shown=shown % {"name": host})
