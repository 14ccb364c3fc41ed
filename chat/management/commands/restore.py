"""``manage.py restore FILE``: restore a backup into an empty database and migrate it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from chat.management import backup


class Command(BaseCommand):
    """Checks all of the archive and the keys before it writes anything."""

    help = "Restore an archive of `backup` into an empty database, and migrate it to this version."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="the archive to read")
        parser.add_argument(
            "--without-keys",
            action="store_true",
            help="restore although keys are missing; what they encrypted can't be read",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = backup.restore(options["file"], without_keys=options["without_keys"])
        except backup.BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        call_command("migrate", interactive=False, verbosity=0)
        self.stdout.write(f"Restored the backup of {manifest.created_at}.")
