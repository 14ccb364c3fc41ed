"""Listings of models, in the forms that servers give them."""

from __future__ import annotations

from typing import Any

from chat.providers.context_limit import listed_limit


def listed_models(listing: Any) -> list[str]:
    """Return the names in a listing of models, in its order."""
    names = [name_in(row) for row in listed_rows(listing)]
    return [name for name in names if isinstance(name, str) and name]


def limit_of(model: str, listing: Any) -> int | None:
    """Return the context limit of a model in a listing, in tokens."""
    rows = [row for row in listed_rows(listing) if isinstance(row, dict)]
    return next((listed_limit(row) for row in rows if name_in(row) == model), None)


def listed_rows(listing: Any) -> list[Any]:
    """Return the rows of a listing: OpenAI's form, a bare list, Ollama's ``models``."""
    if isinstance(listing, dict):
        listing = listing.get("data") or listing.get("models")
    return listing if isinstance(listing, list) else []


def name_in(row: Any) -> Any:
    return row.get("id") or row.get("name") or row.get("model") if isinstance(row, dict) else row
