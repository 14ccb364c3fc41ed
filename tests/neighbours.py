"""Run this version and the one before it on one database: ``python -m tests.neighbours``.

During an upgrade processes of both share a database that the new one has migrated. Each asks there, and each reads what
both have written. PostgreSQL where ``TEST_DATABASE_URL`` is set, otherwise SQLite, one process at a time.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from tests.server import PREPARE, ROOT, empty_database, environment_in

PREVIOUS = "da5540f"  # the last commit of 0.2.0
ASK = """
import django
django.setup()
from accounts.models import User
from chat.management.commands.seed_demo import make_conversation
make_conversation(User.objects.get(username="demo"))
"""
READ = """
import json, django
django.setup()
from django.test import Client
from accounts.models import User
from chat.models import Conversation
client = Client(SERVER_NAME="localhost")
client.force_login(User.objects.get(username="demo"))
found = {}
for each in Conversation.objects.order_by("pk"):
    question, answer = client.get(f"/api/chats/{each.pk}/messages/").json()
    found[str(each.pk)] = [client.get(f"/chats/{each.pk}/").status_code, answer["answer"]]
print(json.dumps(found))
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="legible-neighbours-") as name:
        folder = Path(name)
        old = folder / "previous"
        archive = subprocess.run(  # noqa: S603
            ["git", "archive", "--output", str(folder / "previous.tar"), PREVIOUS],  # noqa: S607
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if archive.returncode:
            # A shallow clone, or a source archive, lacks the history.
            print(f"Not run: {archive.stderr.strip()}")
            return
        with tarfile.open(folder / "previous.tar") as tar:
            tar.extractall(old, filter="data")
        shared = empty_database("neighbours") if os.environ.get("TEST_DATABASE_URL") else nullcontext(None)
        with shared as url:
            environment = environment_in(folder, DJANGO_SETTINGS_MODULE="config.settings")
            share(old, environment | ({"DATABASE_URL": url} if url else {}))
    print("Both versions can use one database.")


def share(old: Path, environment: Mapping[str, str]) -> None:
    """Fill a database with the old version, migrate it with the new one, and use it with both."""
    run(old, environment, PREPARE)
    run(ROOT, environment, PREPARE)
    run(old, environment, ASK)
    run(ROOT, environment, ASK)
    read_by_old, read_by_new = (json.loads(run(tree, environment, READ).splitlines()[-1]) for tree in (old, ROOT))
    assert len(read_by_new) == 3, read_by_new
    assert all(status == 200 and answer for status, answer in read_by_new.values()), read_by_new
    assert read_by_old == read_by_new


def run(tree: Path, environment: Mapping[str, str], code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
