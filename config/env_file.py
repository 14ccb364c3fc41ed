"""Create the first ``.env``: ``.env.example`` with fresh secrets. Run with ``python -m config.env_file``.

Printed by default. ``--write PATH`` creates the file, readable by its owner only, or adds the secrets that an existing
file lacks. Other lines, and secrets that the environment sets, are left alone.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import secrets
import sys
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
# A name, and the first character of its value.
ASSIGNMENT = re.compile(r"""(?:export )?([A-Za-z_0-9]+)=(?:\s|""|'')*(\S?)""")


def fresh_secrets() -> dict[str, str]:
    """Return new values for everything that must differ between installations."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CONTENT_KEYS": Fernet.generate_key().decode("ascii"),
        "DEMO_PASSWORD": secrets.token_urlsafe(9),
    }


def complete(text: str, *, with_demo: bool = True) -> str:
    """Return ``text`` with the secrets filled in that neither it nor the environment sets.

    ``with_demo``: also the password of the demo people.
    """
    missing = {
        name: value
        for name, value in fresh_secrets().items()
        if name not in os.environ and (with_demo or name != "DEMO_PASSWORD")
    }
    lines = []
    for line in text.splitlines():
        match = ASSIGNMENT.match(line)
        value = missing.pop(match[1], "") if match else ""
        lines.append(f"{match[1]}={value}" if match and value and not match[2] else line)
    return "".join(f"{line}\n" for line in (*lines, *(f"{name}={value}" for name, value in missing.items())))


def write(path: Path, *, with_demo: bool = True) -> None:
    """Create or complete the file at ``path``, atomically; of a link the file that it leads to. Raises OSError."""
    path = path.resolve()
    try:
        before = path.read_text(encoding="utf-8-sig") if path.exists() else None
    except UnicodeDecodeError:
        return  # the settings, which read it next, refuse it in one line
    after = complete(EXAMPLE.read_text(encoding="utf-8") if before is None else before, with_demo=with_demo)
    if after == before:
        return
    if path.exists() and not path.is_file():  # such as /dev/null, which nothing else could use any more
        raise OSError(errno.EINVAL, "no regular file, and the environment lacks secrets")
    handle, name = tempfile.mkstemp(prefix=".env.", dir=path.parent)  # readable by its owner only
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(after)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def main() -> None:
    """Print the file, or write it with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m config.env_file", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PATH")
    path = parser.parse_args().write
    if path:
        write(path)
    else:
        sys.stdout.write(complete(EXAMPLE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
