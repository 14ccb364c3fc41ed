"""How many requests of a process have a large file in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

LARGE_BYTES = 5_000_000  # smaller files need no slot
SLOT_WAIT_S = 20.0
# Of requests that store or return large files: each takes six times its size while it is encrypted or decrypted.
large_files = BoundedSemaphore(2)


@contextmanager
def file_slot(size: int) -> Iterator[bool]:
    """Hold a slot while a file of this size is in memory; False where none is free in time."""
    if size < LARGE_BYTES:
        yield True
        return
    has_slot = large_files.acquire(timeout=SLOT_WAIT_S)
    try:
        yield has_slot
    finally:
        if has_slot:
            large_files.release()
