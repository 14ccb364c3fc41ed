# ruff: noqa: S608 - only constant names are put into statements
"""The full-text index of passages: created, checked and rebuilt.

On SQLite it is an external-content FTS5 table that triggers update. Django drops triggers silently when it
rebuilds a table, so they are created again after every migrate. On PostgreSQL it is a generated column with a GIN
index, which the migration creates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage
from django.utils.translation import gettext as _

from chat.fts5 import SearchIndex
from chat.models.filing import INDEX_TABLE

_TABLE = "chat_passage"
_CREATE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {INDEX_TABLE} USING fts5(context, text,"
    f" content='{_TABLE}', content_rowid='id', tokenize='porter unicode61')"
)
_REMOVE = (
    f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}, rowid, context, text) VALUES ('delete', old.id, old.context, old.text);"
)
_ADD = f"INSERT INTO {INDEX_TABLE}(rowid, context, text) VALUES (new.id, new.context, new.text);"
_TRIGGERS = {
    f"{INDEX_TABLE}_insert": f"AFTER INSERT ON {_TABLE} BEGIN {_ADD} END",
    f"{INDEX_TABLE}_delete": f"AFTER DELETE ON {_TABLE} BEGIN {_REMOVE} END",
    f"{INDEX_TABLE}_update": f"AFTER UPDATE OF id, context, text ON {_TABLE} BEGIN {_REMOVE} {_ADD} END",
}

INDEX = SearchIndex(
    INDEX_TABLE,
    _CREATE,
    _TRIGGERS,
    source=_TABLE,
    fill=(f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}) VALUES ('rebuild')",),
    reindex=("REINDEX INDEX chat_passage_search", f"ANALYZE {_TABLE}"),
)


def check_index(app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where the index lacks its triggers or does not hold every passage."""
    return INDEX.check(databases, _("The search index does not hold every passage."), "chat.W001")
