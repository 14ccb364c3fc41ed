from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config import environment as env
from config.settings import SCHEMA

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / ".env.example"


def _python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "ENV_FILE": os.devnull, **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def _setting(expression: str, **variables: str) -> str:
    done = _python("-c", f"from config import settings; print({expression})", **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("entry", [("manage.py", "check"), ("-m", "config.serve"), ("-c", "import config.settings")])
def test_value_that_is_not_allowed_stops_the_start_with_one_line(entry: tuple[str, ...]) -> None:
    done = _python(*entry, SIGNUP_ENABLED="maybe")

    assert done.returncode == 2
    assert done.stderr == "SIGNUP_ENABLED: 'maybe' is not allowed; allowed: true or false\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("OPENAI_API", "assistants", "chat or responses"),
        ("REASONING_THINKING_FOR_USERS", "some", "excerpt or full or hidden"),
        ("PORT", "80000", "a whole number from 0 to 65535"),
        ("PORT", "-1", "a whole number from 0 to 65535"),
        ("MAX_STEPS", "0", "a whole number from 1 to 100"),
        ("MAX_STEPS", "٣", "a whole number from 1 to 100"),
        ("COMPACTION_THRESHOLD", "1.2", "a number above 0, at most 1"),
        ("COMPACTION_THRESHOLD", "nan", "a number above 0, at most 1"),
        ("THINKING_RETENTION_DAYS", "forever", "a whole number from 1 to 36500, or nothing"),
        ("DEBUG", "true\nmaybe", "true or false"),
    ],
)
def test_line_names_variable_value_and_what_is_allowed(
    name: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    variable = next(each for each in SCHEMA if each.name == name)

    with pytest.raises(SystemExit) as stop:
        env._value(variable, {name: value})

    line = capsys.readouterr().err
    assert stop.value.code == 2
    assert line.count("\n") == 1
    assert line.startswith(f"{name}: {value!r} is not allowed")
    assert line.endswith(f"allowed: {allowed}\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://root:hunter2@db/legible"),
        ("REDIS_URL", "http://:hunter2@cache"),
        ("CONTENT_KEYS", "hunter2"),
        ("CONTENT_KEYS", f"{base64.urlsafe_b64encode(bytes(32)).decode()},hunter2"),
        ("OPENAI_BASE_URL", "https://user:hunter2@example.com/v1"),
        ("OPENAI_BASE_URL", "https://example.com/v1?key=hunter2"),
        ("OPENAI_BASE_URL", "ftp://hunter2"),
        ("OPENAI_BASE_URL", "http://hunter2:99999/v1"),
    ],
)
def test_value_of_a_secret_is_not_printed(name: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    variable = next(each for each in SCHEMA if each.name == name)

    with pytest.raises(SystemExit):
        env._value(variable, {name: value})

    line = capsys.readouterr().err
    assert line.startswith(f"{name}: (not shown) is not allowed; allowed: ")
    assert "hunter2" not in line


def test_line_of_the_file_that_cannot_be_read_is_named_by_number_alone(tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("# a remark\n\nexport DEBUG=false\nOPENAI_API_KEY = sk-hunter2\n")

    done = _python("-c", "import config.settings", ENV_FILE=str(tmp_path / "odd"))

    assert done.returncode == 2
    assert "line 4 (not shown)" in done.stderr
    assert "hunter2" not in done.stderr


def test_environment_wins_over_the_file_and_empty_means_default(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("PORT=8111\nMAX_STEPS=3\nTOOL_TIMEOUT_S=\n")

    values = _setting(
        "(S.PORT, S.MAX_STEPS, S.TOOL_TIMEOUT_S)".replace("S.", "settings."),
        ENV_FILE=str(tmp_path / "env"),
        PORT="8222",
    )

    assert values == "(8222, 3, 30)"


def test_file_does_not_reach_the_environment_of_child_processes(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("OPENAI_API_KEY=hunter2\n")

    assert _setting("__import__('os').environ.get('OPENAI_API_KEY')", ENV_FILE=str(tmp_path / "env")) == "None"


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
def test_one_line_connects_a_real_model(
    variables: dict[str, str], key: str | None, base_url: str | None, model: str | None
) -> None:
    found = _setting("(settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, settings.OPENAI_MODEL)", **variables)

    assert found == str((key, base_url, model))


def test_default_model_is_the_one_that_the_example_names() -> None:
    assert _setting("settings.DEFAULT_OPENAI_MODEL") in EXAMPLE.read_text(encoding="utf-8")


def test_example_lists_every_setting_with_its_default() -> None:
    listed = dict(re.findall(r"^([A-Z_]+)=(.*)$", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE))

    assert listed == {variable.name: variable.default for variable in SCHEMA}


@pytest.mark.parametrize(
    ("hosts", "secure"),
    [
        ("localhost,127.0.0.1,[::1]", False),
        ("chat.example.com", True),
        ("localhost,chat.example.com", True),
        ("*", True),
    ],
)
def test_cookies_are_secure_wherever_other_machines_come(hosts: str, secure: bool) -> None:
    assert _setting("settings.SESSION_COOKIE_SECURE", ALLOWED_HOSTS=hosts) == str(secure)


def test_redis_carries_only_encrypted_messages() -> None:
    found = _setting("settings.CHANNEL_LAYERS['default']", REDIS_URL="redis://127.0.0.1/0", SECRET_KEY="s3cret")

    assert "RedisPubSubChannelLayer" in found
    assert "'symmetric_encryption_keys': ['s3cret']" in found


def test_lease_must_outlive_its_heartbeat() -> None:
    done = _python("-c", "import config.settings", LEASE_HEARTBEAT_S="20", LEASE_EXPIRY_S="20")

    assert done.returncode == 2
    assert done.stderr.startswith("LEASE_EXPIRY_S: '20' is not allowed; allowed: more than LEASE_HEARTBEAT_S")


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("effort=lots", "reasoning.effort: 'lots' is not allowed; 'none', "),
        ("format=field,reasoning.format=xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only"),
        ("colour=red", "colour: no such setting; there are reasoning.enabled, "),
        ("enabled", "reasoning.enabled: '' is not allowed; true or false"),
    ],
)
def test_default_that_is_not_allowed_stops_the_start_and_says_what_is(text: str, said: str) -> None:
    done = _python("-c", "import config.settings", REASONING_DEFAULTS=text)

    assert done.returncode == 2
    assert done.stderr.startswith(f"REASONING_DEFAULTS: {said}")
    assert done.stderr.count("\n") == 1


def test_defaults_of_the_site_may_leave_the_prefix_out() -> None:
    found = _setting(
        "settings.REASONING_DEFAULTS", REASONING_DEFAULTS="effort=low, reasoning.stripFromContext=allButLast"
    )

    assert found == "{'reasoning.effort': 'low', 'reasoning.stripFromContext': 'allButLast'}"
