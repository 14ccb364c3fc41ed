"""The documents say what the code does."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from config import settings_reference
from config.connections import limit_of
from config.settings import env

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEPLOYMENT = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
DOCUMENTS = (
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "docs/api.md",
    "docs/architecture.md",
    "docs/deployment.md",
    "docs/mcp.md",
    "docs/security.md",
    "docs/subsystems/citations.md",
    "docs/subsystems/live-updates.md",
    "docs/subsystems/normalizer.md",
    "docs/subsystems/process-state.md",
    "docs/subsystems/redaction.md",
    "docs/subsystems/replay.md",
    "reasoning/RULES.md",
)
FOLDERS = "accounts|chat|config|deploy|docs|locale|packages|reasoning|static|templates|tests"


def test_settings_page_and_env_example_are_generated_from_the_schema():
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == settings_reference.settings_page()
    assert (ROOT / ".env.example").read_text(encoding="utf-8") == settings_reference.env_example()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_and_files_of_a_document_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text))
    paths = set(re.findall(rf"(?<![\w/.])((?:{FOLDERS})/[\w./@-]*\w/?)", text))
    links = {(ROOT / name).parent / link for link in re.findall(r"\]\(([^):#]+)(?:#[^)]*)?\)", text)}

    assert commands <= get_commands().keys()
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    assert [link for link in links if not link.exists()] == []


def test_every_module_with_state_of_its_process_is_on_the_page_of_it():
    page = (ROOT / "docs/subsystems/process-state.md").read_text(encoding="utf-8")
    signs = re.compile(
        r"lru_cache|@cache$|^\s+global |create_task\(|ensure_future\(|to_thread\(|Thread\(|\bThreadPoolExecutor\(|"
        r"^\w+(?:: [^=]+)? = (?:\w+\.)*(?:Weak\w+|Lock|Semaphore|Counter|defaultdict|ContextVar|local)\b[^|]*\(|"
        r": ClassVar\[(?:int|Weak\w+)|^[a-z_]+: (?:dict|set)\[.*\] = ",
        re.MULTILINE,
    )
    paths = [path for app in ("accounts", "chat", "config", "reasoning") for path in (ROOT / app).rglob("*.py")]
    holders = [path for path in paths if signs.search(path.read_text(encoding="utf-8"))]

    names = {path.relative_to(ROOT).as_posix() for path in holders if "migrations" not in path.parts}
    assert len(names) > 20
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_index_of_decisions_says_what_their_heads_say():
    folder = ROOT / "docs/decisions"
    head = r"# (\d{4}): (.+)\n\nDate: ([\d-]+)\. Status: ([a-z0-9 ]+)\.(?: Rule: (`product \d+`)\.)?\n"
    rows = re.findall(r"^\| \[\d{4}\].*", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)

    expected = []
    for path in sorted(folder.glob("0*.md")):
        found = re.match(head, path.read_text(encoding="utf-8"))
        assert found, path.name
        number, title, date, status, rule = found.groups()
        assert path.name.startswith(f"{number}-")
        expected.append(f"| [{number}]({path.name}) | {title} | {rule or '–'} | {date} | {status} |")
    assert rows == expected


def test_targets_that_readme_names_are_in_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", README, re.MULTILINE))
    named = {word for pair in named for word in pair if word}

    assert {"run", "test", "test-all", "cluster"} <= named
    assert named <= targets


def test_files_that_deployment_names_are_there():
    named = set(re.findall(r"`(deploy/[^`]+)`", DEPLOYMENT))

    assert {name for name in named if not (ROOT / name).is_file()} == set()
    assert "deploy/nginx.conf" in named
    assert "docs/deployment.md" in README


def test_proxy_takes_large_bodies_at_the_addresses_of_uploads_only():
    config = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    large, streamed = (
        re.findall(rf"location ~ (\S+) {{[^}}]*{option};", config)
        for option in ("client_max_body_size 52m", "proxy_request_buffering off")
    )
    (uploads,) = large
    chat = "/chats/6b1c0f0e-3a52-4f57-9d0b-0d5a2c0f6a11"

    assert streamed == large
    collection = "/documents/collections/6b1c0f0e-3a52-4f57-9d0b-0d5a2c0f6a11"
    documents = (f"{collection}/", f"/api{collection}/documents", f"/api{collection}/documents/")
    forms = (f"{chat}/attachments/", f"{chat}/messages/", *documents)
    for path in ("/data/import/", "/admin/filings/filing/add/", *forms):
        assert re.match(uploads, path)
        assert 3 * 1024**2 < limit_of(f"POST {path} HTTP/1.1\r\nCookie: sessionid=x\r\n\r\n".encode()) <= 52 * 1024**2
    for path in ("/", "/accounts/login/", f"{chat}/", f"/api{chat}/messages/"):
        assert not re.match(uploads, path)
        assert limit_of(f"POST {path} HTTP/1.1\r\nCookie: sessionid=x\r\n\r\n".encode()) <= 3 * 1024**2


def test_proxy_refuses_large_bodies_of_scripts_in_the_form_of_the_api():
    config = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    (page,) = re.findall(r"location /api/ {[^}]*error_page 413 (@\w+);", config)
    (body,) = re.findall(rf"location {page} {{.*\n +default_type application/json;\n +return 413 '(.*)';", config)

    assert json.loads(body)["error"]["code"] == "too_large"


def test_settings_that_documents_name_are_read():
    schema = {variable.name for variable in env.variables}
    security = (ROOT / "docs/security.md").read_text(encoding="utf-8")

    # OpenTelemetry reads its own.
    assert set(re.findall(r"`(?!OTEL_)([A-Z]+_[A-Z_]+)[=`]", DEPLOYMENT + security)) <= schema


def test_unit_files_start_what_there_is():
    started = [
        line for path in (ROOT / "deploy").glob("*.service") for line in re.findall(r"ExecStart=(.+)", path.read_text())
    ]

    assert sorted(line.partition("/.venv/bin/python ")[2] for line in started) == [
        "-m config.serve",
        "manage.py purge_thinking",
    ]


def test_nothing_that_a_unit_sets_is_taken_back_by_the_settings_file():
    """What systemd reads from ``EnvironmentFile=`` wins over ``Environment=``, and that file names every setting."""
    units = [path.read_text() for path in (ROOT / "deploy").glob("*.service")]

    assert [unit for unit in units if re.search(r"^Environment=", unit, re.MULTILINE)] == []
    assert any("ExecStart=/usr/bin/env PORT=%i " in unit for unit in units)


# `systemd-analyze security --offline=true deploy/legible@.service` says 1.5
def test_units_are_confined_alike():
    confined = {}
    for path in (ROOT / "deploy").glob("*.service"):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        start, end = lines.index("UMask=0077"), lines.index("SystemCallErrorNumber=EPERM")
        confined[path.name] = lines[start : end + 1]
        assert any(line.startswith("MemoryMax=") for line in lines)

    first, second = confined.values()
    assert first == second
    assert {"CapabilityBoundingSet=", "PrivateDevices=yes", "SystemCallFilter=@system-service"} <= set(first)
    filters = [line for line in first if line.startswith("SystemCallFilter=")]
    # by which chat.processes limits its memory and lowers its priority
    assert filters[-1] == "SystemCallFilter=prlimit64 setpriority setrlimit"
