"""The server's entry: ``python -m config.serve``. ``--check`` only says whether the port is free.

uvloop is put under Twisted before anything imports daphne, which picks its event loop on import. What happens from
there to the last socket's close is in ``config.lifetime``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence

import uvloop

EXIT_NOT_BOUND = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m config.serve", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the port is free")
    only_check = parser.parse_args(arguments).check
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config import environment, settings  # noqa: PLC0415 - a value that is not allowed ends the process here

    if not settings.CONTENT_KEYS:
        environment.refuse(
            "CONTENT_KEYS: nothing is not allowed here; allowed: what `python -m config.first_run` prints"
        )
    problem = why_not_bindable(settings.HOST, settings.PORT)
    if problem:
        sys.stderr.write(problem + "\n")
        return EXIT_NOT_BOUND
    return 0 if only_check else _serve(settings.HOST, settings.PORT)


def why_not_bindable(host: str, port: int) -> str | None:
    """Return one line that says why nothing can listen at this address, or None where it can."""
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return _not_bound(host, port, error.strerror or str(error))
    return None


def _not_bound(host: str, port: int, reason: str) -> str:
    other = port + 1 if port < 65535 else 8000
    return f"Cannot listen on {host} port {port}: {reason}. HOST and PORT choose another, such as PORT={other} make run"


def _serve(host: str, port: int) -> int:
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    from config.reactor import install  # noqa: PLC0415 - imports Twisted, which must find the policy set

    install()
    from config.lifetime import serve  # noqa: PLC0415 - imports daphne, which must find the reactor installed

    failure = serve(host, port)
    if failure:
        sys.stderr.write(_not_bound(host, port, failure) + "\n")
        return EXIT_NOT_BOUND
    return 0


if __name__ == "__main__":
    sys.exit(main())
