"""The first ``.env``: ``.env.example`` with fresh secrets. Run with ``python -m config.first_run``.

Printed by default. ``--write PATH`` makes the file in one step, for its owner's eyes only, or adds the secrets that an
existing one lacks; lines that are there already, and secrets that the environment sets, are never touched.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
_SET = re.compile(r"(?:export )?([A-Za-z_0-9]+)=\s*(\S?)")


def fresh_secrets() -> dict[str, str]:
    """Return new values for everything that must differ between installations."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CONTENT_KEYS": Fernet.generate_key().decode("ascii"),
        "DEMO_PASSWORD": secrets.token_urlsafe(9),
    }


def filled_example() -> str:
    """Return ``.env.example`` with the empty secrets filled in."""
    fresh = fresh_secrets()
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    return "".join(f"{_filled(line, fresh)}\n" for line in lines)


def completed(text: str) -> str:
    """Return ``text`` with the secrets that neither it nor the environment sets added at the end."""
    present = {match[1] for match in map(_SET.match, text.splitlines()) if match and match[2]}
    missing = {name: value for name, value in fresh_secrets().items() if name not in present | set(os.environ)}
    if not missing:
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + "".join(f"{name}={value}\n" for name, value in missing.items())


def write(path: Path) -> None:
    """Make or complete the file at ``path``; never leaves half of one, and leaves a complete one alone."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = filled_example() if before is None else completed(before)
    if after != before:
        _replace(path, after)


def _filled(line: str, fresh: dict[str, str]) -> str:
    match = _SET.match(line)
    return f"{match[1]}={fresh[match[1]]}" if match and match[1] in fresh and not match[2] else line


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=".env.", dir=path.parent)  # readable by its owner alone
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)


def main() -> None:
    """Print, or with ``--write`` make, the file."""
    parser = argparse.ArgumentParser(prog="python -m config.first_run", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PATH")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write)
    else:
        sys.stdout.write(filled_example())


if __name__ == "__main__":
    main()
