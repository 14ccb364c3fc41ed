"""The bundled corpus: short filings of invented companies, and the dates that its manifest states for them."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from chat.filings.ingest import ingest
from chat.models import Filing

DEMO_FOLDER = Path(__file__).resolve().parents[2] / "demo_filings"
MANIFEST = "manifest.json"


def load_demo() -> list[Filing]:
    """Load the bundled corpus and return its filings. Loading it again changes nothing."""
    dates = stated_dates(DEMO_FOLDER)
    return [ingest(DEMO_FOLDER / name, filed_on=filed_on, is_demo=True) for name, filed_on in dates.items()]


def stated_dates(folder: Path) -> dict[str, dt.date]:
    """Return the filing dates that a folder's manifest states, by file name; empty without a manifest of ours."""
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {entry["file"]: dt.date.fromisoformat(entry["filed"]) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
