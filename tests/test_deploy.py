"""The example files for operators agree with the settings, and keep a container's bounds."""

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.cluster import NGINX_CONFIG

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
ENV_EXAMPLE = (DEPLOY.parent / ".env.example").read_text(encoding="utf-8")
SETTINGS = set(re.findall(r"^([A-Z_]+)=", ENV_EXAMPLE, re.MULTILINE))


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def names_set() -> dict[str, set[str]]:
    values = read("helm-values.yaml")["controllers"]["main"]["containers"]["main"]
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    return {
        "compose.site.yaml": set(read("compose.site.yaml")["services"]["legible"]["environment"]),
        "helm-values.yaml": set(values["env"]),
        "Dockerfile": set(re.findall(r"\b([A-Z_]+)=", re.search(r"^ENV .*", image, re.MULTILINE)[0])),
    }


def test_image_can_back_up_the_database_of_the_site():
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    server = read("compose.site.yaml")["services"]["postgres"]["image"]

    client = re.search(r"apt-get install .*\bpostgresql-client-([0-9]+)\b", image)
    assert client, "pg_dump and pg_restore are missing"
    assert server == f"postgres:{client[1]}"


def test_pods_that_start_at_once_migrate_one_after_the_other():
    containers = read("helm-values.yaml")["controllers"]["main"]["initContainers"]

    assert containers["migrate"]["args"] == ["manage", "prepare"]


def test_any_password_of_the_database_serves_a_site_of_containers():
    service = read("compose.site.yaml")["services"]["legible"]["environment"]

    # In an address "/", "#" and "?" would end it there, and "%" begins an escape.
    assert "POSTGRES_PASSWORD" not in service["DATABASE_URL"]
    assert "POSTGRES_PASSWORD" in service["PGPASSWORD"]


@pytest.mark.parametrize("name", ["compose.site.yaml", "helm-values.yaml", "Dockerfile"])
def test_only_known_settings_are_set_and_no_secrets(name):
    of_the_platform = {"PATH", "PGPASSWORD", "LEGIBLE_DATA", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}

    assert names_set()[name] - of_the_platform - SETTINGS == set()
    assert {"SECRET_KEY", "CONTENT_KEYS", "OPENAI_API_KEY"} & names_set()[name] == set()


def test_container_runs_as_an_ordinary_user_and_writes_nothing_but_data():
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    service = read("compose.site.yaml")["services"]["legible"]

    assert re.search(r"^ARG PYTHON_IMAGE=python:[\w.-]+-slim[\w-]*@sha256:[0-9a-f]{64}$", image, re.MULTILINE)
    assert re.search(r"^USER (?!root\b|0\b)\w+$", image, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", image, re.MULTILINE)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["volumes"] == ["data:/data"]
    main = read("helm-values.yaml")["controllers"]["main"]
    assert main["pod"]["securityContext"]["runAsNonRoot"] is True
    assert main["containers"]["main"]["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize(
    ("hosts", "prefix", "host", "path"),
    [
        ("", "", "localhost", "/healthz"),
        ("chat.example.com, localhost", "", "chat.example.com", "/healthz"),
        (".example.com", "/chat/", "example.com", "/chat/healthz"),
        ("*", "", "localhost", "/healthz"),
    ],
)
@pytest.mark.parametrize("is_in_file", [False, True])
def test_container_asks_for_its_health_where_the_server_answers(hosts, prefix, host, path, is_in_file, tmp_path):
    asked = []
    configured = {"ALLOWED_HOSTS": hosts, "URL_PREFIX": prefix}
    if is_in_file:
        lines = [f"{name}={value}\n" for name, value in configured.items()]
        (tmp_path / ".env").write_text("".join(lines), encoding="utf-8")

    class Health(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.headers["Host"], self.path))
            self.send_response(200)
            self.end_headers()

    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    _python, *arguments = json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", image, re.MULTILINE)[1])
    with HTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.handle_request).start()
        environment = {"PORT": str(server.server_port), "LEGIBLE_DATA": str(tmp_path)}
        environment |= {} if is_in_file else configured
        environment["http_proxy"] = "http://127.0.0.1:1"  # for model services
        subprocess.run([sys.executable, *arguments], env=environment, check=True, timeout=60)  # noqa: S603 - our own

    assert asked == [(host, path)]


def test_proxies_let_the_largest_upload_pass_and_hide_the_metrics():
    caddy = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")

    assert "max_size 52MB" in caddy
    assert "client_max_body_size 52m;" in NGINX_CONFIG
    assert "respond /metrics 404" in caddy
