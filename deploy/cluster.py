"""``make cluster``: several server processes over PostgreSQL and Redis behind nginx, to try scale-out and fail-over.

``WEB`` is the number of processes (default 2), ``PORT`` nginx's port. ``DATABASE_URL`` and ``REDIS_URL`` name existing
services; otherwise temporary ones are started. Everything listens on loopback and stops with this script. For a real
site see ``docs/deployment.md``; ``compose.yaml`` beside this file runs the same services in containers.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from config.serve import why_not_bindable
from deploy.local_services import (
    NotReadyError,
    Process,
    find_program,
    free_port,
    missing_packages,
    postgres,
    redis_server,
)

ROOT = Path(__file__).resolve().parent.parent
MAX_WEB = 16
ANSWER_TIMEOUT_S = 5
NGINX_CONFIG = """\
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
  # The conversation's id, so that a page and its running turn usually share a process.
  map $request_uri $conversation {{ "~/chats/(?<id>[0-9a-f-]+)/" $id; default $request_uri; }}
  upstream legible {{
    hash $conversation consistent;
{servers}
  }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 52m;
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


def main() -> int:
    """Run until SIGINT or SIGTERM; return the exit code."""
    web, port = os.environ.get("WEB") or "2", os.environ.get("PORT") or "8000"
    if problem := invalid_setting(web, port):
        print(problem, file=sys.stderr)
        return 1
    # The handler raises, so that the contexts below stop every process; a second signal must not interrupt that.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.umask(0o077)
    with (
        tempfile.TemporaryDirectory(prefix="legible-cluster-", ignore_cleanup_errors=True) as name,
        ExitStack() as stack,
    ):
        if os.geteuid() == 0:
            Path(name).chmod(0o711)  # PostgreSQL runs as another user then
        try:
            start_all(Path(name), stack, int(web), int(port))
            signal.pause()
        except NotReadyError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
    print("All processes have stopped.")
    return 0


def invalid_setting(web: str, port: str) -> str | None:
    """Return one line about what prevents a start."""
    if not web.isdigit() or not 1 <= int(web) <= MAX_WEB:
        return f"WEB: {web!r} is not allowed; allowed: a whole number from 1 to {MAX_WEB}"
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        return f"PORT: {port!r} is not allowed; allowed: a whole number from 1 to 65535"
    database = os.environ.get("DATABASE_URL")
    if database and not database.startswith(("postgres://", "postgresql://")):
        return "DATABASE_URL: (not shown) is not allowed here; allowed: postgres://…, or nothing for a temporary one"
    if packages := missing_packages(os.environ):
        return (
            f"make cluster needs {' and '.join(packages)}. On Debian and Ubuntu: apt-get install {' '.join(packages)}. "
            "Or name running services: DATABASE_URL=postgres://… REDIS_URL=redis://… make cluster"
        )
    return why_not_bindable("127.0.0.1", int(port)) if find_program("nginx") else None


def start_all(folder: Path, stack: ExitStack, web: int, port: int) -> None:
    """Start the services, the server processes and nginx; ``stack`` stops them. Raises NotReadyError."""
    # at the root, whatever .env says of a path
    environment = {**os.environ, "HOST": "127.0.0.1", "ALLOWED_HOSTS": "localhost,127.0.0.1", "URL_PREFIX": ""}
    for variable, make in (("DATABASE_URL", postgres), ("REDIS_URL", redis_server)):
        if not environment.get(variable):
            service, environment[variable] = make(folder)
            stack.callback(service.stop)
            service.start()
            print(f"{service.name}: pid {service.pid}")
    for arguments in (("migrate", "--no-input", "--verbosity", "0"), ("seed_demo", "--verbosity", "0")):
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)  # noqa: S603 - our own command
        if done.returncode:
            raise NotReadyError(f"manage.py {arguments[0]} failed; its output is above")

    servers = []
    for number in range(1, web + 1):
        own = {**environment, "PORT": str(free_port())}
        command = [sys.executable, "-m", "config.serve"]
        log = folder / f"web-{number}.log"
        servers.append(Process(f"web {number}", command, log, own, ROOT, partial(is_healthy, int(own["PORT"]))))
    for server in servers:
        stack.callback(server.stop)
        server.launch()
    for server in servers:
        server.wait_until_ready()
        print(f"{server.name}: http://127.0.0.1:{server.environment['PORT']}/ pid {server.pid}")

    if nginx := find_program("nginx"):
        listed = "\n".join(
            f"    server 127.0.0.1:{server.environment['PORT']} max_fails=1 fail_timeout=2s;" for server in servers
        )
        config = folder / "nginx.conf"
        config.write_text(NGINX_CONFIG.format(folder=folder, servers=listed, port=port), encoding="utf-8")
        command = [str(nginx), "-p", str(folder), "-c", str(config)]
        proxy = Process("nginx", command, folder / "nginx.log", os.environ, folder, partial(is_healthy, port))
        stack.callback(proxy.stop)
        proxy.start()
        print(f"nginx: pid {proxy.pid}")
        print(f"Legible is at http://127.0.0.1:{port}/")
    else:
        print("nginx is not installed (Debian and Ubuntu: apt-get install nginx): use the processes' own addresses.")
    for line in servers[0].log.read_text("utf-8").splitlines():
        if line.startswith("Sign in as "):
            print(line)
    print(f"Logs are in {folder}")
    print("Try: open one chat at two processes; ask in one, watch and stop the answer in the other.")
    print(f"Try: kill -9 {servers[0].pid} while it answers; the other process shows what was stored and offers Retry.")
    print("Ctrl-C stops everything.", flush=True)


def is_healthy(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_TIMEOUT_S)
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


if __name__ == "__main__":
    sys.exit(main())
