"""The threads of a server that read documents which wait, and those that a process left when it died."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread

from django.db import DatabaseError, connections

from chat.documents import loading
from chat.texts import db_errors

POLL_S = 2.0  # another process may have accepted a document
logger = logging.getLogger(__name__)


def start(is_draining: Callable[[], bool]) -> None:
    """Read documents in threads that end with the server."""
    for number in range(loading.AT_ONCE):
        Thread(target=run, args=(is_draining,), name=f"documents-{number}", daemon=True).start()


def run(is_draining: Callable[[], bool]) -> None:
    """Read until the server drains. Target of a thread."""
    while not is_draining():
        try:
            read_waiting(is_draining)
        except DatabaseError as error:
            # The document stays claimed, and is read again when that has expired.
            logger.warning("documents not read", exc_info=not db_errors.is_outage(error))
        except Exception:
            logger.warning("document not read", exc_info=True)
        finally:
            connections.close_all()  # those of this thread
        loading.arrived.wait(POLL_S)
        loading.arrived.clear()


def read_waiting(is_draining: Callable[[], bool] = lambda: False) -> int:
    """Read the documents that wait, one after another; return how many."""
    count = 0
    while not is_draining() and (document := loading.claim_next()):
        loading.read(document)
        count += 1
    return count
