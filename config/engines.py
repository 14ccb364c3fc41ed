"""PostgreSQL and Redis of a cluster's own: temporary, on free loopback ports, with passwords made for them.

``DATABASE_URL`` and ``REDIS_URL`` name others instead. For ``config.cluster``.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psycopg
import redis

from config.children import Child, NotReady, as_user, free_port

PLACES = (*Path("/usr/lib/postgresql").glob("*/bin"), Path("/usr/sbin"), Path("/usr/local/sbin"))
_ANSWER_S = 5
Service = tuple[Child, Callable[[], bool]]  # and whether it answers


def missing(environment: Mapping[str, str]) -> str | None:
    """Return one line about what has to be installed first."""
    needed = {
        "postgresql": not (environment.get("DATABASE_URL") or postgres_programs()),
        "redis-server": not (environment.get("REDIS_URL") or program("redis-server")),
    }
    packages = [package for package, is_missing in needed.items() if is_missing]
    if not packages:
        return None
    return (
        f"make cluster needs what Debian and Ubuntu call {' and '.join(packages)}: apt-get install "
        f"{' '.join(packages)}; or name services that run: DATABASE_URL=postgres://… REDIS_URL=redis://… make cluster"
    )


def program(name: str) -> Path | None:
    """Return where a program is: on the PATH, or where Debian puts servers."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, PLACES)))
    return Path(found) if found else None


def postgres_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL whose programs are all there."""
    folders = [*PLACES, *([found.parent] if (found := program("initdb")) else [])]
    whole = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return max(whole, key=lambda folder: [int(part) for part in folder.parts if part.isdigit()], default=None)


def postgres(folder: Path, environment: dict[str, str]) -> Iterator[Service]:
    """Make a database and put its address into ``environment``; do nothing where one is given."""
    programs = postgres_programs()
    if environment.get("DATABASE_URL") or programs is None:
        return
    home, port, password, user = folder / "postgres", free_port(), secrets.token_urlsafe(24), _unprivileged()
    _make_database(programs, home, password, user)
    command = [str(programs / "postgres"), "-D", str(home / "data"), "-k", str(home), "-p", str(port)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
    environment["DATABASE_URL"] = url = f"postgres://legible:{password}@127.0.0.1:{port}/postgres"
    log = folder / "postgres.log"
    child = Child("PostgreSQL", command, log, environment, home, user=user, end_signal=signal.SIGINT)
    yield child, lambda: _database_answers(url)


def redis_server(folder: Path, environment: dict[str, str]) -> Iterator[Service]:
    """Make a Redis that keeps nothing, and put its address into ``environment``; do nothing where one is given."""
    server = program("redis-server")
    if environment.get("REDIS_URL") or server is None:
        return
    port, password, config = free_port(), secrets.token_urlsafe(24), folder / "redis.conf"
    said = {"bind": "127.0.0.1", "port": port, "requirepass": password, "save": '""', "dir": folder}
    config.write_text("".join(f"{name} {value}\n" for name, value in said.items()), encoding="utf-8")
    environment["REDIS_URL"] = url = f"redis://:{password}@127.0.0.1:{port}/0"
    child = Child("Redis", (str(server), str(config)), folder / "redis.log", environment, folder)
    yield child, lambda: _redis_answers(url)


def _make_database(programs: Path, home: Path, password: str, user: str | None) -> None:
    home.mkdir(mode=0o700)
    secret = home / "password"
    secret.write_text(password, encoding="utf-8")
    if user:
        shutil.chown(home, user)
        shutil.chown(secret, user)
    initdb = [str(programs / "initdb"), "-D", str(home / "data"), "-U", "legible", f"--pwfile={secret}"]
    _done([*initdb, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"], home, user)


def _done(command: Sequence[str], folder: Path, user: str | None) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=folder, capture_output=True, text=True, check=False, **as_user(user)
    )
    if done.returncode:
        raise NotReady(f"{Path(command[0]).name} failed: {done.stderr.strip()}")


def _unprivileged() -> str | None:
    """Return whom PostgreSQL runs as, where we are root: it refuses to be."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _database_answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=_ANSWER_S):
            return True
    except psycopg.OperationalError:
        return False


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
