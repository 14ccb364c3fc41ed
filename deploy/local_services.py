"""Temporary PostgreSQL and Redis servers on free loopback ports, for ``make cluster`` and for tests."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis

DEBIAN_FOLDERS = (*Path("/usr/lib/postgresql").glob("*/bin"), Path("/usr/sbin"), Path("/usr/local/sbin"))
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5


class NotReadyError(Exception):
    """A process ended, or did not answer in time."""


@dataclass(slots=True)
class Process:
    """A child process that can be stopped and started again at the same address."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    folder: Path
    answers: Callable[[], bool]
    user: str | None = None  # run as this user; None: as us
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                self.command,
                env=dict(self.environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for the parent alone
                **_as_user(self.user),
            )

    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises NotReadyError with the end of its log."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self.process and self.process.poll() is None:
            if self.answers():
                return
            time.sleep(0.1)
        last_lines = self.log.read_text("utf-8", errors="replace").splitlines()[-5:]
        raise NotReadyError("\n".join([f"{self.name} did not start; the end of its log:", *last_lines]))

    def start(self) -> None:
        self.launch()
        self.wait_until_ready()

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def find_program(name: str) -> Path | None:
    """Return the path of a program: from the PATH, or from where Debian installs servers."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, DEBIAN_FOLDERS)))
    return Path(found) if found else None


def missing_packages(environment: Mapping[str, str]) -> list[str]:
    """Return the Debian packages that are needed and not installed."""
    needed = []
    if not environment.get("DATABASE_URL") and not find_program("initdb"):
        needed.append("postgresql")
    if not environment.get("REDIS_URL") and not find_program("redis-server"):
        needed.append("redis-server")
    return needed


def postgres(folder: Path) -> tuple[Process, str]:
    """Initialise a database cluster in ``folder``; return its process, not started yet, and its URL."""
    initdb = find_program("initdb")
    if initdb is None:
        raise NotReadyError("PostgreSQL is not installed")
    home, port, password = folder / "postgres", free_port(), secrets.token_urlsafe(24)
    # PostgreSQL refuses to run as root.
    users = {entry.pw_name for entry in pwd.getpwall()}
    user = next(name for name in ("postgres", "nobody") if name in users) if os.geteuid() == 0 else None
    home.mkdir(mode=0o700)
    password_file = home / "password"
    password_file.write_text(password, encoding="utf-8")
    if user:
        shutil.chown(home, user)
        shutil.chown(password_file, user)
    arguments = ["-D", str(home / "data"), "-U", "legible", f"--pwfile={password_file}", "-A", "scram-sha-256"]
    done = subprocess.run(  # noqa: S603 - our own command
        [str(initdb), *arguments, "-E", "UTF8", "--locale=C", "--no-sync"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        **_as_user(user),
    )
    if done.returncode:
        raise NotReadyError(f"initdb failed: {done.stderr.strip()}")
    url = f"postgres://legible:{password}@127.0.0.1:{port}/postgres"

    def answers() -> bool:
        try:
            with psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S):
                return True
        except psycopg.OperationalError:
            return False

    command = [str(initdb.resolve().parent / "postgres"), "-D", str(home / "data"), "-k", str(home), "-p", str(port)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
    log = folder / "postgres.log"
    return Process("PostgreSQL", command, log, os.environ, home, answers, user=user, stop_signal=signal.SIGINT), url


def redis_server(folder: Path) -> tuple[Process, str]:
    """Configure a Redis that stores nothing on disk; return its process, not started yet, and its URL."""
    program = find_program("redis-server")
    if program is None:
        raise NotReadyError("Redis is not installed")
    port, password, config = free_port(), secrets.token_urlsafe(24), folder / "redis.conf"
    config.write_text(f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\ndir {folder}\n', encoding="utf-8")
    url = f"redis://:{password}@127.0.0.1:{port}/0"

    def answers() -> bool:
        try:
            timeouts = {"socket_timeout": CONNECT_TIMEOUT_S, "socket_connect_timeout": CONNECT_TIMEOUT_S}
            with redis.Redis.from_url(url, **timeouts) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    return Process("Redis", (str(program), str(config)), folder / "redis.log", os.environ, folder, answers), url


def free_port() -> int:
    """Return a loopback port that nothing uses now, and that no outgoing connection is given before it is used."""
    for port in secrets.SystemRandom().sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port from 20000 to 30000 is free")


def _as_user(name: str | None) -> dict[str, Any]:
    return {} if name is None else {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}
