"""A server to be killed: a child process over a database that outlives it, and what that database holds.

The database is read from outside, without the product's own code, and reading never changes it: of SQLite a copy is
read, so that it is the next server that finds the journal.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from deploy.local_services import free_port
from tests.browser.sites import DATABASE, Prepared, Site
from tests.server import ROOT, environment_in

CLOCK = Path(__file__).resolve().parent / "clock"
Row = tuple[Any, ...]


class DoomedSite(Site):
    """A site of one person with empty ``conversations``; ``database_url`` names another database than SQLite."""

    def __init__(self, folder: Path, *, conversations: int, database_url: str = "", **variables: str) -> None:
        self._database_url = database_url
        own = {"DATABASE_URL": database_url} if database_url else {}
        environment = environment_in(folder, ENV_FILE="/dev/null", **own)
        command = [sys.executable, "-m", "tests.faults.person", str(conversations)]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)  # noqa: S603
        made = json.loads(done.stdout)
        self.session_key: str = made["session"]
        self.conversations: list[str] = made["conversations"]
        (folder / DATABASE).touch()
        super().__init__(folder, Prepared(folder, environment, {}, ""), {**own, **variables})

    def beside(self, folder: Path, *, clock_ahead_s: int = 0) -> DoomedSite:
        """Return another server over the same database, with an address, a log and a clock of its own."""
        other = copy.copy(self)
        other.folder, other.port, other._process = folder, free_port(), None
        other.base_url = f"http://127.0.0.1:{other.port}"
        clock = {"PYTHONPATH": str(CLOCK), "CLOCK_AHEAD_S": str(clock_ahead_s)} if clock_ahead_s else {}
        other.environment = {**self.environment, **clock, "PORT": str(other.port)}
        (folder / DATABASE).touch()
        return other

    def session(self, username: str) -> str:
        """Return the session of the one person that there is."""
        return self.session_key

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def freeze(self) -> None:
        """Let the server do nothing more; what it has sent still takes its course."""
        os.kill(self.pid, signal.SIGSTOP)

    def rows(self, query: str) -> list[Row]:
        """Return what a query finds, ids as plain hex and JSON as values."""
        found = self._rows_elsewhere(query) if self._database_url else self._rows_of_copy(query)
        return [tuple(map(_plain, row)) for row in found]

    def everything_kept(self) -> bytes:
        """Return every byte that the server has left anywhere: database, journal, log."""
        files = b"".join(path.read_bytes() for path in sorted(self.folder.iterdir()) if path.is_file())
        return files + self._tables_elsewhere() if self._database_url else files

    def _rows_of_copy(self, query: str) -> list[Row]:
        copy = self.folder / "copy"
        copy.mkdir(exist_ok=True)
        for path in self.folder.glob(f"{DATABASE}*"):
            shutil.copy(path, copy / path.name)
        with closing(sqlite3.connect(copy / DATABASE)) as connection:
            found = connection.execute(query).fetchall()
        shutil.rmtree(copy)
        return found

    def _rows_elsewhere(self, query: str) -> list[Row]:
        with psycopg.connect(self._database_url) as connection:
            return connection.execute(query.encode()).fetchall()

    def _tables_elsewhere(self) -> bytes:
        with psycopg.connect(self._database_url) as connection:
            names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            kept = []
            for (name,) in names:
                query = sql.SQL("SELECT one::text FROM {} one").format(sql.Identifier(name))
                kept += [str(row[0]) for row in connection.execute(query)]
        return "\n".join(kept).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value.hex if hasattr(value, "hex") and hasattr(value, "urn") else value
