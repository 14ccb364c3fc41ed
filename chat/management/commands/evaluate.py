"""``manage.py evaluate FOLDER``: how well questions about a folder of documents are answered."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils.translation import gettext as _

from chat.evaluation import run
from chat.evaluation.questions import QuestionsError, read_questions
from chat.models import Evaluation

# What answers where no configured model is asked for.
OFFLINE = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "OPENAI_MODEL": ""}
MAX_SHOWN_CHARS, MAX_ERROR_CHARS = 200, 2_000


class Command(BaseCommand):
    """Run one process for each database: a connection can't change its engine, and nothing of this one is touched."""

    help = "Ask the questions of a folder about its documents, in throw-away databases; print and store the figures."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder",
            type=Path,
            metavar="FOLDER",
            help="questions.csv or questions.jsonl (question, document, quotation) with the documents; "
            "SEC filings in its folder filings",
        )
        parser.add_argument("--postgresql", metavar="URL", help="also in a database that is made at this server")
        parser.add_argument(
            "--configured",
            action="store_true",
            help="ask the model that OPENAI_BASE_URL names, not the offline analyst",
        )
        parser.add_argument(
            "--here", action="store_true", help="in a database of this engine; print JSON, store nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["folder"].resolve()
        try:
            questions = read_questions(folder)
        except (QuestionsError, OSError) as error:
            raise CommandError(str(error)) from error
        if options["here"]:
            self.evaluate_here(folder)
            return
        self.stdout.write(_("%(folder)s: %(count)d questions") % {"folder": folder.name, "count": len(questions)})
        with tempfile.TemporaryDirectory(prefix="legible-evaluation-") as temporary:
            urls = [f"sqlite:///{temporary}/evaluation.sqlite3", *filter(None, [options["postgresql"]])]
            for url in urls:
                done = evaluate_apart(folder, url, is_offline=not options["configured"])
                for line in done["wrong"]:
                    self.stdout.write(f"  {line}")
                self.report(Evaluation.objects.create(folder=folder.name[:100], **done["figures"]))

    def evaluate_here(self, folder: Path) -> None:
        connection.settings_dict["TEST"]["NAME"] = f"{connection.settings_dict['NAME']}_evaluation_{os.getpid()}"
        before = str(connection.settings_dict["NAME"])
        connection.creation.create_test_db(verbosity=0, autoclobber=True)
        logging.disable(logging.INFO)
        try:
            outcomes = run.ask_all(run.load(folder), read_questions(folder))
            wrong = [
                f"{one.expected.question} … {' '.join(one.answer.split())[:MAX_SHOWN_CHARS]}"
                for one in outcomes
                if not one.is_right
            ]
            figures = run.figures_of(outcomes)
        finally:
            logging.disable(logging.NOTSET)
            connection.creation.destroy_test_db(before, verbosity=0)
        self.stdout.write(json.dumps({"figures": figures, "wrong": wrong}))

    def report(self, found: Evaluation) -> None:
        self.stdout.write(f"{found.database}, {found.model}")
        rows = [
            (_("found in five"), f"{found.found} / {found.answerable}"),
            (_("quoted"), f"{found.quoted} / {found.answerable}"),
            (_("cited"), f"{found.cited} / {found.answerable}"),
            (_("refused"), f"{found.refused} / {found.unanswerable}"),
            (_("quotations that are not verbatim"), str(found.not_verbatim)),
            (_("search, p50 in ms"), f"{found.p50_ms:.1f}"),
            (_("search, p95 in ms"), f"{found.p95_ms:.1f}"),
        ]
        for name, value in rows:
            self.stdout.write(f"  {name:34} {value:>9}")


def evaluate_apart(folder: Path, database_url: str, *, is_offline: bool) -> Any:
    """Evaluate in a process of its own, at the engine of this address. Raises CommandError."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "django", "evaluate", str(folder), "--here"],
        env={
            **os.environ,
            **(OFFLINE if is_offline else {}),
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise CommandError(done.stderr.strip()[-MAX_ERROR_CHARS:] or _("The evaluation ended without figures."))
    return json.loads(lines[-1])
