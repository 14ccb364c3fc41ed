"""Load documents into a collection: files or folders."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from chat.documents import loading
from chat.documents.collections import clean_name as clean_collection_name
from chat.files.words import clean_name, problem_text
from chat.models import Collection, Document
from chat.validation import InvalidInputError

POLL_S = 0.2


class Command(BaseCommand):
    """Print one line per document; a file that can't be read is named with the reason and skipped."""

    help = "Load documents into a collection: files or folders."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--collection", default="Documents", metavar="NAME", help="created where it is missing")
        parser.add_argument("--owner", metavar="USER", help="whose collection; without it the site's, for everybody")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = None
        if username := options["owner"]:
            owner = User.objects.filter(username=username).first()
            if owner is None:
                raise CommandError(_("There is no user %(name)s.") % {"name": username})
        files = [file for path in options["paths"] for file in (files_inside(path) if path.is_dir() else [path])]
        if not files:
            raise CommandError(_("There is no document in it."))
        try:
            name = clean_collection_name(options["collection"])
        except InvalidInputError as error:
            raise CommandError(error.message) from error
        collection = Collection.objects.filter(owner=owner, name=name).first()
        collection = collection or Collection.objects.create(owner=owner, name=name)
        names = names_of(files)
        failed = sum(not self.load_file(collection, file, names[file]) for file in files)
        loaded = len(files) - failed
        done = ngettext("%(count)d document loaded", "%(count)d documents loaded", loaded) % {"count": loaded}
        lost = _("%(count)d failed") % {"count": failed}
        self.stdout.write(f"{done}, {lost}." if failed else f"{done}.")
        if failed:
            sys.exit(1)

    def load_file(self, collection: Collection, file: Path, name: str) -> bool:
        try:
            document = loading.accept(None, collection, SimpleUploadedFile(name, file.read_bytes()))
        except (InvalidInputError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.stderr.write(_("%(file)s was skipped: %(reason)s") % {"file": file, "reason": reason})
            return False
        if document.status == Document.Status.WAITING and loading.claim(document):
            loading.read(document)
        document.refresh_from_db()
        while document.status in {Document.Status.WAITING, Document.Status.READING}:  # a server has claimed it
            time.sleep(POLL_S)
            document.refresh_from_db()
        if document.problem:
            reason = problem_text(document.problem, document.name)
            self.stderr.write(_("%(file)s was skipped: %(reason)s") % {"file": file, "reason": reason})
            return False
        self.stdout.write(f"{name}: {result_line(document)}")
        return True


def files_inside(folder: Path) -> list[Path]:
    """Return a folder's files at any depth, without hidden ones."""
    # hidden folders are those of editors and version control
    found = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts))


def names_of(files: Sequence[Path]) -> dict[Path, str]:
    """Return what each file is called: several of one name by their folders too, so that none is replaced."""
    paths = {file: file.absolute() for file in files}
    top = os.path.commonpath([path.parent for path in paths.values()])
    counts = Counter(path.name for path in paths.values())
    return {
        file: clean_name(str(path.relative_to(top))) if counts[path.name] > 1 else path.name
        for file, path in paths.items()
    }


def result_line(document: Document) -> str:
    count = document.passages.count()
    parts = [str(document), ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count}]
    if document.pages:
        parts.append(ngettext("%(count)d page", "%(count)d pages", document.pages) % {"count": document.pages})
    if document.is_cut:
        parts.append(_("only its beginning can be searched"))
    return ", ".join(parts)
