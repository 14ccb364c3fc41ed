"""Start the server process: ``python -m config.serve`` over a prepared database, ``legible-chat serve`` over any."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import uvloop
from django.db import DatabaseError

EXIT_NOT_BOUND = 1


def start(prepare: Sequence[str] = ()) -> int:
    """Serve until a signal comes; return the exit code.

    ``prepare``: the command that fills the database. It runs once it is clear that this process may serve, as a
    process of its own: what migrations load stays out of the server's memory. Where it fails nothing is served.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config import environment, settings  # noqa: PLC0415 - an invalid setting ends the process here

    if not settings.CONTENT_KEYS:
        environment.refuse_start(
            "CONTENT_KEYS: nothing is not allowed here; allowed: what `python -m config.env_file` prints"
        )
    if settings.STATIC_ROOT and not (Path(settings.STATIC_ROOT) / "staticfiles.json").is_file():
        environment.refuse_start(
            f"STATIC_ROOT: {settings.STATIC_ROOT!r} is not allowed; allowed: a folder that this version's "
            "`manage.py collectstatic` has filled, or nothing"
        )
    # daphne would report a port in use only after Django and the models are loaded.
    problem = why_not_bindable(settings.HOST, settings.PORT)
    with ExitStack() as stack:
        database = settings.DATABASES["default"]
        lock: IO[str] | None = None
        if problem is None and database["ENGINE"].endswith("sqlite3"):
            lock, problem = lock_database(Path(database["NAME"]), stack)
        if problem is None:
            # With the lock: if this process is killed, no other one may migrate before that has ended.
            inherited = [lock.fileno()] if lock else []
            preparing = subprocess.Popen(prepare, pass_fds=inherited) if prepare else None  # noqa: S603 - our own command
            asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
            from config.server import serve  # noqa: PLC0415 - imports daphne, which takes its event loop from the policy

            if preparing and (code := preparing.wait()):
                return code
            try:
                reason = serve(settings.HOST, settings.PORT)
            except DatabaseError as error:
                problem = environment.describe_database_error(error)
            else:
                problem = not_bound(settings.HOST, settings.PORT, reason) if reason else None
    if problem:
        sys.stderr.write(problem + "\n")
        return EXIT_NOT_BOUND
    return 0


def lock_database(path: Path, stack: ExitStack) -> tuple[IO[str] | None, str | None]:
    """Lock an SQLite file for as long as the stack is open; return the locked file, or one line that says who uses it.

    Two processes would each end the other's answers as abandoned.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        file = stack.enter_context(lock.open("a+", encoding="ascii"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the processes that have the file
    except BlockingIOError:
        return None, (
            f"Another server (process {lock.read_text('ascii').strip() or 'unknown'}) uses {path}. SQLite supports one "
            "process only: stop it, or use PostgreSQL (docs/deployment.md)"
        )
    except OSError as error:
        return None, f"Cannot write {lock}: {error.strerror}. The server needs a folder that it can write to"
    # Only for the message above: the lock itself decides.
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file, None


def why_not_bindable(host: str, port: int) -> str | None:
    """Return one line that says why nothing can listen at this address, or None."""
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return not_bound(host, port, error.strerror or str(error))
    return None


def not_bound(host: str, port: int, reason: str) -> str:
    """Return the error line for an address that can't be bound."""
    other = port + 1 if port < 65535 else 8000
    return f"Cannot listen on {host} port {port}: {reason}. HOST and PORT choose another, such as PORT={other}"


if __name__ == "__main__":
    sys.exit(start())
