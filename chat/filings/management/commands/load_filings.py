"""Ingest EDGAR documents: HTML, inline XBRL, text; files or folders."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.filings.ingest import DEMO_FOLDER, MANIFEST, ingest, stated_dates
from chat.filings.models import Filing
from chat.filings.submission import SUFFIXES, DocumentError


class Command(BaseCommand):
    """Print one line per document; a file that can't be read is named with the reason and skipped."""

    help = "Ingest EDGAR documents (HTML, inline XBRL, text), files or folders."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
        parser.add_argument(
            "--filed", type=dt.date.fromisoformat, metavar="DATE", help="filing date where the document states none"
        )
        parser.add_argument("--demo", action="store_true", help="mark as invented; without PATH: the bundled corpus")

    def handle(self, *args: Any, **options: Any) -> None:
        paths: list[Path] = options["paths"] or ([DEMO_FOLDER] if options["demo"] else [])
        if not paths:
            raise CommandError(_("Name at least one file or folder."))
        failed = 0
        files = [file for path in paths for file in self.find_files(path)]
        if not files:
            raise CommandError(_("There is no document in it."))
        for file in files:
            failed += not self.load_file(file, options["filed"], is_demo=options["demo"])
        loaded = len(files) - failed
        done = ngettext("%(count)d filing loaded", "%(count)d filings loaded", loaded) % {"count": loaded}
        lost = _("%(count)d failed") % {"count": failed}
        self.stdout.write(f"{done}, {lost}." if failed else f"{done}.")
        if failed:
            sys.exit(1)

    def find_files(self, path: Path) -> Iterator[Path]:
        """Yield a file, or the documents in a folder; other files in a folder are named and skipped."""
        for file in files_inside(path) if path.is_dir() else [path]:
            if file == path or file.suffix.lower() in SUFFIXES:
                yield file
            else:
                self.stdout.write(_("%(file)s: skipped: unknown file extension") % {"file": file.name})

    def load_file(self, file: Path, filed_on: dt.date | None, *, is_demo: bool) -> bool:
        try:
            filing = ingest(file, filed_on=filed_on or stated_dates(file.parent).get(file.name), is_demo=is_demo)
        except (DocumentError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.stderr.write(_("%(file)s was skipped: %(reason)s") % {"file": file, "reason": reason})
            return False
        self.stdout.write(result_line(file, filing))
        return True


def files_inside(folder: Path) -> list[Path]:
    """Return a folder's files at any depth, without hidden ones and the demo's manifest."""
    found = (file for file in folder.rglob("*") if file.is_file() and file.name != MANIFEST)
    # hidden folders are those of editors and version control
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts))


def result_line(file: Path, filing: Filing) -> str:
    passages = filing.passages.count()
    sections = filing.passages.order_by().values("section").distinct().count()
    what = ngettext("%(count)d passage", "%(count)d passages", passages) % {"count": passages}
    where = ngettext("%(count)d section", "%(count)d sections", sections) % {"count": sections}
    if filing.filed_on:
        date = _("filed %(date)s") % {"date": filing.filed_on.isoformat()}
    else:
        date = _("filing date not stated")
    name = f"{filing.company} {filing.form or '—'}"
    return f"{file.name}: {name}, {date}, {what}, {where}"
