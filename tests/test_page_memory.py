"""The largest pages that one account can fill, asked for many times at once: memory is bounded, others are served."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx2
import pytest

from tests.server import PASSWORD, running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
VIEWS = 25
MOST_ADDED_MB = 300
MOST_PAGE_BYTES = 4_000_000
HEALTH_S = 5  # generous: other work may load the machine
LINE = "[a](http://b.c/d 'e') <p><b>x</b> "


def conversation_of_large_answers() -> bytes:
    """Return an export of 25 answers of 380 kB, each within all limits."""
    messages = []
    for number in range(25):
        messages.append({"role": "user", "text": f"Question {number}?"})
        messages.append({"role": "assistant", "answer": LINE * (380_000 // len(LINE))})
    return json.dumps({"title": "Large", "messages": messages}).encode()


def sign_in(session: httpx2.Client, base_url: str) -> None:
    session.get(f"{base_url}/accounts/login/")
    form = {"username": "demo", "password": PASSWORD, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    session.post(f"{base_url}/accounts/login/", data=form, headers={"Referer": base_url})


def post(session: httpx2.Client, url: str, form: dict, **more: object) -> httpx2.Response:
    form = {**form, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    return session.post(url, data=form, headers={"Referer": url}, **more)


def import_large_conversation(base_url: str, session: httpx2.Client) -> str:
    """Import it; return the address of its page."""
    file = ("conversation.json", conversation_of_large_answers())
    post(session, f"{base_url}/data/import/", {}, files={"file": file})
    ends_at = time.monotonic() + 600
    while "Importing" in session.get(f"{base_url}/data/import/").text:
        assert time.monotonic() < ends_at
        Event().wait(0.5)
    home = session.get(base_url, follow_redirects=True).text
    return base_url + re.search(r'href="(/chats/[^/"]+/)"[^>]*>\s*Large', home)[1]


def shared_link_of(page_url: str, session: httpx2.Client) -> str:
    post(session, f"{page_url}share/", {"expires": "7"})
    found = re.search(r"/s/[A-Za-z0-9_-]+/", session.get(f"{page_url}share/").text)
    return page_url[: page_url.index("/chats/")] + found[0]


def resident_mb(pid: int, name: str = "VmRSS") -> int:
    return int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) // 1024


def views_at_once(url: str, headers: dict) -> list[tuple[int, int]]:
    """Return status and size of so many responses."""

    def view(_number: int) -> tuple[int, int]:
        response = httpx2.get(url, headers=headers, timeout=120)
        return response.status_code, len(response.content)

    with ThreadPoolExecutor(VIEWS) as threads:
        return list(threads.map(view, range(VIEWS)))


def health_until(ended: Event, base_url: str) -> list[float]:
    """Return how long each answer of the health check took."""
    waited = []
    while not ended.wait(0.1):
        started = time.monotonic()
        assert httpx2.get(f"{base_url}/healthz", timeout=120).status_code == 200
        waited.append(time.monotonic() - started)
    return waited


@pytest.mark.spec("product 45")
def test_many_views_of_the_largest_page_are_bounded(tmp_path):
    with running_server(tmp_path) as running, httpx2.Client(timeout=60) as session:
        sign_in(session, running.base_url)
        page_url = import_large_conversation(running.base_url, session)
        link_url = shared_link_of(page_url, session)
        cookies = "; ".join(f"{name}={value}" for name, value in session.cookies.items())
        for url, headers in ((link_url, {}), (page_url, {"Cookie": cookies})):
            started = time.monotonic()
            httpx2.get(url, headers=headers, timeout=120)
            first_s = time.monotonic() - started
            before = resident_mb(running.process.pid)
            ended = Event()
            with ThreadPoolExecutor(1) as thread:
                health = thread.submit(health_until, ended, running.base_url)
                started = time.monotonic()
                answers = views_at_once(url, headers)
                took = time.monotonic() - started
                ended.set()
                waited = health.result()

            after, peak = (resident_mb(running.process.pid, name) for name in ("VmRSS", "VmHWM"))
            print(f"{url[-30:]}: first {first_s:.2f} s; {before} -> {after} MB (peak {peak}); all in {took:.1f} s")
            print(f"health: {len(waited)}, max {max(waited):.2f} s; {answers}")
            print(resident_mb(running.process.pid))
            assert {status for status, _size in answers} <= {200, 503}
            assert max(size for _status, size in answers) < MOST_PAGE_BYTES
            assert peak - before < MOST_ADDED_MB
            assert max(waited) < HEALTH_S
