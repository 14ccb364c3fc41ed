"""Generate ``.env.example`` and ``docs/settings.md`` from the settings: ``python -m config.settings_reference``."""

from __future__ import annotations

import textwrap
from pathlib import Path

from config.settings import env

ROOT = Path(__file__).resolve().parent.parent


def env_example() -> str:
    """Return the text of ``.env.example``: every variable with its description and default."""
    lines = [
        "# Every setting with its default. The first start copies this file to .env, with fresh secrets: edit .env.",
        "# An empty value means the default. An invalid value stops the start with one line.",
    ]
    for section, variables in env.sections.items():
        lines += ["", f"# --- {section}"]
        for variable in variables:
            lines += textwrap.wrap(variable.description, 118, initial_indent="# ", subsequent_indent="# ")
            lines.append(f"{variable.name}={variable.default}")
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Return the text of ``docs/settings.md``: a table for each section."""
    lines = [
        "# Settings",
        "",
        "Read from the environment or from `.env`; the environment wins, and an empty value means the default. An",
        "invalid value stops the start with one line that names the variable, the value and what is allowed.",
        "`.env` and the SQLite database lie in the data folder: `--data` of `legible-chat`, `LEGIBLE_DATA`, otherwise",
        "the checkout, or with the wheel the platform's folder for data of a user (`~/.local/share/legible-chat`).",
        "`ENV_FILE` names another file than `.env`.",
        "",
        "Generated from `config/settings.py` by `make docs`.",
    ]
    for section, variables in env.sections.items():
        lines += ["", f"## {section}", "", "| name | default | allowed | what it does |", "|---|---|---|---|"]
        for variable in variables:
            allowed = variable.type.documented or variable.type.allowed
            default = f"`{variable.default}`" if variable.default else ""
            lines.append(f"| `{variable.name}` | {default} | {allowed} | {variable.description} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / ".env.example").write_text(env_example(), encoding="utf-8")
    (ROOT / "docs" / "settings.md").write_text(settings_page(), encoding="utf-8")
