# ruff: noqa: S608 - only constant names are put into statements
"""A full-text index of SQLite that triggers keep in step with the table behind it: made, checked and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper


@dataclass(frozen=True, slots=True)
class TriggeredIndex:
    """``name`` is the FTS5 table, ``source`` the table whose rows it holds, those of them that ``where`` says."""

    name: str
    create: str
    triggers: Mapping[str, str]  # what follows CREATE TRIGGER and the name
    source: str
    where: str = "true"

    def belongs_to(self, connection: BaseDatabaseWrapper) -> bool:
        """Say whether this database has such an index; PostgreSQL keeps a generated column instead."""
        return connection.vendor == "sqlite" and self.source in connection.introspection.table_names()

    def make(self, connection: BaseDatabaseWrapper) -> None:
        """Make what is missing of the table and its triggers."""
        with connection.cursor() as cursor:
            cursor.execute(self.create)
            for name, body in self.triggers.items():
                cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {body}")

    def missing(self, connection: BaseDatabaseWrapper) -> list[str]:
        """Return the names of the table and the triggers that are not there."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE %s", [f"{self.name}%"])
            there = {row[0] for row in cursor.fetchall()}
        return [name for name in (self.name, *self.triggers) if name not in there]

    def is_in_step(self, connection: BaseDatabaseWrapper) -> bool:
        """Say whether it holds as many rows as there are."""
        return _count(connection, f"{self.name}_docsize") == self.count(connection)

    def count(self, connection: BaseDatabaseWrapper) -> int:
        """Return how many rows there are to hold, in any database."""
        return _count(connection, f"{self.source} WHERE {self.where}")


def _count(connection: BaseDatabaseWrapper, rows: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {rows}")
        return int(cursor.fetchone()[0])
