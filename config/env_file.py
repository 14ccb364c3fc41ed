"""Create the first ``.env``: ``.env.example`` with fresh secrets. Run with ``python -m config.env_file``.

Printed by default. ``--write PATH`` creates the file, readable by its owner only, or adds the secrets that an existing
file lacks. Existing lines, and secrets that the environment sets, are left alone.
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
ASSIGNMENT = re.compile(r"(?:export )?([A-Za-z_0-9]+)=\s*(\S?)")  # a name, and the first character of its value


def fresh_secrets() -> dict[str, str]:
    """Return new values for everything that must differ between installations."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CONTENT_KEYS": Fernet.generate_key().decode("ascii"),
        "DEMO_PASSWORD": secrets.token_urlsafe(9),
    }


def new_file() -> str:
    """Return ``.env.example`` with its empty secrets filled in."""
    fresh = fresh_secrets()
    lines = []
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        match = ASSIGNMENT.match(line)
        is_empty_secret = match is not None and match[1] in fresh and not match[2]
        lines.append(f"{match[1]}={fresh[match[1]]}" if match and is_empty_secret else line)
    return "\n".join(lines) + "\n"


def completed(text: str) -> str:
    """Return ``text`` with the secrets appended that neither it nor the environment sets."""
    present = {match[1] for match in map(ASSIGNMENT.match, text.splitlines()) if match and match[2]}
    missing = {name: value for name, value in fresh_secrets().items() if name not in present | set(os.environ)}
    if not missing:
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + "".join(f"{name}={value}\n" for name, value in missing.items())


def write(path: Path) -> None:
    """Create or complete the file at ``path``, atomically."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = new_file() if before is None else completed(before)
    if after == before:
        return
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
        sys.stdout.write(new_file())


if __name__ == "__main__":
    main()
