"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from config import settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEPLOYMENT = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")


def test_settings_table_is_the_example_file() -> None:
    listed = dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`)? \|", README, re.MULTILINE))

    assert listed == dict(re.findall(r"^([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))


def test_every_setting_of_the_example_is_read() -> None:
    schema = {variable.name for variable in settings.SCHEMA}

    assert schema == set(re.findall(r"^([A-Z_]+)=", EXAMPLE, re.MULTILINE))


def test_commands_of_the_documents_exist() -> None:
    commands = set(re.findall(r"manage\.py ([a-z_]+)", README + DEPLOYMENT)) - {"check"}
    present = {path.stem for path in (ROOT / "chat/management/commands").glob("[a-z]*.py")}

    assert commands <= present


def test_readme_fits_one_sitting_and_names_both_commands() -> None:
    assert README.count("\n") <= 150
    assert "make run" in README
    assert "make test" in README


def test_files_that_deployment_names_are_there() -> None:
    named = set(re.findall(r"`(deploy/[^`]+)`", DEPLOYMENT))

    assert {name for name in named if not (ROOT / name).is_file()} == set()
    assert "deploy/nginx.conf" in named
    assert "docs/deployment.md" in README


def test_settings_that_deployment_names_are_read() -> None:
    schema = {variable.name for variable in settings.SCHEMA}

    assert set(re.findall(r"`([A-Z]+_[A-Z_]+)[=`]", DEPLOYMENT)) <= schema


def test_unit_files_start_what_there_is() -> None:
    started = [
        line for path in (ROOT / "deploy").glob("*.service") for line in re.findall(r"ExecStart=(.+)", path.read_text())
    ]

    assert sorted(line.partition("/.venv/bin/python ")[2] for line in started) == [
        "-m config.serve",
        "manage.py purge_thinking",
    ]


def test_nothing_that_a_unit_sets_is_taken_back_by_the_settings_file() -> None:
    """What systemd reads from ``EnvironmentFile=`` wins over ``Environment=``, and that file names every setting."""
    units = [path.read_text() for path in (ROOT / "deploy").glob("*.service")]

    assert [unit for unit in units if re.search(r"^Environment=", unit, re.MULTILINE)] == []
    assert any("ExecStart=/usr/bin/env PORT=%i " in unit for unit in units)
