"""Django's command line: ``manage.py`` and ``legible-chat manage``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line
from django.db import DatabaseError

from config.environment import describe_database_error


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code. A database that can't be used is one line without --traceback."""
    try:
        execute_from_command_line(list(arguments))
    except DatabaseError as error:
        if "--traceback" in arguments:
            raise
        sys.stderr.write(describe_database_error(error) + "\n")
        return 1
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    return 0
