"""User-facing messages for database outages."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _

_FULL = ("disk is full", "no space left", "could not extend file")
_BUSY = ("locked", "too many clients", "connection slots", "pool")


def is_outage(error: BaseException | None) -> bool:
    """Whether the database is unavailable, rather than our code wrong."""
    return isinstance(error, OperationalError | InterfaceError)


def user_message(error: BaseException) -> str:
    """Return the message for the user of a failed request: never the database's own words."""
    if not is_outage(error):
        return _("Something went wrong on this server. Send it again.")
    text = " ".join(map(str, _causes(error))).lower()
    if any(part in text for part in _FULL):
        return _("The server’s disk is full, so nothing can be stored. Send it again when there is room.")
    if any(part in text for part in _BUSY):
        return _("The server’s database is busy. Send it again in a moment.")
    return _("The server’s database does not answer. Send it again in a moment.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
