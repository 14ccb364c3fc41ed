"""``manage.py redaction_report FILE…``: show what redaction would mask in texts, by rule, without the masked parts."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reasoning.redaction import DEFAULT, SECRETS_ONLY, ShownMask, StreamRedactor

POLICIES = {"answers": SECRETS_ONLY, "default": DEFAULT}
MAX_MB = 20
AROUND = 40  # characters on each side of a mask


class Command(BaseCommand):
    """Let operators judge the rules on their own data."""

    help = "Show what redaction would mask in text files: counts by rule, and the redacted text around each mask."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument(
            "--policy",
            choices=POLICIES,
            default="default",
            help="answers: secrets alone; default: personal data as well, as in traces",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for path in options["files"]:
            masks: list[ShownMask] = []
            stream = StreamRedactor(POLICIES[options["policy"]], masks)
            shown = stream.feed(read_text(path)) + stream.flush()
            self.stdout.write(f"{path}: {len(masks)} masks")
            for rule, count in Counter(mask.rule for mask in masks).most_common():
                self.stdout.write(f"  {count:6} {rule}")
            for start, rule in masks:
                # Taken from the redacted text, so that no secret beside this one is shown.
                around = shown[max(start - AROUND, 0) : start + AROUND]
                self.stdout.write(f"  line {shown.count(chr(10), 0, start) + 1}, {rule}: {' '.join(around.split())}")


def read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_MB * 1_000_000:
            raise CommandError(f"{path}: larger than {MAX_MB} MB. Split the file.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: not UTF-8 text (byte {error.start}).") from error
