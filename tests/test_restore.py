"""A backup, restored as docs/deployment.md says: whole, of one moment, and refused before anything is written."""

import gzip
import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.server import ROOT, empty_database, environment_in, manage, prepare_database, run_python

DATA = Path(__file__).resolve().parent / "data"
FIRST_KEY = "Zmlyc3QtdmVyc2lvbi1maXh0dXJlLWtleS0wMDAwMDA="

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
# Writes until a line comes, and prints the number of rows.
WRITE = """
import select, sys
import django
django.setup()
from django.db import transaction
from accounts.models import User
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    with transaction.atomic():
        for half in ("first", "second"):
            User.objects.create(username=f"{number}-{half}")
    number += 1
    if number == 1:
        print("writing", flush=True)
print(2 * number)
"""
NAMES = """
import json
import django
django.setup()
from accounts.models import User
print(json.dumps(list(User.objects.values_list("username", flat=True))))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def databases(request, tmp_path):
    """Return the addresses of two empty databases on one engine."""
    if request.param == "sqlite":
        (tmp_path / "restored").mkdir()
        yield f"sqlite:///{tmp_path / 'legible.sqlite3'}", f"sqlite:///{tmp_path / 'restored' / 'legible.sqlite3'}"
    else:
        with empty_database("original") as original, empty_database("restored") as restored:
            yield original, restored


@pytest.mark.slow
def test_restored_site_is_whole(tmp_path, databases):
    environment = environment_in(tmp_path, DJANGO_SETTINGS_MODULE="config.settings", DATABASE_URL=databases[0])
    prepare_database(environment)
    run_python(environment, "-c", SHARE)
    manage(environment, "backup", str(tmp_path / "backup"))
    environment["DATABASE_URL"] = databases[1]

    manage(environment, "restore", str(tmp_path / "backup"))

    assert manage(environment, "audit_storage") == "Nothing found.\n"
    found = json.loads(run_python(environment, "-c", READ).splitlines()[-1])
    assert found["status"] == found["shared"] == 200
    assert "data-ai-reasoning" in found["page"]


# Rows are written in pairs, each pair in one transaction: a snapshot has both or neither.
@pytest.mark.slow
def test_backup_under_writes_is_one_moment(tmp_path, databases):
    environment = environment_in(tmp_path, DJANGO_SETTINGS_MODULE="config.settings", DATABASE_URL=databases[0])
    manage(environment, "migrate", "--verbosity", "0")
    writer = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", WRITE],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert writer.stdout.readline()  # it writes from now on
        manage(environment, "backup", str(tmp_path / "backup"))
    finally:
        written, _error = writer.communicate("stop\n", timeout=60)
    environment["DATABASE_URL"] = databases[1]
    manage(environment, "restore", str(tmp_path / "backup"))

    names = set(json.loads(run_python(environment, "-c", NAMES)))

    assert 2 <= len(names) < int(written)
    assert {name.partition("-")[0] for name in names} == {str(number) for number in range(len(names) // 2)}
    assert len(names) % 2 == 0


@pytest.fixture(scope="module")
def old_backup(tmp_path_factory):
    """Return a folder with a database that the first version wrote, and a backup of it."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "legible.sqlite3").write_bytes(gzip.decompress((DATA / "first_version.db.gz").read_bytes()))
    environment = environment_in(folder, CONTENT_KEYS=FIRST_KEY, DJANGO_SETTINGS_MODULE="config.settings")
    manage(environment, "backup", str(folder / "backup"))
    return folder


@pytest.fixture
def site(old_backup, tmp_path):
    """Return the environment of an empty folder beside copies of the old database and its backup."""
    shutil.copytree(old_backup, tmp_path, dirs_exist_ok=True)
    environment = environment_in(tmp_path, CONTENT_KEYS=FIRST_KEY, DJANGO_SETTINGS_MODULE="config.settings")
    (tmp_path / "empty").mkdir()
    return environment | {"DATABASE_URL": f"sqlite:///{tmp_path / 'empty' / 'legible.sqlite3'}"}


@pytest.mark.slow
def test_old_backup_is_migrated(site, tmp_path):
    manage(site, "restore", str(tmp_path / "backup"))

    manage(site, "migrate", "--check")
    with closing(sqlite3.connect(tmp_path / "legible.sqlite3")) as old:
        turns = old.execute("SELECT count(*) FROM chat_turn").fetchone()
    with closing(sqlite3.connect(tmp_path / "empty" / "legible.sqlite3")) as new:
        assert new.execute("SELECT count(*) FROM chat_turn").fetchone() == turns
    assert turns > (0,)


def test_archive_has_no_key(site, tmp_path):
    with tarfile.open(tmp_path / "backup") as archive:
        content = b"".join(archive.extractfile(member).read() for member in archive)

    assert b'"keys":["' in content
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0
    assert not [value for name in ("CONTENT_KEYS", "SECRET_KEY") if (value := site[name].encode()) in content]


def other_key(site: dict[str, str], _backup: Path) -> None:
    site["CONTENT_KEYS"] = Fernet.generate_key().decode()


def cut_short(_site: dict[str, str], backup: Path) -> None:
    backup.write_bytes(backup.read_bytes()[:-20_000])


def another_file(_site: dict[str, str], backup: Path) -> None:
    backup.write_text("not an archive")


def no_file(_site: dict[str, str], backup: Path) -> None:
    backup.unlink()


def of_later_version(_site: dict[str, str], backup: Path) -> None:
    rewrite(backup, lambda text: text.replace(b'"chat.0001_initial"', b'"chat.9999_later"'))


def with_other_database(_site: dict[str, str], backup: Path) -> None:
    rewrite(backup, lambda text: re.sub(rb'"sha256":"....', b'"sha256":"0000', text))


def rewrite(backup: Path, change: Callable[[bytes], bytes]) -> None:
    with tarfile.open(backup) as archive:
        parts = [(member.name, archive.extractfile(member).read()) for member in archive]
    with tarfile.open(backup, "w:gz") as archive:
        for name, content in parts:
            member = tarfile.TarInfo(name)
            changed = change(content) if name == "manifest.json" else content
            member.size = len(changed)
            archive.addfile(member, io.BytesIO(changed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (other_key, "CONTENT_KEYS lacks the keys with the fingerprints"),
        (cut_short, "is no backup of Legible, or it is damaged"),
        (another_file, "is no backup of Legible, or it is damaged"),
        (no_file, "No such file or directory"),
        (of_later_version, "was written by a newer version"),
        (with_other_database, "is damaged: its database is not the one"),
    ],
)
def test_refused_backup_writes_nothing(site, tmp_path, fault, message):
    fault(site, tmp_path / "backup")

    done = refused(site, "restore", str(tmp_path / "backup"))

    assert message in done
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.slow
def test_missing_keys_can_be_accepted(site, tmp_path):
    other_key(site, tmp_path / "backup")

    manage(site, "restore", "--without-keys", str(tmp_path / "backup"))

    manage(site, "migrate", "--check")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_existing_database_is_left_alone(site, tmp_path, suffix):
    path = tmp_path / "empty" / f"legible.sqlite3{suffix}"
    path.write_bytes(b"a database")

    assert f"{path} exists already" in refused(site, "restore", str(tmp_path / "backup"))
    assert path.read_bytes() == b"a database"


def test_existing_archive_is_left_alone(site, tmp_path):
    before = (tmp_path / "backup").read_bytes()
    environment = site | {"DATABASE_URL": f"sqlite:///{tmp_path / 'legible.sqlite3'}"}

    assert "exists already" in refused(environment, "backup", str(tmp_path / "backup"))
    assert (tmp_path / "backup").read_bytes() == before


def test_nothing_to_back_up_is_said(site, tmp_path):
    assert "There is nothing to back up" in refused(site, "backup", str(tmp_path / "second"))
    assert not (tmp_path / "second").exists()
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_full_disk_is_one_line_that_names_the_folder(site, tmp_path, command):
    target = tmp_path / "target"
    target.mkdir()
    environment = site | {
        "DATABASE_URL": f"sqlite:///{(tmp_path if command == 'backup' else target) / 'legible.sqlite3'}"
    }
    file = target / "second" if command == "backup" else tmp_path / "backup"

    assert f"to {target}: " in refused(environment, command, str(file), room="ulimit -f 64")
    assert list(target.iterdir()) == []


def test_missing_folder_of_the_database_is_named(site, tmp_path):
    environment = site | {"DATABASE_URL": f"sqlite:///{tmp_path / 'nowhere' / 'legible.sqlite3'}"}

    said = refused(environment, "restore", str(tmp_path / "backup"))

    assert f"Cannot write to {tmp_path / 'nowhere'}: No such file or directory" in said


def refused(environment: dict[str, str], *arguments: str, room: str = "true") -> str:
    """Run a command that fails and return its one error line. ``room``: a command of the shell before it."""
    command = ["sh", "-c", f'{room}; exec "$@"', "sh", sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr
