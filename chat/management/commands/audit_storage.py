"""``manage.py audit_storage``: find private text at rest, and print where it is, never what it says."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.audit.scan import scan_database, scan_file


class Command(BaseCommand):
    """One line a finding: table, row, column, kind. Exit 1 if there is any."""

    help = (
        "Look through every table, and through the files that are named, for delimiters, scratchpads, secrets, "
        "unsealed thinking and unmasked personal data. What people typed is exempt. Texts are never printed. "
        "Exit 1 if there are any."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--file",
            dest="files",
            nargs="+",
            action="extend",
            type=Path,
            default=[],
            metavar="PATH",
            help="search this file too, byte by byte, for delimiters and canaries: a log, or the database's own file "
            "(with its -wal), where what people typed cannot be told apart",
        )
        parser.add_argument(
            "--canary",
            dest="canaries",
            nargs="+",
            action="extend",
            default=[],
            metavar="TEXT",
            help="a text that should stand in no table and in no file, whoever wrote it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        canaries = tuple(options["canaries"])
        # a shell variable that is empty would make every place a finding
        if not all(canary.strip() for canary in canaries):
            raise CommandError("--canary: an empty text is everywhere.")
        count = 0
        for path in (None, *options["files"]):
            try:
                for finding in scan_file(path, canaries) if path else scan_database(canaries):
                    count += 1
                    self.stdout.write(str(finding))
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror}") from error
        self.stdout.write(f"Places found: {count}." if count else "Nothing found.")
        if count:
            sys.exit(1)
