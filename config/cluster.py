"""``make cluster``: several web processes over PostgreSQL and Redis behind one address, to try scale-out and fail-over.

``WEB`` says how many processes serve; nginx, where it is installed, gives the one address, at ``PORT``. Whatever dies
is started again after a while. Everything listens on loopback only, and ends with this process.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

from config import engines
from config.children import Child, NotReady, free_port
from config.serve import why_not_bindable

ROOT = Path(__file__).resolve().parent.parent
MOST_WEB = 16
EXIT_NOT_STARTED = 1
_ANSWER_S = 5
_WATCH_S = 0.5
_NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream legible {{
    least_conn;
{servers}
  }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 32m;
    location / {{
      proxy_pass http://legible;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }}
  }}
}}
"""


class Ended(BaseException):
    """A signal came."""


def main() -> int:
    """Run until a signal comes; return the exit code."""
    web, port = os.environ.get("WEB") or "2", os.environ.get("PORT") or "8000"
    problem = refused(web, port, os.environ) or engines.missing(os.environ)
    if problem:
        sys.stderr.write(problem + "\n")
        return EXIT_NOT_STARTED
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        with _folder() as folder, ExitStack() as running:
            _run(folder, running, int(web), int(port))
    except NotReady as reason:
        sys.stderr.write(f"{reason}\n")
        return EXIT_NOT_STARTED
    except Ended:
        _say("Everything has ended.")
    return 0


def refused(web: str, port: str, environment: Mapping[str, str]) -> str | None:
    """Return one line about a value that is not allowed."""
    if not web.isdigit() or not 1 <= int(web) <= MOST_WEB:
        return f"WEB: {web!r} is not allowed; allowed: a whole number from 1 to {MOST_WEB}"
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        return f"PORT: {port!r} is not allowed; allowed: a whole number from 1 to 65535"
    database = environment.get("DATABASE_URL")
    if database and not database.startswith(("postgres://", "postgresql://")):
        return "DATABASE_URL: (not shown) is not allowed here; allowed: postgres://…, or nothing for a private one"
    return why_not_bindable("127.0.0.1", int(port)) if engines.program("nginx") else None


def _run(folder: Path, running: ExitStack, web: int, port: int) -> None:
    environment = {**os.environ, "HOST": "127.0.0.1", "ALLOWED_HOSTS": "localhost,127.0.0.1"}
    own = [*engines.postgres(folder, environment), *engines.redis_server(folder, environment)]
    for child, answers in own:
        _start(child, running)
        child.wait_until(answers)
    for arguments in (("migrate", "--no-input", "--verbosity", "0"), ("seed_demo", "--verbosity", "0")):
        _manage(environment, *arguments)
    ports = [free_port() for _ in range(web)]
    servers = [_server(number, its, folder, environment) for number, its in enumerate(ports, start=1)]
    for server in servers:
        _start(server, running)
    for server, its in zip(servers, ports, strict=True):
        server.wait_until(partial(_is_well, its))
    proxy = _proxy(folder, port, ports, environment)
    for child in proxy:
        _start(child, running)
        child.wait_until(partial(_is_well, port))
    children = [*servers, *proxy, *(child for child, _ in own)]
    for line in _greeting(children, ports, folder, f"http://127.0.0.1:{port}/" if proxy else None):
        _say(line)
    _watch(children)


def _start(child: Child, running: ExitStack) -> None:
    running.callback(child.end)
    child.start()


def _watch(children: Sequence[Child]) -> NoReturn:
    """Keep them running until a signal ends us."""
    while True:
        for child in children:
            if news := child.look_after():
                _say(news)
        time.sleep(_WATCH_S)


def _greeting(children: Sequence[Child], ports: Sequence[int], folder: Path, address: str | None) -> Iterator[str]:
    if address:
        yield f"Legible is at {address}"
    else:
        yield "nginx is not installed (on Debian and Ubuntu: apt-get install nginx), so there is no common address"
    for child, port in zip(children, ports, strict=False):
        yield f"  {child.name}: http://127.0.0.1:{port}/ (pid {child.pid})"
    yield from (f"  {child.name}: pid {child.pid}" for child in children[len(ports) :])
    yield from (line for line in children[0].log.read_text("utf-8").splitlines() if line.startswith("Sign in as "))
    yield f"Logs are in {folder}"
    yield "Try: open one chat at the addresses of two processes; ask in one, watch it and stop it in the other."
    yield f"Try: kill -9 {children[0].pid} while it answers; the other process keeps what came, and offers Retry."
    yield "What was killed is started again after a few seconds. Ctrl-C ends everything."


def _server(number: int, port: int, folder: Path, environment: Mapping[str, str]) -> Child:
    command = (sys.executable, "-m", "config.serve")
    return Child(f"web {number}", command, folder / f"web-{number}.log", {**environment, "PORT": str(port)}, ROOT)


def _proxy(folder: Path, port: int, ports: Sequence[int], environment: Mapping[str, str]) -> list[Child]:
    """Return nginx as a child, or nothing where it is not installed."""
    nginx = engines.program("nginx")
    if nginx is None:
        return []
    listed = "\n".join(f"    server 127.0.0.1:{each} max_fails=1 fail_timeout=2s;" for each in ports)
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, servers=listed, port=port), encoding="utf-8")
    return [
        Child("nginx", (str(nginx), "-p", str(folder), "-c", str(config)), folder / "nginx.log", os.environ, folder)
    ]


def _manage(environment: Mapping[str, str], *arguments: str) -> None:
    done = subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, check=False)  # noqa: S603
    if done.returncode:
        raise NotReady(f"manage.py {arguments[0]} failed; what it said stands above")


def _is_well(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for what the cluster writes, for its owner's eyes; others of ours may only pass through it."""
    os.umask(0o077)
    folder = Path(tempfile.mkdtemp(prefix="legible-cluster-"))
    if os.geteuid() == 0:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end(_number: int, _frame: object) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # what ends now must not be disturbed
    raise Ended


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
