"""PostgreSQL and Redis of a test's own, on free ports, to be stopped and restarted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.local_services import Process, postgres, redis_server


@dataclass(frozen=True, slots=True)
class Landscape:
    """Two running services and the environment variables that name them."""

    database: Process
    redis: Process
    addresses: Mapping[str, str]


@contextmanager
def running_landscape() -> Iterator[Landscape]:
    with tempfile.TemporaryDirectory(prefix="legible-services-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL runs as another user when we are root
        database, database_url = postgres(folder)
        redis, redis_url = redis_server(folder)
        for process in (database, redis):
            stack.callback(process.stop)
            process.start()
        yield Landscape(database, redis, {"DATABASE_URL": database_url, "REDIS_URL": redis_url})
