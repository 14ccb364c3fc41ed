"""Install the wheel as a stranger does and use it: ``python -m tests.wheel`` after ``make wheel``.

A fresh environment outside the checkout gets the wheel and what it asks for. Then: the sign-in page in German, a
question with citations, a backup, a stop, and the backup restored into a second data folder.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "What would breach Northwind Tidal’s covenants?"
TIMEOUT_S = 120


def main() -> None:
    (wheel,) = (ROOT / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if re.search(r"(^|/)(tests?/|test_|conftest)", name)] == []
    with tempfile.TemporaryDirectory(prefix="legible-wheel-") as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", str(folder / "env")], folder)
        began = time.monotonic()
        run([str(folder / "env/bin/pip"), "install", "-q", "--disable-pip-version-check", str(wheel)], folder)
        print(f"installed in {time.monotonic() - began:.0f} s")
        changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        assert legible(folder, "--version").strip() == re.search(r"^## (\S+)", changelog, re.MULTILINE)[1]
        use(folder)
    print("The wheel works.")


def use(folder: Path) -> None:
    """Serve, ask and stop in one data folder, and restore its backup into another."""
    began = time.monotonic()
    server = subprocess.Popen(  # noqa: S603
        [str(folder / "env/bin/legible-chat"), "serve", "--demo", "--port", "0", "--data", "first"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        greeting = [server.stdout.readline() for _line in range(3)]
        address = re.search(r"http://\S+(?=/$)", greeting[0])[0]
        password = re.search(r"demo, sam, admin with the password (\S+)", greeting[1])[1]
        print(f"listening after {time.monotonic() - began:.1f} s")
        assert (folder / "first/.env").stat().st_mode & 0o077 == 0
        read_pages(address, password)
        ask(folder, address)
        legible(folder, "backup", "--data", "first", "backup")
    finally:
        server.terminate()
        code = server.wait(timeout=TIMEOUT_S)
        server.stdout.close()
    assert code == 0, code

    (folder / "second").mkdir()
    shutil.copy(folder / "first/.env", folder / "second/.env")
    legible(folder, "restore", "--data", "second", "backup")
    legible(folder, "check", "--data", "second")
    code = "from chat.models import Turn; print(Turn.objects.count())"
    counts = {legible(folder, "manage", "--data", name, "shell", "-v", "0", "-c", code) for name in ("first", "second")}
    assert counts == {"2\n"}, counts


def read_pages(address: str, password: str) -> None:
    """Sign in on the German page; every static file of the conversation's page is served, and for good."""
    with requests.Session() as browser:
        browser.headers["Accept-Language"] = "de"
        page = browser.get(f"{address}/accounts/login/", timeout=TIMEOUT_S)
        assert ">Anmelden" in page.text
        form = {"username": "demo", "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        page = browser.post(page.url, form, headers={"Referer": page.url}, timeout=TIMEOUT_S)
        assert "data-composer" in page.text
        files = set(re.findall(r'"(/static/[^"#]+)', page.text))
        assert len(files) > 10
        for path in files:
            file = browser.get(address + path, timeout=TIMEOUT_S)
            assert (file.status_code, "immutable" in file.headers["Cache-Control"]) == (200, True), path


def ask(folder: Path, address: str) -> None:
    """Ask over the API and get an answer with citations of the demo filings."""
    token = re.search(r"lgb_\S+", legible(folder, "manage", "--data", "first", "create_token", "demo"))[0]
    with requests.Session() as script:
        script.headers["Authorization"] = f"Bearer {token}"
        chat = script.post(f"{address}/api/chats/", timeout=TIMEOUT_S).json()
        url = f"{address}/api/chats/{chat['id']}/messages/"
        answer = script.post(url, json={"text": QUESTION}, timeout=TIMEOUT_S).json()
    assert answer["status"] == "complete", answer
    assert {citation["company"] for citation in answer["citations"]} == {"Northwind Tidal Power, Inc."}


def legible(folder: Path, *arguments: str) -> str:
    return run([str(folder / "env/bin/legible-chat"), *arguments], folder, environment(folder))


def run(command: list[str], folder: Path, variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(folder: Path) -> dict[str, str]:
    """Return an environment without any setting of the checkout. A warning is an error."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONWARNINGS": "error"}


if __name__ == "__main__":
    main()
