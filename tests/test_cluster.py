"""``make cluster``: refusals in one line; a chat of one process is read in another after the first was killed."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import local_services
from deploy.cluster import invalid_setting
from deploy.local_services import free_port, missing_packages
from tests.open_page import Person
from tests.server import ROOT, environment_in, stop

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("web", "port", "database", "begins"),
    [
        ("0", "8000", "", "WEB: '0' is not allowed"),
        ("many", "8000", "", "WEB: 'many' is not allowed"),
        ("2", "70000", "", "PORT: '70000' is not allowed"),
        ("2", "8000", "sqlite:///secret.sqlite3", "DATABASE_URL: (not shown) is not allowed"),
    ],
)
def test_invalid_value_is_refused_in_one_line(monkeypatch, web, port, database, begins):
    monkeypatch.setenv("DATABASE_URL", database)

    line = invalid_setting(web, port)

    assert line is not None
    assert line.startswith(begins)
    assert "secret" not in line


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(local_services, "DEBIAN_FOLDERS", ())
    monkeypatch.setenv("PATH", "/nowhere")

    assert missing_packages({}) == ["postgresql", "redis-server"]
    assert missing_packages({"DATABASE_URL": "postgres://x@127.0.0.1/x"}) == ["redis-server"]
    assert missing_packages({"DATABASE_URL": "postgres://x", "REDIS_URL": "redis://127.0.0.1:1/0"}) == []


def start_cluster(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a cluster; return its process and what it printed until it was ready."""
    environment = environment_in(folder, PORT=str(free_port()))
    del environment["DATABASE_URL"]
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.cluster"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            break
    return process, "".join(lines)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def exists(path: str) -> bool:
    return Path(path).exists()


if not missing_packages({}):

    async def test_chat_of_a_killed_process_is_read_in_the_other(tmp_path):
        process, printed = start_cluster(tmp_path)
        try:
            (first, pid), (second, _pid) = re.findall(r"web \d+: (http://\S+)/ pid (\d+)", printed)
            near, far = Person(first), Person(second)
            for one in (near, far):
                await one.sign_in()
            chat = await near.new_chat()
            assert await near.post(f"/api/chats/{chat}/messages/", text="What did Northwind say about turbines?") == 200
            written = await near.cards(chat)
            os.kill(int(pid), signal.SIGKILL)

            assert await far.cards(chat) == written
            assert written[1]["answer"]
            for one in (near, far):
                await one.leave()
        finally:
            assert stop(process) == 0
        assert not [folder for folder in re.findall(r"Logs are in (\S+)", printed) if exists(folder)]
        assert not [pid for pid in re.findall(r"pid (\d+)$", printed, re.MULTILINE) if is_alive(int(pid))]
