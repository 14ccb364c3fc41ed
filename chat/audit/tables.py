"""Every table of the database, whoever made it: Django's, ours, a cache's, a leftover's. A few rows at a time.

A table without a model is read like any other. Encoded columns are decoded first: sessions, with the messages in them,
and the entries of a cache table. What people typed themselves is exempt from all but canaries, a password's hash from
the search for secrets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, get_args

from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from chat.audit import encoded, typed
from chat.audit.findings import TEXT_KINDS, Finding, Kind, Leaf, kinds_in, leaves
from chat.models.search import INDEX_COLUMN, INDEX_TABLE
from chat.searchindex import TALK_COLUMN, TALK_TABLE
from reasoning.events import Event as CanonicalEvent
from reasoning.events import UserMessage

ROWS_AT_ONCE: Final = 50
EVENTS: Final = "chat_event"
SESSIONS: Final = "django_session"
_ONLY_CANARIES: Final = frozenset({Kind.CANARY})
_PUBLIC: Final = TEXT_KINDS - {
    Kind.SECRET
}  # a filing's words, which stay as they are: a link in it may look like a key
_SOUGHT: Final[Mapping[tuple[str, str], frozenset[Kind]]] = {
    ("accounts_user", "password"): TEXT_KINDS - {Kind.SECRET},  # a hash
    ("accounts_user", "username"): _ONLY_CANARIES,
    ("accounts_user", "first_name"): _ONLY_CANARIES,
    ("accounts_user", "last_name"): _ONLY_CANARIES,
    ("accounts_user", "email"): _ONLY_CANARIES,
    ("accounts_accesstoken", "name"): _ONLY_CANARIES,
    ("chat_queuedmessage", "text"): _ONLY_CANARIES,
    ("chat_passage", "text"): _PUBLIC,
    ("chat_passage", "context"): _PUBLIC,
    ("chat_passage", INDEX_COLUMN): _ONLY_CANARIES,  # made of the texts beside it
    (EVENTS, TALK_COLUMN): _ONLY_CANARIES,
}
_NO_SECRETS: Final = frozenset(
    {
        ("citations", "quote"),  # a public filing's words
        ("call_id", "call_id"),  # a service's own number of a call, as random as a key
    }
)
_OF_DJANGO: Final = frozenset({SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY})
_EVENT_FIELDS: Final = {field.name for kind in get_args(CanonicalEvent) for field in fields(kind)} | {"trace"}


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    key: str | None
    key_field: models.Field[Any, Any] | None  # None: unknown, or a text
    json_columns: frozenset[str | None]


def look_through_tables(canaries: Sequence[str], using: str = DEFAULT_DB_ALIAS) -> Iterator[Finding]:
    """Yield what stands in any text, JSON or binary column of any table and should not."""
    connection = connections[using]
    known = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    for name in sorted(connection.introspection.table_names()):
        table = _describe(connection, name, known.get(name))
        for row in _rows(connection, table):
            yield from _look_through(table, row, canaries)


def _describe(connection: BaseDatabaseWrapper, name: str, model: type[models.Model] | None) -> _Table:
    with connection.cursor() as cursor:
        columns = tuple(column.name for column in connection.introspection.get_table_description(cursor, name))
        key = connection.introspection.get_primary_key_column(cursor, name)
    of_json = frozenset(
        field.column for field in (model._meta.concrete_fields if model else ()) if isinstance(field, models.JSONField)
    )
    field = model._meta.pk if model else None
    return _Table(name, columns, key, None if isinstance(field, models.CharField) else field, of_json)


def _rows(connection: BaseDatabaseWrapper, table: _Table) -> Iterator[Mapping[str, Any]]:
    quote = connection.ops.quote_name
    columns = ", ".join(quote(column) for column in table.columns)
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {quote(table.name)}")  # noqa: S608 - names from the database, quoted
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            for row in rows:
                yield dict(zip(table.columns, row, strict=True))


def _look_through(table: _Table, row: Mapping[str, Any], canaries: Sequence[str]) -> Iterator[Finding]:
    for column, value in row.items():
        found = {
            (_place(table, column, leaf), kind): None
            for leaf in _leaves(table, column, value)
            for kind in kinds_in(leaf, _sought(table, row, column, leaf), canaries)
            if not typed.is_echo(table.name, row, leaf, kind)
        }
        for place, kind in found:
            yield Finding(table.name, _row_name(table, row), place, kind)


def _leaves(table: _Table, column: str, value: Any) -> Iterator[Leaf]:
    """Return the texts of one cell."""
    decode = encoded.decoder(table.name, column)
    if decode and isinstance(value, str):
        return leaves(decode(value))
    if column in table.json_columns and isinstance(value, str):
        return leaves(json.loads(value))
    if isinstance(value, bytes | memoryview):
        return leaves(None if encoded.is_token(bytes(value)) else bytes(value).decode("utf-8", "replace"))
    return leaves(value)


def _sought(table: _Table, row: Mapping[str, Any], column: str, leaf: Leaf) -> frozenset[Kind]:
    if table.name.startswith((INDEX_TABLE, TALK_TABLE)):
        return _ONLY_CANARIES  # the words of texts that are looked at in their own table
    if table.name == EVENTS and row.get("type") == UserMessage.type and leaf.top == "text":
        return _ONLY_CANARIES
    if table.name == EVENTS and (leaf.top, leaf.key) in _NO_SECRETS:
        return TEXT_KINDS - {Kind.SECRET}
    if table.name == SESSIONS and (leaf.key in _OF_DJANGO or column == "session_key"):
        return TEXT_KINDS - {Kind.SECRET}
    return _SOUGHT.get((table.name, column), TEXT_KINDS)


def _place(table: _Table, column: str, leaf: Leaf) -> str:
    """Name the column, and in an event the field: other names in JSON may be anybody's words."""
    return f"{column}.{leaf.top}" if table.name == EVENTS and leaf.top in _EVENT_FIELDS else column


def _row_name(table: _Table, row: Mapping[str, Any]) -> str:
    """Name a row by its key; where that is a text, which may open something or say something, by a digest."""
    key = row.get(table.key or "")
    if table.key_field and key is not None:
        return str(table.key_field.to_python(key))
    if isinstance(key, str):
        return f"sha256:{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return "?" if key is None else str(key)
