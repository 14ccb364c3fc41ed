"""A server to be killed: a child process over a database that outlives it, and what that database contains.

The database is read from outside, without the product's own code, and reading never changes it: of SQLite a copy is
read, so that the next server finds the journal.
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
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from deploy.local_services import Process, free_port, postgres, redis_server
from tests.browser.sites import DATABASE, Prepared, Site
from tests.server import ROOT, environment_in

CLOCK = Path(__file__).resolve().parent / "clock"
Row = tuple[Any, ...]


class DoomedSite(Site):
    """A site of one user with empty ``conversations``; ``database_url`` names another database than SQLite."""

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

    def second(self, folder: Path, *, clock_ahead_s: int = 0) -> DoomedSite:
        """Return another server over the same database, with its own address, log and clock."""
        other = copy.copy(self)
        other.folder, other.port, other._process = folder, free_port(), None
        other.base_url = f"http://127.0.0.1:{other.port}"
        clock = {"PYTHONPATH": str(CLOCK), "CLOCK_AHEAD_S": str(clock_ahead_s)} if clock_ahead_s else {}
        other.environment = {**self.environment, **clock, "PORT": str(other.port)}
        folder.mkdir()
        (folder / DATABASE).touch()
        return other

    def session(self, username: str) -> str:
        """Return the session of the only user."""
        return self.session_key

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def freeze(self) -> None:
        """Stop the server's process; what it has sent still arrives."""
        os.kill(self.pid, signal.SIGSTOP)

    def rows(self, query: str) -> list[Row]:
        """Return what a query finds, ids as plain hex and JSON as values."""
        if self._database_url:
            with psycopg.connect(self._database_url) as database:
                found = database.execute(query.encode()).fetchall()
        else:
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                for path in self.folder.glob(f"{DATABASE}*"):
                    shutil.copy(path, Path(name) / path.name)
                with closing(sqlite3.connect(Path(name) / DATABASE)) as connection:
                    found = connection.execute(query).fetchall()
        return [tuple(map(_plain, row)) for row in found]

    def stored_everywhere(self) -> bytes:
        """Return every byte that the server has left anywhere: database, journal, log."""
        files = b"".join(path.read_bytes() for path in sorted(self.folder.iterdir()) if path.is_file())
        if not self._database_url:
            return files
        with psycopg.connect(self._database_url) as connection:
            names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            queries = [sql.SQL("SELECT one::text FROM {} one").format(sql.Identifier(name)) for (name,) in names]
            stored = [str(row[0]) for query in queries for row in connection.execute(query)]
        return files + "\n".join(stored).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return value.hex if hasattr(value, "hex") and hasattr(value, "urn") else value


@dataclass(frozen=True, slots=True)
class Services:
    """A PostgreSQL and a Redis, to be stopped and restarted, and the environment variables that name them."""

    database: Process
    redis: Process
    addresses: Mapping[str, str]


@contextmanager
def running_services() -> Iterator[Services]:
    """Run both on free ports."""
    with tempfile.TemporaryDirectory(prefix="legible-services-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL runs as another user when we are root
        database, database_url = postgres(folder)
        redis, redis_url = redis_server(folder)
        for process in (database, redis):
            stack.callback(process.stop)
            process.start()
        yield Services(database, redis, {"DATABASE_URL": database_url, "REDIS_URL": redis_url})
