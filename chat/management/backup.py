"""Backup archives: a consistent copy of the database while the server runs, and what is needed to restore it.

An archive is a tar file compressed by gzip: first ``manifest.json``, then the database, an SQLite file or a dump of
``pg_dump``. Attached files and filings are in the database. Keys are never in the archive, only their fingerprints.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import msgspec
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg.conninfo import make_conninfo

MANIFEST = "manifest.json"
FORMAT = 1
MANIFEST_MAX_BYTES = 1_000_000
OPTIONS_OF_DJANGO = {"assume_role", "isolation_level", "pool", "server_side_binding"}  # the others are libpq's
DATABASE_NAMES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}


class BackupError(Exception):
    """A backup that can't be written or restored; its text is for the operator."""


class Manifest(msgspec.Struct, frozen=True):
    """What an archive says of itself. ``keys``: fingerprints of ``CONTENT_KEYS``, newest first."""

    format: int
    engine: str
    created_at: str
    keys: tuple[str, ...]
    migrations: tuple[str, ...]
    sha256: str


def key_fingerprints() -> tuple[str, ...]:
    """Return a fingerprint of each of ``CONTENT_KEYS``. Keys are random, so that a digest says nothing of them."""
    return tuple(hashlib.sha256(f"legible {key}".encode("ascii")).hexdigest()[:16] for key in settings.CONTENT_KEYS)


def write(path: Path, *, created_at: str) -> None:
    """Write an archive of the configured database. Writers continue meanwhile."""
    if path.exists():
        raise BackupError(f"{path} exists already; name a file that does not")
    is_missing = connection.vendor == "sqlite" and not database_path().exists()  # to connect would create it
    if is_missing or not connection.introspection.table_names():
        raise BackupError("There is nothing to back up: the database is empty")
    migrations = tuple(sorted(".".join(key) for key in MigrationLoader(connection).applied_migrations))
    with tempfile.TemporaryDirectory(prefix=".legible-backup-", dir=path.absolute().parent) as name:
        copy = Path(name) / DATABASE_NAMES[connection.vendor]
        if connection.vendor == "sqlite":
            try:
                with closing(sqlite3.connect(database_path())) as source, closing(sqlite3.connect(copy)) as target:
                    source.backup(target)  # all pages in one step: a snapshot that no writer changes
            except sqlite3.Error as error:  # no Django connection, so none of its errors: a full disk, for one
                raise BackupError(
                    f"{database_path()} could not be copied to {path.absolute().parent}: {error}"
                ) from error
        else:
            run_tool("pg_dump", "--format=custom", f"--file={copy}")
        with copy.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        manifest = Manifest(FORMAT, connection.vendor, created_at, key_fingerprints(), migrations, digest)
        described = Path(name) / MANIFEST
        described.write_bytes(msgspec.json.encode(manifest))
        archive = Path(name) / "archive"
        archive.touch(mode=0o600)  # it holds what everybody wrote
        with archive.open("wb") as written:
            with tarfile.open(fileobj=written, mode="w:gz", compresslevel=6) as tar:
                tar.add(described, MANIFEST)
                tar.add(copy, copy.name)
            sync(written)
        archive.rename(path)  # whole, or not there


def restore(path: Path, *, without_keys: bool = False) -> Manifest:
    """Restore an archive into the configured, empty database. Nothing is written before all of it was checked.

    The caller migrates. ``without_keys``: although keys are missing.
    """
    with open_archive(path) as (manifest, database):
        check(manifest, without_keys=without_keys)
        folder = database_path().parent if connection.vendor == "sqlite" else Path(tempfile.gettempdir())
        try:
            with tempfile.TemporaryDirectory(prefix=".legible-restore-", dir=folder) as name:
                copy = Path(name) / DATABASE_NAMES[manifest.engine]
                copy.touch(mode=0o600)
                with copy.open("w+b") as file:
                    shutil.copyfileobj(database, file)
                    sync(file)
                    file.seek(0)
                    if hashlib.file_digest(file, "sha256").hexdigest() != manifest.sha256:
                        raise BackupError(f"{path} is damaged: its database is not the one that was backed up")
                if connection.vendor == "sqlite":
                    copy.rename(database_path())
                else:
                    options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
                    run_tool("pg_restore", *options, str(copy))
        except gzip.BadGzipFile:  # an OSError too, of the archive
            raise
        except OSError as error:
            raise BackupError(f"Cannot write to {folder}: {error.strerror or error}") from error
    return manifest


@contextmanager
def open_archive(path: Path) -> Iterator[tuple[Manifest, IO[bytes]]]:
    """Open an archive; yield its manifest and its database."""
    try:
        with tarfile.open(path, "r:gz") as tar:
            first = tar.next()
            content = tar.extractfile(first) if first and first.name == MANIFEST else None
            if content is None:
                raise BackupError(f"{path} is no backup of Legible")
            manifest = msgspec.json.decode(content.read(MANIFEST_MAX_BYTES), type=Manifest)
            second = tar.next()
            database = tar.extractfile(second) if second else None
            if database is None or second is None or second.name != DATABASE_NAMES.get(manifest.engine):
                raise BackupError(f"{path} is damaged: it has no database")
            yield manifest, database
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror or error}") from error
    except (tarfile.TarError, zlib.error, EOFError, msgspec.MsgspecError) as error:
        raise BackupError(f"{path} is no backup of Legible, or it is damaged") from error


def check(manifest: Manifest, *, without_keys: bool) -> None:
    """Raise BackupError where this archive can't be restored here."""
    if manifest.engine != connection.vendor:
        raise BackupError(f"The backup is of {manifest.engine}, and DATABASE_URL names {connection.vendor}")
    known = {".".join(key) for key in MigrationLoader(None).disk_migrations}
    own = {name.partition(".")[0] for name in known}
    newer = [name for name in manifest.migrations if name not in known and name.partition(".")[0] in own]
    if manifest.format > FORMAT or newer:
        raise BackupError("The backup was written by a newer version; install that version first")
    missing = [key for key in manifest.keys if key not in key_fingerprints()]
    if missing and not without_keys:
        raise BackupError(
            f"CONTENT_KEYS lacks the keys with the fingerprints {', '.join(missing)}: what they encrypted could not be "
            "read. Put the CONTENT_KEYS of the backup's time back, or add --without-keys. Nothing was written"
        )
    if connection.vendor == "sqlite":
        path = database_path()
        in_the_way = [each for suffix in ("", "-wal", "-shm") if (each := path.with_name(path.name + suffix)).exists()]
        if in_the_way:
            names = ", ".join(map(str, in_the_way))
            raise BackupError(f"{names} exists already: stop the server and move it away. Nothing was written")
    elif connection.introspection.table_names():
        raise BackupError("The database of DATABASE_URL is not empty: name a new one. Nothing was written")


def database_path() -> Path:
    return Path(settings.DATABASES["default"]["NAME"])


def run_tool(program: str, *arguments: str) -> None:
    """Run a tool of PostgreSQL at the configured database. The password is in no command line."""
    database = connection.settings_dict
    options = {name: value for name, value in database["OPTIONS"].items() if name not in OPTIONS_OF_DJANGO}
    address = make_conninfo(
        dbname=database["NAME"], user=database["USER"], host=database["HOST"], port=database["PORT"], **options
    )
    password = {"PGPASSWORD": database["PASSWORD"]} if database["PASSWORD"] else {}
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            [program, f"--dbname={address}", *arguments],
            env=os.environ | password,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise BackupError(
            f"{program} is not installed; on Debian and Ubuntu: apt-get install postgresql-client"
        ) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise BackupError(f"{program} failed: {lines[0]}")


def sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
