"""PostgreSQL and Redis of a test's own, on free ports, as ``make cluster`` starts them: to be stopped and restarted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from config import engines


@dataclass(frozen=True, slots=True)
class Engine:
    """PostgreSQL or Redis, always at the same address."""

    service: engines.Service

    def stop(self) -> None:
        self.service[0].end()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        child, answers = self.service
        child.start()
        child.wait_until(answers)


@dataclass(frozen=True, slots=True)
class Landscape:
    """Two engines that run, and how a server finds them."""

    database: Engine
    redis: Engine
    addresses: Mapping[str, str]


@contextmanager
def running_landscape() -> Iterator[Landscape]:
    """Start both; at the end both are gone."""
    with tempfile.TemporaryDirectory(prefix="legible-engines-") as place, ExitStack() as running:
        Path(place).chmod(0o711)  # PostgreSQL runs as somebody else where we are root
        own: dict[str, str] = {}
        made = [Engine(one) for kind in (engines.postgres, engines.redis_server) for one in kind(Path(place), own)]
        for engine in made:
            running.callback(engine.stop)
            engine.start()
        yield Landscape(made[0], made[1], own)
