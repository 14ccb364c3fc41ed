"""``make cluster``: refusals in one line; a chat of one process is read in another after the first was killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import aiohttp
import pytest

from deploy import local_services
from deploy.cluster import invalid_setting
from deploy.local_services import free_port, missing_packages
from tests.server import PASSWORD, ROOT, environment_in, stop

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
def test_invalid_value_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, web: str, port: str, database: str, begins: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)

    line = invalid_setting(web, port)

    assert line is not None
    assert line.startswith(begins)
    assert "secret" not in line


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
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


async def sign_in(http: aiohttp.ClientSession, address: str) -> None:
    page = await (await http.get(f"{address}/accounts/login/")).text()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token, page
    form = {"username": "demo", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    await http.post(f"{address}/accounts/login/", data=form, headers={"Origin": address})


async def ask(http: aiohttp.ClientSession, address: str, text: str) -> tuple[str, str]:
    """Ask in a new chat over the API; return its id and the answer."""
    token = next(cookie.value for cookie in http.cookie_jar if cookie.key == "csrftoken")
    headers = {"Origin": address, "X-CSRFToken": token}
    created = await (await http.post(f"{address}/api/chats/", headers=headers)).json()
    sent = await http.post(f"{address}/api/chats/{created['id']}/messages/", json={"text": text}, headers=headers)
    return created["id"], (await sent.json())["answer"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def exists(path: str) -> bool:
    return Path(path).exists()


if not missing_packages({}):

    async def test_chat_of_a_killed_process_is_read_in_the_other(tmp_path: Path) -> None:
        process, printed = start_cluster(tmp_path)
        try:
            (first, pid), (second, _pid) = re.findall(r"web \d+: (http://\S+)/ pid (\d+)", printed)
            async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
                await sign_in(http, first)
                question = f"What did Northwind say about turbines? {uuid.uuid4()}"
                chat, answer = await ask(http, first, question)
                os.kill(int(pid), signal.SIGKILL)

                page = await http.get(f"{second}/chats/{chat}/")
                listed = await (await http.get(f"{second}/api/chats/{chat}/messages/")).json()

                assert page.status == 200
                assert question in await page.text()
                assert [each["answer"] for each in listed if "answer" in each] == [answer] != [""]
        finally:
            assert stop(process) == 0
        assert not [folder for folder in re.findall(r"Logs are in (\S+)", printed) if exists(folder)]
        assert not [pid for pid in re.findall(r"pid (\d+)$", printed, re.MULTILINE) if is_alive(int(pid))]
