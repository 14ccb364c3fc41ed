"""``config.settings`` and the reading of the environment."""

import base64
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat.tools import registry
from config.settings import env

ROOT = Path(__file__).resolve().parent.parent
ReadSettings = Callable[..., dict[str, Any]]


ALLOWED_TOOLS = f"{', '.join(registry())}, with commas between"


@pytest.fixture
def read_settings(monkeypatch):
    """Return a function that executes ``config.settings`` with nothing but these variables set."""

    def read(**variables):
        for variable in env.variables:
            monkeypatch.delenv(variable.name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "config" / "settings.py"))

    return read


@pytest.mark.parametrize("entry", [("manage.py", "check"), ("-m", "config.serve"), ("-c", "import config.settings")])
def test_invalid_value_stops_every_entry_with_one_line(entry):
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, "SIGNUP_ENABLED": "maybe"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, *entry], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr == "SIGNUP_ENABLED: 'maybe' is not allowed; allowed: true or false\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("OPENAI_API", "assistants", "chat or responses"),
        ("PORT", "80000", "a whole number from 0 to 65535"),
        ("PORT", "-1", "a whole number from 0 to 65535"),
        ("MAX_STEPS", "٣", "a whole number from 1 to 100"),
        ("COMPACTION_THRESHOLD", "1.2", "a number above 0, at most 1"),
        *(
            ("COMPACTION_THRESHOLD", text, "a number above 0, at most 1")
            for text in ("nan", "٠.٥", "5e-1", "0_0.5", "+.5")
        ),
        *(("MAX_STEPS", text, "a whole number from 1 to 100") for text in ("1_0", "+5", "5.0", "0x5")),
        ("THINKING_RETENTION_DAYS", "forever", "a whole number from 1 to 36500, or nothing"),
        ("DEBUG", "true\nmaybe", "true or false"),
        (
            "TOOLS_REQUIRING_APPROVAL",
            "readPassage,fly",
            ALLOWED_TOOLS,
        ),
        ("LEASE_EXPIRY_S", "5", "more than LEASE_HEARTBEAT_S, which is 5"),
        *(
            ("ALLOWED_HOSTS", text, "names of hosts without scheme, port and path, with commas between")
            for text in ("https://chat.example.com", "chat.example.com:8443", "a.example b.example", "localhost,a/b")
        ),
        *(
            ("SAFE_LINK_HOSTS", text, "names of hosts without scheme, port, path and wildcards, with commas between")
            for text in ("https://sec.gov", "*", "*.sec.gov", ".sec.gov", "sec.gov:443", "sec.gov,www.sec.gov/x")
        ),
    ],
)
def test_error_names_the_variable_its_value_and_what_is_allowed(read_settings, name, value, allowed, capsys):
    with pytest.raises(SystemExit) as stop:
        read_settings(**{name: value})

    assert stop.value.code == 2
    assert capsys.readouterr().err == f"{name}: {value!r} is not allowed; allowed: {allowed}\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://root:hunter2@db/legible"),
        ("DATABASE_URL", "postgres://root:hunter2@db"),
        ("DATABASE_URL", "postgres://root:hunter2@db/"),
        ("DATABASE_URL", "sqlite://hunter2.sqlite3"),
        ("DATABASE_URL", "sqlite://:memory:"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "postgres://root:hunter2@db/legible?conn_max_age=0&pool=true"),
        ("REDIS_URL", "http://:hunter2@cache"),
        ("REDIS_URL", "redis://:hunter2@cache/zero"),
        ("REDIS_URL", "redis://:hunter2@cache/0?ssl_cert_reqs=none"),
        ("REDIS_URL", "redis://:hunter2@cache/0?socket_timeout=long"),
        ("REDIS_URL", "unix:///run/redis.sock?socket_keepalive=true&password=hunter2"),
        ("CONTENT_KEYS", f"{base64.urlsafe_b64encode(bytes(32)).decode()},hunter2"),
        ("OPENAI_BASE_URL", "https://user:hunter2@example.com/v1"),
        ("OPENAI_BASE_URL", "https://example.com/v1?key=hunter2"),
        ("OPENAI_BASE_URL", "ftp://hunter2"),
        ("OPENAI_BASE_URL", "http://hunter2:99999/v1"),
        ("OPENAI_BASE_URL", "http://hunter2 .example/v1"),
        ("MODEL_KEYS", "sk-hunter2@api.openai.com"),
        ("MODEL_KEYS", "HUNTER_KEY=hunter2"),
        ("MODEL_KEYS", "TEAM_KEY@*"),
        ("MODEL_KEYS", "TEAM_KEY@*.hunter2.example"),
        ("MODEL_KEYS", "TEAM_KEY@https://hunter2.example"),
        ("MODEL_KEYS", "TEAM_KEY@hunter2.example:99999"),
        ("MODEL_KEYS", "TEAM_KEY@"),
        ("MODEL_KEYS", "TEAM_KEY"),
    ],
)
def test_error_never_prints_the_value_of_a_secret(read_settings, name, value, capsys):
    with pytest.raises(SystemExit):
        read_settings(**{name: value})

    line = capsys.readouterr().err
    assert line.startswith(f"{name}: (not shown) is not allowed; allowed: ")
    assert "hunter2" not in line


@pytest.mark.parametrize("character", ["/", "#", "?"])
def test_password_that_needs_an_escape_is_explained(read_settings, character, capsys):
    with pytest.raises(SystemExit):
        read_settings(DATABASE_URL=f"postgres://legible:hunter2{character}x@db/legible")
    escape = f"%{ord(character):02X}"
    assert escape in capsys.readouterr().err

    found = read_settings(DATABASE_URL=f"postgres://legible:hunter2{escape}x@db/legible")

    assert found["DATABASES"]["default"]["PASSWORD"] == f"hunter2{character}x"


@pytest.mark.parametrize("name", ["SECRET_KEY", "CONTENT_KEYS", "DATABASE_URL", "MODEL_KEYS"])
def test_own_secrets_are_bound_to_no_host(read_settings, name, capsys):
    with pytest.raises(SystemExit):
        read_settings(MODEL_KEYS=f"{name}@evil.example")

    assert capsys.readouterr().err == f"MODEL_KEYS: '{name}' is not allowed; allowed: none of this server's own\n"


@pytest.mark.parametrize(
    ("variables", "host"),
    [
        ({}, "api.openai.com:443"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, "127.0.0.1:11434"),
        ({"OPENAI_BASE_URL": "http://[::1]/v1"}, "[::1]:80"),
    ],
)
def test_own_key_belongs_to_the_configured_host(read_settings, variables, host):
    keys = read_settings(OPENAI_API_KEY="k", **variables)["MODEL_KEYS"]

    assert keys.hosts_of("OPENAI_API_KEY") == (host,)
    assert keys.get("OPENAI_API_KEY", f"http://{host}/v1") == "k"
    assert keys.get("OPENAI_API_KEY", "http://evil.example/v1") == ""


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "TEAM_KEY"])
@pytest.mark.parametrize("value", ["“hunter2”", "hunter2\nOPENAI_MODEL=m", "hunter2…"])
def test_key_that_no_request_can_carry_stops_the_start(read_settings, name, value, capsys, monkeypatch):
    monkeypatch.setenv("TEAM_KEY", "k")

    with pytest.raises(SystemExit):
        read_settings(MODEL_KEYS="TEAM_KEY@model.example", **{name: value})

    assert capsys.readouterr().err == f"{name}: (not shown) is not allowed; allowed: ASCII characters in one line\n"


def test_malformed_line_of_the_file_is_named_by_its_number(read_settings, tmp_path, capsys):
    (tmp_path / "odd").write_text("# a remark\n\nexport DEBUG=false\nOPENAI_API_KEY = sk-hunter2\n")

    with pytest.raises(SystemExit):
        read_settings(ENV_FILE=str(tmp_path / "odd"))

    line = capsys.readouterr().err
    assert "line 4 (not shown)" in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    "line",
    [
        "DEMO_PASSWORD=hunter2 # of the demo",
        "DEMO_PASSWORD='hunter2'\t# of the demo",
        "DEMO_PASSWORD= # hunter2",
        'A="b" c #',
    ],
)
def test_remark_behind_a_value_is_refused(read_settings, tmp_path, capsys, line):
    (tmp_path / "env").write_text(f"DEBUG=false\n{line}\n")

    with pytest.raises(SystemExit):
        read_settings(ENV_FILE=str(tmp_path / "env"))

    said = capsys.readouterr().err
    assert "line 2 (not shown)" in said
    assert "in quotation marks" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("DEMO_PASSWORD='a #b'", "a #b"),
        ('DEMO_PASSWORD="a #b"', "a #b"),
        ("DEMO_PASSWORD=a#b", "a#b"),
        ("DEMO_PASSWORD=#b", "#b"),
        ("DEMO_PASSWORD='ab'  \r", "ab"),
        ("\ufeffDEMO_PASSWORD=ab", "ab"),
    ],
)
def test_value_of_the_file_is_read_as_systemd_and_a_shell_read_it(read_settings, tmp_path, line, value):
    (tmp_path / "env").write_text(f"{line}\n", encoding="utf-8", newline="")

    assert read_settings(ENV_FILE=str(tmp_path / "env"))["DEMO_PASSWORD"] == value


def test_indented_remark_is_not_logged(read_settings, tmp_path, caplog, capsys):
    (tmp_path / "env").write_text("   # OPENAI_API_KEY=sk-hunter2\nPORT=8111\n")

    assert read_settings(ENV_FILE=str(tmp_path / "env"))["PORT"] == 8111
    assert "hunter2" not in caplog.text + capsys.readouterr().err


def test_environment_wins_over_the_file_and_an_empty_value_means_the_default(read_settings, tmp_path):
    (tmp_path / "env").write_text("PORT=8111\nMAX_STEPS=3\nTOOL_TIMEOUT_S=\nOPENAI_API_KEY=hunter2\n")

    found = read_settings(ENV_FILE=str(tmp_path / "env"), PORT="8222")

    assert [found[name] for name in ("PORT", "MAX_STEPS", "TOOL_TIMEOUT_S")] == [8222, 3, 30]
    assert found["OPENAI_API_KEY"] == "hunter2"
    assert "OPENAI_API_KEY" not in os.environ, "child processes inherit the file's secrets"


@pytest.mark.parametrize(
    ("variables", "key", "base_url", "model"),
    [
        ({}, None, None, None),
        ({"OPENAI_MODEL": "small"}, None, None, None),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1/"}, "none", "http://127.0.0.1:1/v1", None),
        ({"OPENAI_API_KEY": "k"}, "k", "https://api.openai.com/v1", "gpt-5-mini"),
        ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "big"}, "k", "https://api.openai.com/v1", "big"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://h/v1"}, "k", "http://h/v1", None),
    ],
)
def test_one_variable_connects_a_model(read_settings, variables, key, base_url, model):
    found = read_settings(**variables)

    assert (found["OPENAI_API_KEY"], found["OPENAI_BASE_URL"], found["OPENAI_MODEL"]) == (key, base_url, model)
    assert found["DEFAULT_OPENAI_MODEL"] in (ROOT / ".env.example").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("hosts", "is_secure"),
    [
        ("localhost,127.0.0.1,[::1]", False),
        ("chat.example.com", True),
        ("localhost,chat.example.com", True),
        ("*", True),
    ],
)
def test_cookies_need_https_unless_the_site_is_local(read_settings, hosts, is_secure):
    assert read_settings(ALLOWED_HOSTS=hosts)["SESSION_COOKIE_SECURE"] is is_secure


def test_hosts_of_links_are_read_as_links_have_them(read_settings):
    found = read_settings(SAFE_LINK_HOSTS="SEC.gov, bücher.example, ::1")

    assert found["SAFE_LINK_HOSTS"] == ["sec.gov", "xn--bcher-kva.example", "[::1]"]


def test_https_of_the_proxy_is_believed_only_where_the_site_says_so(read_settings):
    assert "SECURE_PROXY_SSL_HEADER" not in read_settings(ALLOWED_HOSTS="chat.example.com")

    found = read_settings(ALLOWED_HOSTS="chat.example.com", BEHIND_HTTPS_PROXY="true")

    assert found["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_FORWARDED_PROTO", "https")
    assert found["SESSION_COOKIE_SECURE"]
    assert found["SECURE_HSTS_SECONDS"] > 0


def test_cache_in_redis_stores_no_pickles(read_settings):
    cache = read_settings(REDIS_URL="redis://127.0.0.1/0")["CACHES"]["default"]

    assert cache["OPTIONS"]["serializer"] == "config.cache.JsonSerializer"


def test_messages_in_redis_are_encrypted(read_settings):
    layer = read_settings(REDIS_URL="redis://127.0.0.1/0", SECRET_KEY="s3cret")["CHANNEL_LAYERS"]["default"]

    assert layer["BACKEND"].endswith("RedisPubSubChannelLayer")
    assert layer["CONFIG"]["symmetric_encryption_keys"] == ["s3cret"]


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1/0?health_check_interval=30",
        "rediss://cache:6380/1?ssl_cert_reqs=none",
        "unix:///run/redis.sock",
    ],
)
def test_address_of_redis_may_have_options(read_settings, url):
    assert read_settings(REDIS_URL=url)["REDIS_URL"] == url


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("effort=lots", "reasoning.effort: 'lots' is not allowed; 'none', "),
        ("format=field,reasoning.format=xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only"),
        ("colour=red", "colour: no such setting; there are reasoning.enabled, "),
        ("enabled", "reasoning.enabled: '' is not allowed; true or false"),
    ],
)
def test_invalid_reasoning_default_names_what_is_allowed(read_settings, text, error, capsys):
    with pytest.raises(SystemExit):
        read_settings(REASONING_DEFAULTS=text)

    line = capsys.readouterr().err
    assert line.startswith(f"REASONING_DEFAULTS: {error}")
    assert line.count("\n") == 1


def test_reasoning_defaults_may_omit_the_prefix(read_settings):
    found = read_settings(REASONING_DEFAULTS="effort=low, reasoning.stripFromContext=allButLast")["REASONING_DEFAULTS"]

    assert found == {"reasoning.effort": "low", "reasoning.stripFromContext": "allButLast"}
