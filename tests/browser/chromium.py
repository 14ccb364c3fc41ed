"""Find or install the browser that the browser tests and the page benchmark use.

A Chromium on the ``PATH`` is used; otherwise Playwright's own download, otherwise Debian's package when root.
``CHROMIUM`` names another one.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Newer Chromium loads two pages of its own behind the address bar of each new window, which take a core for most of a
# second just while a test opens its page. Naming features replaces Playwright's list, hence the rest.
DISABLED_FEATURES = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", f"--disable-features={','.join(DISABLED_FEATURES)}")
INSTALL_TIMEOUT_S = 600


def find_chromium() -> str | None:
    """Return the path of a Chromium that starts, installing one where possible."""
    return _on_path() or _from_playwright() or _from_debian()


def _on_path() -> str | None:
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES)]
    return next((path for path in candidates if path and starts(path)), None)


def _from_playwright() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if not Path(path).exists():
        run(sys.executable, "-m", "playwright", "install", "chromium")
    return path if Path(path).exists() and starts(path) else None


def _from_debian() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    run("apt-get", "update", "--quiet")
    run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium")
    return _on_path()


def starts(path: str) -> bool:
    try:
        with sync_playwright() as playwright:
            playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).close()
    except Error:
        return False
    return True


def run(*command: str) -> None:
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{command[0]}: {type(error).__name__}\n")
