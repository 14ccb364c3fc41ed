# ruff: noqa: PLC0415 - Django is set up before its models are imported
"""The sample filings of SHARED_DIR, loaded into a database of their own for as long as a benchmark runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django

MISSING = "no sample filings: SHARED_DIR names no folder that holds filings/"


def folder() -> Path | None:
    """Return the folder of the samples, None where it is missing."""
    shared = os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[3] / "shared"
    found = Path(shared) / "filings"
    return found if found.is_dir() else None


@contextmanager
def database() -> Iterator[str]:
    """Set Django up on an empty database that goes away again; yield the database's kind."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield connection.vendor
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def load(filings: Path) -> int:
    """Ingest every document of a folder; return how many there were."""
    from chat.filings.ingest import ingest

    return len([ingest(path) for path in sorted(filings.glob("*.html"))])


def folded(text: str) -> str:
    """Return text as two copies of one fact share it: case, quotation marks and white space don't count."""
    return " ".join(text.translate(_FOLD).casefold().split())


_FOLD = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})
