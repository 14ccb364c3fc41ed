"""A backup, restored as docs/deployment.md says: the audit is silent and conversations are readable."""

import json
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from deploy.local_services import find_program
from tests.server import empty_database, environment_in, manage, prepare_database, run_python

# Reads as the demo user, in a process that uses the restored database.
READ = """
import json, re, django
django.setup()
from django.test import Client
from accounts.models import User
from chat.models import Turn
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="demo"))
turn = Turn.objects.get(conversation__owner__username="demo", number=1)
page = client.get(f"/chats/{turn.conversation_id}/?open={turn.public_id}")
link = re.search("/s/[^/]+/", client.get("/shares/").content.decode())[0]
shared = Client(SERVER_NAME="localhost").get(link).status_code
print(json.dumps({"status": page.status_code, "page": page.content.decode(), "shared": shared}))
"""
SHARE = """
import django
django.setup()
from chat.models import Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link
conversation = Turn.objects.get(conversation__owner__username="demo", number=1).conversation
create_link(conversation.owner, conversation, Choice(), days=None)
"""


# Restoring a backup
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_restored_site_is_whole(tmp_path, engine):
    backup_of = {"sqlite": sqlite_backup, "postgres": postgres_backup}[engine]
    with backup_of(tmp_path) as (url, restore):
        environment = environment_in(tmp_path, DJANGO_SETTINGS_MODULE="config.settings", DATABASE_URL=url)
        prepare_database(environment)
        run_python(environment, "-c", SHARE)
        environment["DATABASE_URL"] = restore()

        manage(environment, "migrate", "--no-input", "--verbosity", "0")

        assert manage(environment, "audit_storage") == "Nothing found.\n"
        found = json.loads(run_python(environment, "-c", READ).splitlines()[-1])
        assert found["status"] == found["shared"] == 200
        assert "data-ai-reasoning" in found["page"]


@contextmanager
def sqlite_backup(folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the URL of a new database, and what restores a backup of it and returns the URL of that."""
    original, restored = folder / "legible.sqlite3", folder / "restored.sqlite3"

    def restore() -> str:
        # as `sqlite3 FILE .backup` does
        with closing(sqlite3.connect(original)) as source, closing(sqlite3.connect(restored)) as target:
            source.backup(target)
        return f"sqlite:///{restored}"

    yield f"sqlite:///{original}", restore


@contextmanager
def postgres_backup(folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """As above. The tools are those of the server's Debian package."""

    def run(program: str, *arguments: str) -> None:
        subprocess.run([str(find_program(program)), *arguments], check=True, capture_output=True)  # noqa: S603

    def restore() -> str:
        run("pg_dump", "--format=custom", f"--file={folder / 'backup.dump'}", original)
        run("pg_restore", "--no-owner", "--exit-on-error", "--dbname", restored, str(folder / "backup.dump"))
        return restored

    with empty_database("original") as original, empty_database("restored") as restored:
        yield original, restore
