"""``make cluster``: what it needs, in one line; where it is there, a chat of one process is read in another."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from config import cluster, engines
from config.children import Child, free_port
from tests.server import PASSWORD, ROOT, environment_in, stop

LAST_LINE = "Ctrl-C ends everything."
NOT_HERE = engines.missing({})


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """What it printed, and what that says."""

    lines: tuple[str, ...]
    process: subprocess.Popen[str]

    @property
    def web(self) -> list[str]:
        return re.findall(r"web \d+: (http://\S+)/ ", "\n".join(self.lines))

    @property
    def pids(self) -> list[int]:
        return [int(pid) for pid in re.findall(r"pid (\d+)\)?$", "\n".join(self.lines), re.MULTILINE)]

    @property
    def folder(self) -> Path:
        return Path(next(line for line in self.lines if line.startswith("Logs are in ")).removeprefix("Logs are in "))


def _environment(folder: Path, **variables: str) -> dict[str, str]:
    environment = environment_in(folder, PORT=str(free_port()), **variables)
    del environment["DATABASE_URL"]
    return environment


@contextmanager
def running_cluster(folder: Path) -> Iterator[RunningCluster]:
    with (folder / "errors").open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.cluster"],
            cwd=ROOT,
            env=_environment(folder),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.rstrip().endswith(LAST_LINE):
                break
        assert lines, (folder / "errors").read_text("utf-8")
        yield RunningCluster(tuple(lines), process)
    finally:
        stop(process)


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def _sign_in(http: aiohttp.ClientSession, address: str) -> None:
    page = await (await http.get(f"{address}/accounts/login/")).text()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token, page
    form = {"username": "demo", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    await http.post(f"{address}/accounts/login/", data=form, headers={"Origin": address})


async def _ask(http: aiohttp.ClientSession, address: str, text: str) -> tuple[str, str]:
    """Ask in a new chat over the API; return its id and the answer."""
    token = next(cookie.value for cookie in http.cookie_jar if cookie.key == "csrftoken")
    headers = {"Origin": address, "X-CSRFToken": token}
    made = await (await http.post(f"{address}/api/chats/", headers=headers)).json()
    sent = await http.post(f"{address}/api/chats/{made['id']}/messages/", json={"text": text}, headers=headers)
    return made["id"], (await sent.json())["answer"]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "apt-get install postgresql redis-server;"),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "apt-get install postgresql;"),
        ({"DATABASE_URL": "postgres://x@127.0.0.1/x"}, "apt-get install redis-server;"),
    ],
)
def test_what_is_not_installed_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], named: str
) -> None:
    monkeypatch.setattr(engines, "PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")

    line = engines.missing(given)

    assert line is not None
    assert named in line
    assert "\n" not in line


def test_services_that_are_given_need_nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")
    given = {"DATABASE_URL": "postgres://x@127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert engines.missing(given) is None
    assert [*engines.postgres(Path("/nowhere"), given), *engines.redis_server(Path("/nowhere"), given)] == []


@pytest.mark.parametrize(
    ("web", "port", "environment", "begins"),
    [
        ("0", "8000", {}, "WEB: '0' is not allowed"),
        ("many", "8000", {}, "WEB: 'many' is not allowed"),
        ("2", "70000", {}, "PORT: '70000' is not allowed"),
        ("2", "8000", {"DATABASE_URL": "sqlite:///secret.sqlite3"}, "DATABASE_URL: (not shown) is not allowed"),
    ],
)
def test_value_that_is_not_allowed_is_one_line(web: str, port: str, environment: dict[str, str], begins: str) -> None:
    line = cluster.refused(web, port, environment)

    assert line is not None
    assert line.startswith(begins)


def test_child_that_dies_is_told_and_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.children.AGAIN_AFTER_S", 0.0)
    child = Child("sleeper", ("sleep", "60"), tmp_path / "log", os.environ, tmp_path)
    child.start()
    first = child.pid
    os.kill(first, signal.SIGKILL)
    child.wait()

    told = [child.look_after(), child.look_after(), child.look_after()]

    child.end()
    assert told == [
        f"sleeper (pid {first}) ended: SIGKILL; starting it again in 0 s",
        f"sleeper runs again, pid {child.pid}",
        None,
    ]
    assert not child.is_running


async def _check_cluster(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    with running_cluster(tmp_path) as running:
        first, second = running.web
        await _sign_in(http, first)
        question = f"What did Northwind say about turbines? {uuid.uuid4()}"
        chat, answer = await _ask(http, first, question)
        os.kill(running.pids[0], signal.SIGKILL)

        page = await http.get(f"{second}/chats/{chat}/")
        listed = await (await http.get(f"{second}/api/chats/{chat}/messages/")).json()

        assert page.status == 200
        assert question in await page.text()
        assert answer
        assert [each["answer"] for each in listed if "answer" in each] == [answer]
        assert (await http.get(f"{second}/healthz")).status == 200

    assert stop(running.process) == 0
    assert not [pid for pid in running.pids if _is_alive(pid)]
    assert not running.folder.exists()


if NOT_HERE is None:

    async def test_chat_of_one_process_is_read_in_the_other_and_all_ends(
        tmp_path: Path, http: aiohttp.ClientSession
    ) -> None:
        await _check_cluster(tmp_path, http)

else:  # a machine without PostgreSQL or Redis of its own is told so, and that is what can be tested there

    def test_start_without_services_says_so_and_ends(tmp_path: Path) -> None:
        command = [sys.executable, "-m", "config.cluster"]
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=ROOT, env=_environment(tmp_path), capture_output=True, text=True, check=False
        )

        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{NOT_HERE}\n")
