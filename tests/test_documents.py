"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from config import settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")


def test_settings_table_is_the_example_file() -> None:
    listed = dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`)? \|", README, re.MULTILINE))

    assert listed == dict(re.findall(r"^([A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))


def test_every_setting_of_the_example_is_read() -> None:
    schema = {variable.name for variable in settings.SCHEMA}

    assert schema == set(re.findall(r"^([A-Z_]+)=", EXAMPLE, re.MULTILINE))


def test_commands_of_the_readme_exist() -> None:
    commands = set(re.findall(r"manage\.py ([a-z_]+)", README)) - {"check"}
    present = {path.stem for path in (ROOT / "chat/management/commands").glob("[a-z]*.py")}

    assert commands <= present


def test_readme_fits_one_sitting_and_names_both_commands() -> None:
    assert README.count("\n") <= 150
    assert "make run" in README
    assert "make test" in README
