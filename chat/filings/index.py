# ruff: noqa: S608 - only constant names are put into statements
"""The full-text index of passages: made, checked and rebuilt.

On SQLite it is an external-content FTS5 table that triggers keep in step. Django drops triggers without a word when it
rebuilds a table for a later change, so they are made again, idempotently, after every migrate. On PostgreSQL it is a
generated column with a GIN index, which the migration makes and the database keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _

from chat.models.search import INDEX_TABLE
from chat.triggeredindex import TriggeredIndex

_TABLE = "chat_passage"
_CREATE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {INDEX_TABLE} USING fts5(context, text,"
    f" content='{_TABLE}', content_rowid='id', tokenize='porter unicode61')"
)
_FORGET = (
    f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}, rowid, context, text) VALUES ('delete', old.id, old.context, old.text);"
)
_LEARN = f"INSERT INTO {INDEX_TABLE}(rowid, context, text) VALUES (new.id, new.context, new.text);"
_TRIGGERS = {
    f"{INDEX_TABLE}_insert": f"AFTER INSERT ON {_TABLE} BEGIN {_LEARN} END",
    f"{INDEX_TABLE}_delete": f"AFTER DELETE ON {_TABLE} BEGIN {_FORGET} END",
    f"{INDEX_TABLE}_update": f"AFTER UPDATE OF id, context, text ON {_TABLE} BEGIN {_FORGET} {_LEARN} END",
}

_INDEX = TriggeredIndex(INDEX_TABLE, _CREATE, _TRIGGERS, source=_TABLE)


def ensure_index(sender: object = None, *, using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the index and its triggers where they are missing, and fill it. A receiver of ``post_migrate``."""
    connection = connections[using]
    if not _INDEX.belongs_to(connection):
        return
    is_behind = _INDEX.missing(connection) or not _INDEX.is_in_step(connection)
    _INDEX.make(connection)
    if is_behind:
        rebuild_index(using)


def rebuild_index(using: str = DEFAULT_DB_ALIAS) -> int:
    """Build the index anew from the passages and return how many it holds."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}) VALUES ('rebuild')")
        else:
            cursor.execute("REINDEX INDEX chat_passage_search")
            cursor.execute(f"ANALYZE {_TABLE}")
    return _INDEX.count(connection)


def check_index(app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where the index lacks its triggers or does not hold every passage."""
    messages: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        if not _INDEX.belongs_to(connection):
            continue
        if missing := _INDEX.missing(connection):
            text = _("The search index lacks %(names)s.") % {"names": ", ".join(missing)}
        elif not _INDEX.is_in_step(connection):
            text = _("The search index does not hold every passage.")
        else:
            continue
        messages.append(Warning(text, hint=_("Run: python manage.py reindex"), id="chat.W001"))
    return messages
