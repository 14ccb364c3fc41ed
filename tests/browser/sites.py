"""Whole servers for the browser: each a child process over its own copy of one prepared database.

Migrating, seeding and signing people in is done once a run. A server listens when ``/healthz`` says so; what it writes,
to either stream, is stored in a file. Children end by their handles.
"""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen
from uuid import UUID

from deploy.local_services import free_port
from tests.server import ROOT, environment_in, manage, prepare_database, stop

START_TIMEOUT_S = 120
LOOK_AGAIN_S = 0.05
DATABASE = "legible.sqlite3"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A database to copy, the secrets that it was made with, and sessions of its people, each to be used once.

    ``finished`` is the address of the conversation that the demo begins with.
    """

    folder: Path
    environment: Mapping[str, str]
    sessions: Mapping[str, Iterator[str]]
    finished: str


def prepare(folder: Path) -> Prepared:
    """Migrate, seed, and sign people in."""
    # A tool call that one test leaves waiting must not go on, with a request to the model, during another.
    environment = environment_in(folder, ENV_FILE="/dev/null", APPROVAL_TIMEOUT_S="86400")
    prepare_database(environment)
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.sessions"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    keys = json.loads(done.stdout)
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        [(conversation,)] = connection.execute("SELECT id FROM chat_conversation")
    return Prepared(
        folder, environment, {name: iter(keys[name]) for name in keys}, finished=f"/chats/{UUID(conversation)}/"
    )


class Site:
    """A server at a fixed address that can be started, killed and started again over the same database."""

    def __init__(self, folder: Path, prepared: Prepared, variables: Mapping[str, str]) -> None:
        self.folder = folder
        self.prepared = prepared
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        own = {"DATABASE_URL": f"sqlite:///{folder / DATABASE}", "PORT": str(self.port)}
        self.environment = {**prepared.environment, **own, **variables}
        self._process: subprocess.Popen[str] | None = None
        (folder / DATABASE).write_bytes((prepared.folder / DATABASE).read_bytes())

    def start(self) -> None:
        """Start the server and wait until it is healthy. Raises with its own words where it ends instead."""
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "config.serve"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        _look_until(self, lambda: _is_healthy(self))

    def kill(self) -> None:
        """End the server as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask the server to end, and wait for it."""
        if self._process is not None:
            stop(self._process)

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def output(self) -> str:
        """Return what the server has written, to both of its streams."""
        return (self.folder / "server.log").read_text(encoding="utf-8")

    def audit(self, *canaries: str) -> str:
        """Run ``audit_storage`` over the database, its file and the output; fails with its words where it finds any."""
        files = [str(path) for path in (self.folder / DATABASE, self.folder / "server.log")]
        return manage(self.environment, "audit_storage", "--file", *files, "--canary", *canaries)

    def stored_bytes(self) -> bytes:
        """Return every byte of the database, with what is not merged into it yet."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob(f"{DATABASE}*")))

    def session(self, username: str) -> str:
        """Return a session of this person that nobody has used yet."""
        return next(self.prepared.sessions[username])

    def wait_until_stored(self, query: str) -> None:
        """Wait until this query finds something in the database."""
        with closing(sqlite3.connect(f"file:{self.folder / DATABASE}?mode=ro", uri=True)) as connection:
            _look_until(self, lambda: connection.execute(query).fetchone() is not None)

    def wait_until_idle(self) -> None:
        """Wait until no message is being answered or about to be, but where someone is to allow a tool call first."""
        self.wait_until_stored(
            "WITH running AS (SELECT conversation_id, waiting_call FROM chat_turn WHERE status = 'running') "
            "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM running WHERE waiting_call = '') "
            "AND NOT EXISTS (SELECT 1 FROM chat_queuedmessage WHERE priority < 2 "  # held ones wait for their user
            "AND conversation_id NOT IN (SELECT conversation_id FROM running))"
        )


def _look_until(site: Site, holds: Callable[[], bool]) -> None:
    """Poll: nothing outside the server is notified."""
    until = time.monotonic() + START_TIMEOUT_S
    pause = threading.Event()
    while not holds():
        assert site.is_alive(), site.output()
        assert time.monotonic() < until, site.output()
        pause.wait(LOOK_AGAIN_S)


def _is_healthy(site: Site) -> bool:
    try:
        with urlopen(f"{site.base_url}/healthz", timeout=START_TIMEOUT_S):  # noqa: S310 - our own loopback address
            return True
    except OSError:
        return False
