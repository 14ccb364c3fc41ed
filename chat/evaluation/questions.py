"""The questions of an evaluation, as a file of its folder has them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

FILES = ("questions.csv", "questions.jsonl")
FILINGS = "filings"  # the folder of SEC filings, which are loaded as such


class QuestionsError(ValueError):
    """The folder holds no questions that can be read. The text says why."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """A question, the file that answers it, and words that a cited passage must hold; without words none answers."""

    question: str
    document: str = ""  # empty: any document will do
    quotation: str = ""


def read_questions(folder: Path) -> list[ExpectedAnswer]:
    """Read the questions of a folder. Raises QuestionsError."""
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        missing = {"folder": folder, "files": " or ".join(FILES)}
        raise QuestionsError(_("%(folder)s holds no %(files)s.") % missing)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows: Iterable[Mapping[str, Any]]
            rows = csv.DictReader(file) if path.suffix == ".csv" else map(json.loads, filter(str.strip, file))
            questions = [expected_answer(row) for row in rows]
    except (OSError, ValueError, AttributeError, csv.Error) as error:
        raise QuestionsError(_("%(file)s can’t be read: %(reason)s") % {"file": path, "reason": error}) from error
    names = {file.name for file in documents_of(folder) + filings_of(folder)}
    for number, one in enumerate(questions, start=1):
        if not one.question:
            raise QuestionsError(_("%(file)s: question %(number)d is empty.") % {"file": path, "number": number})
        if one.document and one.document not in names:
            raise QuestionsError(_("%(file)s: there is no file %(name)s.") % {"file": path, "name": one.document})
    return questions


def expected_answer(row: Mapping[str, Any]) -> ExpectedAnswer:
    return ExpectedAnswer(*(str(row.get(name) or "").strip() for name in ("question", "document", "quotation")))


def documents_of(folder: Path) -> list[Path]:
    """Return the documents that lie beside the questions."""
    return sorted(
        file for file in folder.iterdir() if file.is_file() and file.name not in FILES and not file.name.startswith(".")
    )


def filings_of(folder: Path) -> list[Path]:
    """Return the SEC filings of a folder."""
    return sorted(file for file in (folder / FILINGS).glob("*") if file.is_file() and file.suffix != ".json")
