"""The real server as a child process, on a free port, with its own database."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from cryptography.fernet import Fernet
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "correct horse battery staple"
STOP_TIMEOUT_S = 30
# One process for both commands: starting one takes longer than its work.
PREPARE = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0, interactive=False)
call_command("seed_demo", verbosity=0)
"""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that listens. ``environment`` lets a command join its database."""

    base_url: str
    greeting: tuple[str, ...]
    environment: Mapping[str, str]
    process: subprocess.Popen[str]

    def manage(self, *arguments: str) -> str:
        """Run a management command beside it and return what it printed."""
        return manage(self.environment, *arguments)


def environment_in(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a server that stores everything in ``folder`` and calls no other machine."""
    return {
        "PATH": os.environ["PATH"],
        "ENV_FILE": str(folder / ".env"),
        "DATABASE_URL": f"sqlite:///{folder / 'legible.sqlite3'}",
        "SECRET_KEY": "only-for-tests-" + "y" * 50,
        "CONTENT_KEYS": Fernet.generate_key().decode(),
        "DEMO_PASSWORD": PASSWORD,
        "PORT": "0",
        "MODEL_TITLES": "false",  # a request more after each first answer
        **variables,
    }


@contextmanager
def empty_database(name: str) -> Iterator[str]:
    """Create a database on the PostgreSQL under test, yield its address, and drop it."""
    server, name = os.environ["TEST_DATABASE_URL"], f"legible_{name}_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    """Run ``manage.py`` and return its output. Raises AssertionError with its error output."""
    return run_python(environment, "manage.py", *arguments)


def prepare_database(environment: Mapping[str, str]) -> None:
    """Migrate, and load the demo."""
    run_python(environment, "-c", PREPARE)


def run_python(environment: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running_server(folder: Path, **variables: str) -> Iterator[RunningServer]:
    """Prepare a database and serve. The log is ``folder/server.log``."""
    environment = environment_in(folder, **variables)
    prepare_database(environment)
    with serving(environment, folder) as running:
        yield running


@contextmanager
def serving(environment: Mapping[str, str], folder: Path) -> Iterator[RunningServer]:
    """Serve over a prepared database; on exit ask the server to end and wait for it."""
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.serve"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield _listening(process, environment, folder)
    finally:
        stop(process)


def stop(process: subprocess.Popen[str]) -> int:
    """End the child by its handle and return its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        code = process.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdout:
        process.stdout.close()
    return code


def _listening(process: subprocess.Popen[str], environment: Mapping[str, str], folder: Path) -> RunningServer:
    """Read the greeting: its first line says where, its last one is about the model."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if re.match(r"The offline analyst|Answers come from", line):
            break
    found = re.search(r"http://\S+(?=/$)", lines[0]) if lines else None
    assert found, (folder / "server.log").read_text(encoding="utf-8")
    return RunningServer(found[0], tuple(lines), environment, process)
