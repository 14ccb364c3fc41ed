"""``legible-chat`` from a checkout: one data folder, secrets for their owner only, errors of one line."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from legible_chat import __version__
from tests.server import ROOT, empty_database, environment_in, stop


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def environment(home):
    """Return an environment in which nothing of Legible is set."""
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


@pytest.fixture
def legible(environment):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "legible_chat", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603

    return run


def greeting_of(environment: dict[str, str], *arguments: str) -> list[str]:
    """Serve until the server has said where it is; return the lines that it printed."""
    command = [sys.executable, "-m", "legible_chat", "serve", "--port", "0", *arguments]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603
    lines = []
    try:
        for line in server.stdout:
            lines.append(line)
            if line.startswith("The offline analyst"):
                break
    finally:
        assert stop(server) == 0
    return lines


def test_version_is_that_of_the_changelog(legible):
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\d+\.\d+\.\d+) – \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)

    assert legible("--version").stdout == f"{__version__}\n"
    assert versions[0] == __version__


def test_changelog_sections_are_short_and_of_known_kinds():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (.+)\n((?:(?!#).*\n)*)", text, re.MULTILINE)

    assert len(sections) >= 6
    assert {name for name, _body in sections} <= {"Added", "Changed", "Fixed", "Security"}
    assert [name for name, body in sections if len(body.strip().splitlines()) > 40] == []


@pytest.mark.slow
def test_new_folder_gets_secrets_and_one_sign_in(environment, home):
    first = greeting_of(environment)
    second = greeting_of(environment)

    folder = home / ".local/share/legible-chat"
    assert re.match(r"Sign in as admin with the password \S{12,} ", first[0])
    assert [line for line in second if "password" in line] == []
    modes = {path.name: path.stat().st_mode & 0o077 for path in folder.iterdir()}
    assert {".env", "legible.sqlite3"} <= set(modes)
    assert set(modes.values()) == {0}
    assert re.search(r"^DEMO_PASSWORD=$", (folder / ".env").read_text(), re.MULTILINE)


@pytest.mark.postgres
def test_two_servers_can_start_at_once_on_a_new_database(tmp_path):
    with empty_database("twice") as url:
        environment = environment_in(tmp_path, DATABASE_URL=url)
        with ThreadPoolExecutor() as pool:
            starts = [pool.submit(greeting_of, environment, "--data", str(tmp_path)) for _ in range(2)]
            printed = [start.result() for start in starts]

    assert all(lines[-1].startswith("The offline analyst") for lines in printed)
    assert len([line for lines in printed for line in lines if "(shown only now;" in line]) == 1


@pytest.mark.slow
def test_password_of_the_demo_is_not_announced_for_an_administrator_with_another(environment, tmp_path):
    lines = greeting_of({**environment, "DEMO_PASSWORD": "of-the-demo"}, "--data", str(tmp_path))

    assert re.match(r"Sign in as admin with the password \S{12,} ", lines[0])
    assert "of-the-demo" not in "".join(lines)


@pytest.mark.slow
def test_demo_can_be_added_later(environment, tmp_path):
    greeting_of(environment, "--data", str(tmp_path))

    lines = greeting_of(environment, "--data", str(tmp_path), "--demo")

    assert [line for line in lines if line.startswith("Sign in as demo, sam, admin with the password ")]


def test_command_without_data_creates_nothing(legible, tmp_path):
    for arguments in (["check"], ["backup", "file"], ["manage", "migrate"]):
        command, *rest = arguments
        done = legible(command, "--data", str(tmp_path / "none"), *rest)

        assert done.returncode == 2
        assert done.stderr.startswith("There is no data in ")
        assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_one_line(legible, tmp_path):
    (tmp_path / "file").touch()

    done = legible("serve", "--data", str(tmp_path / "file" / "folder"))

    assert done.returncode == 2
    assert done.stderr.startswith(f"Cannot write to {tmp_path / 'file' / 'folder'}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder/env", "Cannot write to {}: No such file or directory. ENV_FILE names another file\n"),
        ("latin", "latin: UnicodeDecodeError while reading; allowed: a readable file in UTF-8\n"),
    ],
)
def test_file_of_settings_that_cannot_be_used_is_one_line(legible, environment, tmp_path, name, said):
    (tmp_path / "latin").write_bytes(b"DEMO_PASSWORD=p\xe4\n")
    environment["ENV_FILE"] = str(tmp_path / name)

    done = legible("serve", "--data", str(tmp_path / "data"))

    assert (done.returncode, done.stderr) == (2, said.format(tmp_path / name))


def test_failed_migration_ends_the_start(legible, tmp_path):
    (tmp_path / "legible.sqlite3").write_bytes(b"no database " * 1000)

    done = legible("serve", "--port", "0", "--data", str(tmp_path))

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("The database cannot be used: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("address", "content", "advice"),
    [
        ("sqlite:///legible.sqlite3", b"no database " * 1000, ". Restore a backup (docs/deployment.md)\n"),
        ("sqlite:///legible.sqlite3", b"", ". Run `manage.py migrate`\n"),
        ("postgres://127.0.0.1:1/legible", b"", "failed: Connection refused\n"),  # nothing to migrate or restore
    ],
)
def test_unusable_database_is_one_line_with_the_advice_that_helps(
    legible, environment, tmp_path, address, content, advice
):
    (tmp_path / "legible.sqlite3").write_bytes(content)
    environment["DATABASE_URL"] = address

    done = legible("manage", "--data", str(tmp_path), "turn_stats")

    assert done.returncode == 1
    assert done.stderr.startswith("The database cannot be used: ")
    assert done.stderr.endswith(advice)
    assert done.stderr.count("\n") == 1


def test_check_names_what_is_missing(legible, tmp_path):
    (tmp_path / ".env").write_text("SECRET_KEY=short\n")

    done = legible("check", "--data", str(tmp_path))

    assert done.returncode == 1
    assert "CONTENT_KEYS is not set" in done.stderr
