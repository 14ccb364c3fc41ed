"""User-facing messages for outages of the database or its disk, and for a key that is missing."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator

from cryptography.fernet import InvalidToken
from django.db import InterfaceError, InternalError, OperationalError
from django.utils.translation import gettext as _

_FULL = ("disk is full", "no space left", "could not extend file", "quota exceeded")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = ("readonly", "read-only")
_BUSY = ("locked", "too many clients", "connection slots", "pool")


def is_outage(error: BaseException | None) -> bool:
    """Whether the database is unavailable, rather than our code wrong."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:  # an upload waits in a file
        return True
    # PostgreSQL reports a read-only database, such as a standby, as an internal error.
    return isinstance(error, OperationalError | InterfaceError) or (
        isinstance(error, InternalError) and _says(error, _READ_ONLY)
    )


def is_disk_full(error: BaseException | None) -> bool:
    """Whether there is no room, for the database or for a temporary file."""
    return is_outage(error) and (isinstance(error, OSError) or _says(error, _FULL))


def lacks_key(error: BaseException | None) -> bool:
    """Whether a text was encrypted with a key that this server doesn't have (any more), as after some restores."""
    return isinstance(error, InvalidToken)


def user_message(error: BaseException) -> str:
    """Return the message for the user of a failed request: never the database's own words."""
    if lacks_key(error):
        return _("This was stored with a key that the server doesn’t have. Tell your administrator.")
    if is_disk_full(error):
        return _("The server’s disk is full, so nothing can be stored. Send it again when there is room.")
    if not is_outage(error):
        return _("Something went wrong on this server. Send it again.")
    if _says(error, _READ_ONLY):
        return _("The server’s database is read-only, so nothing can be stored. Send it again later.")
    if _says(error, _BUSY):
        return _("The server’s database is busy. Send it again in a moment.")
    return _("The server’s database does not answer. Send it again in a moment.")


def _says(error: BaseException | None, parts: Collection[str]) -> bool:
    text = " ".join(map(str, _causes(error))).lower()
    return any(part in text for part in parts)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
