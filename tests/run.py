"""Run all checks and tests: `make test` runs ``python -m tests.run fast``, `make test-all` the same with ``all``.

Every part runs, whatever failed before it. The exit code is 1 if any part failed, or, with ``REQUIRE_ALL=1``, if
anything could not be run.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import redis

from tests.browser.chromium import find_chromium

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
NO_TESTS_COLLECTED = 5
CONNECT_TIMEOUT_S = 3
SERVICES = {
    "TEST_DATABASE_URL": "postgres://postgres@127.0.0.1:5432/postgres",
    "TEST_REDIS_URL": "redis://127.0.0.1:6379/0",
}
CHECKS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
    "import layers": ["lint-imports"],
    "template format": ["djade", "--check", *map(str, sorted(ROOT.glob("templates/**/*.html")))],
    "template lint": ["djlint", "--quiet", "--lint", "templates"],
}
OUTSIDE_BROWSER = ["--ignore=tests/browser"]  # Playwright's event loop and pytest-asyncio's can't share a process
# Loadscope runs the tests of a module in one worker, so that a module's server is started once.
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope"]


def main(scope: str) -> int:
    failed = [name for name, ok in run_checks() if not ok]
    is_fast = scope == "fast"
    environment = os.environ | {"HYPOTHESIS_PROFILE": "quick" if is_fast else "full"}
    not_run = []

    without_services = environment | dict.fromkeys(SERVICES, "")
    marks = "not postgres and not redis" + (" and not slow" if is_fast else "")
    if not run_pytest("tests on SQLite", [*OUTSIDE_BROWSER, "-m", marks], without_services):
        failed.append("tests on SQLite")

    found, missing = find_services()
    not_run += missing
    if found:
        # What depends on the engine or on Redis; the quick ones of the stored tests once more where time allows.
        marks = (
            "(engine or postgres or redis) and not slow" if is_fast else "(stored and not slow) or postgres or redis"
        )
        where = files_marked("engine", "postgres", "redis") if is_fast else OUTSIDE_BROWSER
        # All examples of the properties ran above; here only the engine is another.
        with_services = environment | found | {"HYPOTHESIS_PROFILE": "quick"}
        if not run_pytest("tests on PostgreSQL and Redis", [*where, "-m", marks], with_services):
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


def find_services() -> tuple[dict[str, str], list[str]]:
    """Return the addresses that answer, by variable, and a line for each service that doesn't.

    The variables name them; without one the usual port of this machine is tried.
    """
    found, missing = {}, []
    for variable, default in SERVICES.items():
        url = os.environ.get(variable) or default
        try:
            if variable == "TEST_REDIS_URL":
                with redis.Redis.from_url(url, socket_connect_timeout=CONNECT_TIMEOUT_S) as client:
                    client.ping()
            else:
                psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S).close()
            found[variable] = url
        except (psycopg.Error, redis.RedisError):
            missing.append(f"tests that need {variable}: nothing answers at its address")
    return found, missing


def files_marked(*marks: str) -> list[str]:
    """Return the test files that name one of these marks: collecting all others takes 10 s of CPU."""
    wanted = re.compile(rf"mark\.({'|'.join(marks)})\b")
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path) for path in paths if wanted.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
