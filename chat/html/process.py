"""Processes that render heavy blocks: started when the first one comes, ended at a time limit or when idle.

Counting before parsing (``chat.html.cost``) can't foresee everything, and a thread can't be ended. A process can, and
it leaves the interpreter of the server to other users.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import django

logger = logging.getLogger(__name__)
PROCESSES = 2
TIME_LIMIT_S = 3.0
START_LIMIT_S = 30.0
IDLE_S = 60.0


class RenderTimeoutError(Exception):
    """The work took longer than the limit, or its process ended."""


class RenderProcess:
    """One process, used by one thread at a time. ``work`` is called with what ``run`` is given."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._connection: Connection[Any, Any] | None = None

    def run(self, work: Callable[..., str], *args: Any) -> str:
        """Return what ``work`` returns. Raises RenderTimeoutError."""
        connection = self._connected()
        try:
            connection.send((work, args))
            if connection.poll(TIME_LIMIT_S):
                return str(connection.recv())
        except (EOFError, OSError):
            logger.warning("render process ended")
        self.stop()
        raise RenderTimeoutError

    def stop(self) -> None:
        """End the process; the next call starts another one."""
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._connection.close()
        self._process = self._connection = None

    def _connected(self) -> Connection[Any, Any]:
        if self._connection is not None and self._process is not None and self._process.is_alive():
            return self._connection
        self.stop()
        # Not forked: the server has threads.
        context = get_context("spawn")
        self._connection, remote = context.Pipe()
        # A daemon, so that it ends with the server.
        self._process = context.Process(target=serve, args=(remote,), name="render", daemon=True)
        self._process.start()
        remote.close()
        try:
            if self._connection.poll(START_LIMIT_S):
                self._connection.recv()
                return self._connection
        except (EOFError, OSError):
            logger.warning("render process not started")
        self.stop()
        raise RenderTimeoutError


_idle: queue.LifoQueue[RenderProcess] = queue.LifoQueue()
for _ in range(PROCESSES):
    _idle.put(RenderProcess())


def run_in_process(work: Callable[..., str], *args: Any) -> str:
    """Call a function of a module with arguments that can be pickled. Raises RenderTimeoutError."""
    try:
        process = _idle.get(timeout=TIME_LIMIT_S)
    except queue.Empty:
        raise RenderTimeoutError from None
    try:
        return process.run(work, *args)
    finally:
        _idle.put(process)


def serve(connection: Connection[Any, Any]) -> None:
    """Do one piece of work after another, until there was none for a while or the server has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the server ends this one
    os.nice(5)
    django.setup()
    connection.send("ready")
    while connection.poll(IDLE_S):
        try:
            work, args = connection.recv()
        except EOFError:
            return
        # The server ends this process at its limit; this ends it if the server was killed meanwhile.
        signal.alarm(int(2 * TIME_LIMIT_S) + 1)
        connection.send(work(*args))
        signal.alarm(0)
