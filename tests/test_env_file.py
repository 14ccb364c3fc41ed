import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from config import env_file

ROOT = Path(__file__).resolve().parent.parent
SECRETS = ("SECRET_KEY", "CONTENT_KEYS", "DEMO_PASSWORD")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)


def _values(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE))


def test_command_prints_the_example_with_fresh_secrets():
    command = [sys.executable, "-m", "config.env_file"]
    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
        for _ in range(2)
    )

    example, filled = _values(env_file.EXAMPLE.read_text(encoding="utf-8")), _values(first)
    assert {name for name in example if example[name] != filled[name]} == set(SECRETS)
    assert all(filled[name] != _values(second)[name] for name in SECRETS)
    Fernet(filled["CONTENT_KEYS"])
    assert len(filled["SECRET_KEY"]) >= 50


def test_new_file_is_private_and_a_complete_one_is_left_alone(tmp_path):
    path = tmp_path / ".env"
    env_file.write(path)
    before = path.read_text()

    env_file.write(path)

    assert path.read_text() == before
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]


def test_existing_file_keeps_its_lines_and_gets_the_missing_secrets(tmp_path):
    path = tmp_path / ".env"
    path.write_text("OPENAI_BASE_URL=http://127.0.0.1:11434/v1\nDEMO_PASSWORD=mine\nSECRET_KEY=")

    env_file.write(path)

    text = path.read_text()
    assert text.startswith("OPENAI_BASE_URL=http://127.0.0.1:11434/v1\nDEMO_PASSWORD=mine\nSECRET_KEY=")
    assert text.count("DEMO_PASSWORD") == text.count("SECRET_KEY") == 1
    assert all(_values(text)[name] for name in SECRETS)


def test_secret_from_the_environment_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / ".env"
    path.write_text("")
    monkeypatch.setenv("CONTENT_KEYS", "from outside")

    env_file.write(path)

    assert "CONTENT_KEYS" not in path.read_text()


def test_failed_write_leaves_no_partial_file(tmp_path, monkeypatch):
    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(env_file.os, "fsync", fail)

    with pytest.raises(OSError, match="No space left"):
        env_file.write(tmp_path / ".env")

    assert not (tmp_path / ".env").exists()


def test_file_behind_a_link_is_completed_and_the_link_stays(tmp_path):
    (tmp_path / "site.env").write_text("PORT=8111\n")
    link = tmp_path / ".env"
    link.symlink_to("site.env")

    env_file.write(link)

    assert link.is_symlink()
    assert (tmp_path / "site.env").read_text().startswith("PORT=8111\nSECRET_KEY=")


def test_what_is_no_regular_file_is_not_replaced(monkeypatch):
    def never(**_named):
        raise AssertionError("the machine's own device would be replaced")

    monkeypatch.setattr(env_file.tempfile, "mkstemp", never)

    with pytest.raises(OSError, match="no regular file"):
        env_file.write(Path(os.devnull))


def test_secret_between_quotation_marks_that_is_empty_is_filled_in(tmp_path):
    path = tmp_path / ".env"
    path.write_text("\ufeffSECRET_KEY=\"\"\nCONTENT_KEYS=''\nDEMO_PASSWORD='mine'\n")

    env_file.write(path)

    values = _values(path.read_text())
    assert len(values["SECRET_KEY"]) >= 50
    Fernet(values["CONTENT_KEYS"])
    assert values["DEMO_PASSWORD"] == "'mine'"
