"""What `make` says on a machine that lacks something. Installing and serving is proven by using it."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def checkout(tmp_path):
    for name in ("Makefile", "requirements.lock", ".env.example"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)  # noqa: S603


def _errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode != 0
    return [line for line in done.stderr.splitlines() if not re.match(r"make(\[\d+\])?:", line)]


def test_help_lists_only_what_works(checkout):
    lines = _make(checkout).stdout.splitlines()

    assert [line.split(" - ")[0].strip() for line in lines] == [
        *("help", "run", "wheel", "packages", "test", "test-all", "bench", "eval", "snapshots"),
        *("screenshots", "cluster", "docs", "messages"),
    ]


def test_unfit_python_is_one_line(checkout):
    without_venv = checkout / "python-without-venv"
    without_venv.write_text("#!/bin/sh\nexit 1\n")
    without_venv.chmod(0o755)

    errors = [_errors(_make(checkout, "run", f"PYTHON={python}")) for python in ("", without_venv)]

    assert [len(lines) for lines in errors] == [1, 1]
    assert errors[0][0].startswith("Legible needs Python 3.11 or newer; here is ")
    assert errors[1][0].endswith("has no venv module; on Debian and Ubuntu: apt-get install python3-venv")
    assert not (checkout / ".venv").exists()


def test_python_that_does_not_run_is_passed_over(checkout):
    folder = checkout / "bin"
    folder.mkdir()
    for name, script in {"python3.13": "exit 127", "python3.12": "exit 1", "python3.11": "exit 0"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    printed = subprocess.run(
        ["make", "--eval", "show:; @echo [$(PYTHON)]", "show"],  # noqa: S607
        cwd=checkout, env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert printed.strip() == "[python3.11]"


@pytest.mark.parametrize(("name", "extras"), [("requirements.lock", ()), ("requirements-dev.lock", ("dev", "bench"))])
def test_lock_has_a_hash_for_every_package_that_is_asked_for(name, extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    text = re.sub(r"#.*\n", "", (ROOT / name).read_text()).replace("\\\n", "")
    locked = {}
    for line in text.splitlines():
        match = re.fullmatch(r"([a-z0-9-]+)==([^ ;]+)(?: ;[^\\]*?)?((?: +--hash=sha256:[0-9a-f]{64})+)", line)
        assert match, line[:80]
        locked[match[1]] = match[2]

    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement
