"""Bring a browser and run the browser tests: ``python -m tests.browser``.

A ``chromium`` on the ``PATH`` serves; else Playwright's own download, else Debian's package when root. ``CHROMIUM``
tells the tests which one. Where there is none they are skipped, and the last lines say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

from tests import services

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOTHING_COLLECTED = 5
# Newer Chromium loads two pages of its own behind the address bar of each new window: they take a core for most of a
# second, just while a test or a benchmark opens its page. Naming features replaces Playwright's list, hence the rest.
_FEATURES = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *(
        "DestroyProfileOnBrowserClose",
        "HttpsFirstBalancedModeAutoEnable",
        "HttpsUpgrades",
        "LensOverlay",
        "MediaRouter",
    ),
    *("NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", f"--disable-features={','.join(_FEATURES)}")
DOWNLOAD_TIMEOUT_S = 600


def chromium() -> str | None:
    """Return the path of a browser that starts, bringing one where that is possible."""
    return _on_path() or _from_playwright() or _from_debian()


def _on_path() -> str | None:
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES)]
    return next((path for path in candidates if path and _starts(path)), None)


def _from_playwright() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if not Path(path).exists():
        _run(sys.executable, "-m", "playwright", "install", "chromium")
    return path if Path(path).exists() and _starts(path) else None


def _from_debian() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    _run("apt-get", "update", "--quiet")
    _run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium")
    return _on_path()


def _starts(path: str) -> bool:
    try:
        with sync_playwright() as playwright:
            playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).close()
    except Error:
        return False
    return True


def _run(*command: str) -> None:
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=DOWNLOAD_TIMEOUT_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{command[0]}: {type(error).__name__}\n")


def main() -> int:
    """Return pytest's exit code."""
    path = chromium()
    not_run = services.not_run() + ([] if path else ["browser tests: there is no browser here, and none could be had"])
    environment = os.environ | {"NOT_RUN": "\n".join(not_run)} | ({"CHROMIUM": path} if path else {})
    kept_apart = ["-n", "2", "--dist", "loadfile"]  # each with a browser, servers and databases of its own
    command = [sys.executable, "-m", "pytest", *kept_apart, "tests/e2e"]
    code = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - our own command
    return 0 if code == NOTHING_COLLECTED and os.environ.get("REQUIRE_ALL") != "1" else code


if __name__ == "__main__":
    sys.exit(main())
