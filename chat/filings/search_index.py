# ruff: noqa: S608 - only constant names are put into statements
"""The full-text index of passages: created, checked and rebuilt.

On SQLite it is an FTS5 table without content that triggers update. Django drops triggers silently when it
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
    " content='', tokenize='porter unicode61')"
)
_INDEXED = "{0}id, index_text({0}context), index_text({0}text)"
_REMOVE = (
    f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}, rowid, context, text) VALUES ('delete', {_INDEXED.format('old.')});"
)
_INSERT = f"INSERT INTO {INDEX_TABLE}(rowid, context, text)"
_ADD = f"{_INSERT} VALUES ({_INDEXED.format('new.')});"
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
    fill=(
        f"INSERT INTO {INDEX_TABLE}({INDEX_TABLE}) VALUES ('delete-all')",
        f"{_INSERT} SELECT {_INDEXED.format('')} FROM {_TABLE}",
    ),
    reindex=("REINDEX INDEX chat_passage_search", f"ANALYZE {_TABLE}"),
)


def check_index(app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where the index lacks its triggers or does not hold every passage."""
    return INDEX.check(databases, _("The search index does not hold every passage."), "chat.W001")
