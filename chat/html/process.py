"""Processes that render heavy blocks: started when the first one comes, ended at a time limit or when idle.

Counting before parsing (``chat.html.cost``) can't foresee everything, and a thread can't be ended. A process can, and
it leaves the interpreter of the server to other users. It has the settings that rendering needs, and no database.
"""

from __future__ import annotations

import logging
import queue
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import django
from django.conf import settings

logger = logging.getLogger(__name__)
PROCESSES = 2
TIME_LIMIT_S = 3.0  # of processor time, so that the load of the machine doesn't decide what is rendered
WAIT_LIMIT_S = 30.0
IDLE_S = 60.0
_SETTINGS = ("LANGUAGE_CODE", "LANGUAGES", "LOCALE_PATHS", "SAFE_LINK_HOSTS", "USE_I18N")


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
            connection.send((work, args, TIME_LIMIT_S))
            if connection.poll(WAIT_LIMIT_S):
                return str(connection.recv())
        except (EOFError, OSError):
            logger.info("render process ended")
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
        options = {name: getattr(settings, name) for name in _SETTINGS}
        # A daemon, so that it ends with the server.
        self._process = context.Process(target=serve, args=(remote, options), name="render", daemon=True)
        self._process.start()
        remote.close()
        return self._connection


_idle: queue.LifoQueue[RenderProcess] = queue.LifoQueue()
for _ in range(PROCESSES):
    _idle.put(RenderProcess())


def run_in_process(work: Callable[..., str], *args: Any) -> str:
    """Call a function of a module with arguments that can be pickled. Raises RenderTimeoutError."""
    try:
        process = _idle.get(timeout=WAIT_LIMIT_S)
    except queue.Empty:
        raise RenderTimeoutError from None
    try:
        return process.run(work, *args)
    finally:
        _idle.put(process)


def serve(connection: Connection[Any, Any], options: dict[str, Any]) -> None:
    """Do one piece of work after another, until there was none for a while or the server has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the server ends this one
    if not settings.configured:  # a new process imports the main module again, which may have done so
        settings.configure(**options)
    django.setup()
    while connection.poll(IDLE_S):
        try:
            work, args, limit_s = connection.recv()
        except EOFError:
            return
        # Its signal ends the process, also inside of a regular expression, and if the server was killed meanwhile.
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        connection.send(work(*args))
        signal.setitimer(signal.ITIMER_PROF, 0)
