"""Processes that render heavy blocks and read files: started when needed, ended at a time limit or when idle.

Counting before parsing (``chat.html.cost``) can't foresee everything, and a thread can't be ended. A process can, and
it leaves the interpreter of the server to other users. It has the settings that rendering needs, and no database.
"""

from __future__ import annotations

import logging
import os
import queue
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import django
from django.conf import settings

logger = logging.getLogger(__name__)
# Of each kind. More would take processors from the server itself.
PROCESSES = 2
MEMORY_BYTES = 1 << 30  # of one process: a small file may unpack to a huge one
TIME_LIMIT_S = 3.0  # of processor time, so that the load of the machine doesn't decide what is rendered
WAIT_LIMIT_S = 30.0
IDLE_S = 60.0
# What rendering reads. The process knows no secret and no database.
_SETTINGS = ("URL_PREFIX", "LANGUAGE_CODE", "LANGUAGES", "LOCALE_PATHS", "SAFE_LINK_HOSTS", "USE_I18N")


Result = TypeVar("Result")


class RenderTimeoutError(Exception):
    """The work took longer than the limit, or its process ended."""


class MemoryLimitError(RenderTimeoutError):
    """The process ended by itself, as libraries in C do that get no more memory."""


class NoProcessError(RenderTimeoutError):
    """The processes, or the processors, were at work for others."""


class RenderProcess:
    """One process, used by one thread at a time. ``work`` is called with what ``run`` is given."""

    def __init__(self, *, niceness: int = 0, wait_s: float = WAIT_LIMIT_S) -> None:
        self._niceness, self._wait_s = niceness, wait_s
        self._process: BaseProcess | None = None
        self._connection: Connection[Any, Any] | None = None

    def run(self, work: Callable[..., Result], *args: Any, limit_s: float | None = None) -> Result:
        """Return what ``work`` returns. Raises RenderTimeoutError."""
        connection = self._connected()
        try:
            connection.send((work, args, limit_s or TIME_LIMIT_S))
            if connection.poll(self._wait_s):
                result: Result = connection.recv()
                return result
            # The limit of processor time ends a process that has enough of it long before.
            self.stop()
            raise NoProcessError
        except (EOFError, OSError):
            logger.info("render process ended")
        raise RenderTimeoutError if self.stop() in {-signal.SIGPROF, -signal.SIGKILL} else MemoryLimitError

    def stop(self) -> int | None:
        """End the process, and return how it ended; the next call starts another one."""
        code = None
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.join()
            code = self._process.exitcode
            self._process.close()
            self._connection.close()
        self._process = self._connection = None
        return code

    def _connected(self) -> Connection[Any, Any]:
        if self._connection is not None and self._process is not None and self._process.is_alive():
            return self._connection
        self.stop()
        self._process, self._connection = start_process(serve, self._niceness, name="render")
        return self._connection


def start_process(
    target: Callable[..., None], *args: Any, name: str, memory_bytes: int = MEMORY_BYTES
) -> tuple[BaseProcess, Connection[Any, Any]]:
    """Start a process that calls ``target`` with a connection and ``args``; return it and this end of the connection.

    It is a daemon, so that it ends with the server.
    """
    # Not forked: the server has threads.
    context = get_context("spawn")
    connection, remote = context.Pipe()
    options = {name: getattr(settings, name) for name in _SETTINGS}
    work = (target, remote, args, options, memory_bytes)
    process = context.Process(target=begin_process, args=work, name=name, daemon=True)
    process.start()
    remote.close()
    return process, connection


def begin_process(
    target: Callable[..., None],
    connection: Connection[Any, Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    memory_bytes: int,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the server ends this one
    with suppress(ValueError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if not settings.configured:  # a new process imports the main module again, which may have done so
        settings.configure(**options)
    django.setup()
    target(connection, *args)


def idle_processes(count: int, *, niceness: int = 0, wait_s: float = WAIT_LIMIT_S) -> queue.LifoQueue[RenderProcess]:
    """Return processes that are started when they are needed. ``niceness``: how far they make way for others."""
    idle: queue.LifoQueue[RenderProcess] = queue.LifoQueue()
    for _ in range(count):
        idle.put(RenderProcess(niceness=niceness, wait_s=wait_s))
    return idle


# Apart, so that files that take long don't delay answers.
BLOCKS, FILES = idle_processes(PROCESSES), idle_processes(PROCESSES)


def run_in_process(
    work: Callable[..., Result],
    *args: Any,
    pool: queue.LifoQueue[RenderProcess] = BLOCKS,
    limit_s: float | None = None,
) -> Result:
    """Call a function of a module with arguments that can be pickled. Raises RenderTimeoutError, NoProcessError."""
    try:
        process = pool.get(timeout=WAIT_LIMIT_S)
    except queue.Empty:
        raise NoProcessError from None
    try:
        return process.run(work, *args, limit_s=limit_s)
    finally:
        pool.put(process)


def serve(connection: Connection[Any, Any], niceness: int) -> None:
    """Do one piece of work after another, until there was none for a while or the server has ended."""
    with suppress(PermissionError):  # an operator's filter of system calls may refuse it
        os.nice(niceness)
    while connection.poll(IDLE_S):
        try:
            work, args, limit_s = connection.recv()
        except EOFError:
            return
        # Its signal ends the process, also inside of a regular expression, and if the server was killed meanwhile.
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        connection.send(work(*args))
        signal.setitimer(signal.ITIMER_PROF, 0)
