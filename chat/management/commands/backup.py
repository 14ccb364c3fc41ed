"""``manage.py backup FILE``: write an archive of the database, also while the server runs."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from chat.management import backup
from chat.models import SiteSettings


class Command(BaseCommand):
    """One file with everything but the keys."""

    help = "Write the database, with attached files and filings, and the fingerprints of the keys into one archive."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="the archive to create")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            backup.write(options["file"], created_at=now.isoformat(timespec="seconds"))
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        with suppress(DatabaseError):  # of an earlier version, which has no place for it
            SiteSettings.note_backup(now)
        keys = ", ".join(backup.key_fingerprints()) or "none"
        self.stdout.write(
            f"Wrote {options['file']} ({options['file'].stat().st_size:,} bytes). The keys are not in it: store "
            f"CONTENT_KEYS in another place. Their fingerprints: {keys}"
        )
