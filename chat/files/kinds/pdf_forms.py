"""Forms and notes of PDFs. By ``pypdf``: PDFium shows the fields of pages alone, and no value of a hidden one."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import pypdf
from pypdf.generic import DictionaryObject, StreamObject

MAX_FORM_FIELDS = 1_000
MAX_PARENTS = 16  # of a field of a form
PASSWORD_FIELD, PUSH_BUTTON = 1 << 13, 1 << 16  # flags of fields


class PdfForm:
    """What was typed, chosen or ticked in a PDF, a line for each field, at most ``MAX_FORM_FIELDS``."""

    def __init__(self, content: bytes) -> None:
        # In the process for files, so it doesn't change the server's own logging.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings quote the file
        self._reader = pypdf.PdfReader(io.BytesIO(content))
        self._seen: set[str] = set()  # names of fields that are drawn on a page
        self._left = MAX_FORM_FIELDS

    def values_on(self, number: int) -> str:
        """Return the values of the fields that a page draws, and texts that were written on it."""
        annotations: Sequence[Any] = ()
        # A broken form must not cost the text of its page, nor a broken field the others.
        with suppress(Exception):
            annotations = self._reader.pages[number - 1].annotations or ()
        lines = []
        for reference in islice(annotations, self._left):
            with suppress(Exception):
                annotation = reference.get_object()
                if annotation.get("/Subtype") == "/FreeText":
                    lines.append(f"Note: {annotation.get('/Contents', '')}")
                elif annotation.get("/Subtype") == "/Widget":
                    lines.append(self._line(annotation))
        return self._as_text(lines)

    def values_elsewhere(self) -> str:
        """Return the values of fields that no page draws."""
        fields: dict[str, Any] = {}
        with suppress(Exception):
            fields = self._reader.get_fields() or {}
        lines = []
        for name, found in islice(fields.items(), self._left):
            with suppress(Exception):
                if name not in self._seen:
                    lines.append(value_line(name, [found]))
        return self._as_text(lines)

    def _line(self, widget: DictionaryObject) -> str:
        levels = [widget]
        while len(levels) < MAX_PARENTS and isinstance(parent := levels[-1].get("/Parent"), DictionaryObject):
            levels.append(parent)
        name = ".".join(str(level["/T"]) for level in reversed(levels) if "/T" in level)
        is_button = any(level.get("/FT") == "/Btn" for level in levels)
        is_repeated = name in self._seen and not is_button
        self._seen.add(name)
        return "" if is_repeated else value_line(name, levels)

    def _as_text(self, lines: list[str]) -> str:
        found = list(filter(None, lines))
        self._left -= len(found)
        return "\n".join(["Form fields:", *found]) if found else ""


def value_line(name: str, levels: Sequence[DictionaryObject]) -> str:
    """Return a field's name and value, empty without one. ``levels``: the field, then those it inherits from."""

    def inherited(key: str) -> Any:
        return next((level[key].get_object() for level in levels if key in level), None)

    kind, flags = inherited("/FT"), int(inherited("/Ff") or 0)
    if kind == "/Sig" or (kind == "/Tx" and flags & PASSWORD_FIELD) or (kind == "/Btn" and flags & PUSH_BUTTON):
        return ""
    # The state of a button is that of its widget; several widgets are one choice.
    value = levels[0].get("/AS", inherited("/V")) if kind == "/Btn" else inherited("/V")
    if isinstance(value, StreamObject):
        value = value.get_data().decode("utf-8", "replace")
    options = inherited("/Opt") or []
    # what is shown, by what is stored
    labels = {str(each[0]): str(each[1]) for each in options if isinstance(each, list) and len(each) == 2}
    if kind == "/Btn":
        labels = {str(at): str(each) for at, each in enumerate(options)}
    chosen = [str(each).removeprefix("/") if kind == "/Btn" else str(each) for each in as_list(value)]
    words = ", ".join(labels.get(each, each) for each in chosen if each and each != "Off")
    return f"{inherited('/TU') or name}: {words}" if words else ""


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
