"""Run all checks and tests: `make test` runs ``python -m tests.run fast``, `make test-all` the same with ``all``.

Every part runs, whatever failed before it. The exit code is 1 if any part failed, or, with ``REQUIRE_ALL=1``, if
anything could not be run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import services
from tests.browser.chromium import find_chromium

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
NO_TESTS_COLLECTED = 5
CHECKS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
    "import layers": ["lint-imports"],
    "template format": ["djade", "--check", *map(str, sorted(ROOT.glob("templates/**/*.html")))],
    "template lint": ["djlint", "--quiet", "--lint", "templates"],
}
# Loadscope keeps the tests of a module in one worker, so that a module's server is started once.
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope"]


def main(scope: str) -> int:
    failed = [name for name, ok in run_checks() if not ok]
    is_fast = scope == "fast"
    environment = os.environ | {"HYPOTHESIS_PROFILE": "quick" if is_fast else "full"}
    not_run = []

    without_services = environment | dict.fromkeys(services.VARIABLES, "")
    marks = "not postgres and not redis" + (" and not slow" if is_fast else "")
    if not run_pytest("tests on SQLite", [*_outside_browser(), "-m", marks], without_services):
        failed.append("tests on SQLite")

    found, missing = services.find()
    not_run += missing
    if found:
        # What depends on the engine or on Redis; the whole of the stored tests once more only where time allows.
        marks = "(engine or postgres or redis) and not slow" if is_fast else "stored or postgres or redis"
        where = _files_marked("engine", "postgres", "redis") if is_fast else _outside_browser()
        if not run_pytest("tests on PostgreSQL and Redis", [*where, "-m", marks], environment | found):
            failed.append("tests on PostgreSQL and Redis")

    if chromium := find_chromium():
        arguments = ["tests/browser", *(["-m", "not slow"] if is_fast else [])]
        if not run_pytest("browser tests", arguments, environment | {"CHROMIUM": chromium}):
            failed.append("browser tests")
    else:
        not_run.append(
            "browser tests: no Chromium found, and none could be installed (Debian: apt-get install chromium)"
        )

    for line in not_run:
        print(f"Not run: {line}")
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return int(bool(failed) or bool(not_run and os.environ.get("REQUIRE_ALL") == "1"))


def run_checks() -> list[tuple[str, bool]]:
    """Run the static checks side by side; print a line each, and the output of those that failed."""

    def run(name: str) -> tuple[str, bool]:
        program, *arguments = CHECKS[name]
        started = time.monotonic()
        done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
        print(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'} ({time.monotonic() - started:.0f} s)", flush=True)
        if done.returncode:
            print(done.stdout + done.stderr, flush=True)
        return name, done.returncode == 0

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(run, CHECKS))


def run_pytest(name: str, arguments: list[str], environment: dict[str, str]) -> bool:
    """Run one part with pytest; say whether it passed."""
    print(f"\n{name}", flush=True)
    code = subprocess.run([*PYTEST, *arguments], cwd=ROOT, env=environment, check=False).returncode  # noqa: S603
    return code in (0, NO_TESTS_COLLECTED)


def _files_marked(*marks: str) -> list[str]:
    """Return the test files that name one of these marks: collecting all others takes 10 s of CPU."""
    wanted = re.compile(rf"mark\.({'|'.join(marks)})\b")
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path) for path in paths if wanted.search(path.read_text(encoding="utf-8"))]


def _outside_browser() -> list[str]:
    # Playwright's event loop and pytest-asyncio's can't share a process.
    return ["--ignore=tests/browser"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
