"""Scan every table of the database, and files, for delimiters, scratchpads, secrets and canaries.

A table without a model is scanned like any other; rows are read in small batches. Sessions are decoded. What people
typed and what filings say is exempt from all but canaries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, get_args

from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from chat.audit.rules import TEXT_KINDS, Finding, FindingKind, Leaf, is_fernet_token, kinds_in, leaves, tags_in
from chat.audit.turns import scan_turns
from chat.conversations.search_index import TALK_COLUMN, TALK_TABLE
from chat.models import Event
from chat.search.fts5 import INDEX_COLUMN, PASSAGE_INDEXES
from reasoning.delimiters.tags import Tag, TagScanner
from reasoning.events import Event as CanonicalEvent
from reasoning.events import UserMessage

BATCH_ROWS: Final = 50
FILE_ROWS: Final = 2  # each has megabytes
CHUNK_BYTES: Final = 1 << 20
EVENTS: Final = "chat_event"
ATTACHMENTS: Final = "chat_attachment"
DOCUMENTS: Final = "chat_document"
PICTURES: Final = "chat_pagepicture"
SESSIONS: Final = "django_session"
_CANARIES_ONLY: Final = frozenset({FindingKind.CANARY})
_NO_SECRETS: Final = TEXT_KINDS - {FindingKind.SECRET}
# The full-text tables of passages.
PASSAGE_TABLES: Final = tuple(index.name for index in PASSAGE_INDEXES)
# What citations and trace steps repeat of a filing.
_FILING_FIELDS: Final = frozenset({"company", "section", "snippet"})
# Columns, by table, in which only canaries are sought.
_EXEMPT: Final = {
    # what people typed
    "accounts_user": ("username", "first_name", "last_name", "email"),
    "accounts_accesstoken": ("name",),
    "accounts_reasoningprofile": ("name",),
    "chat_feedback": ("note",),
    "chat_queuedmessage": ("text", "attachments"),
    ATTACHMENTS: ("name",),
    "chat_conversation": ("system_prompt",),
    "chat_modelprofile": ("system_prompt",),
    "chat_project": ("name", "system_prompt"),
    "chat_prompt": ("name", "text"),
    "chat_sitesettings": ("name", "greeting", "introduction", "placeholder", "starters", "system_prompt"),
    # public filings: their links may look like keys, and their words are no model's
    "chat_passage": ("section", "section_title", "heading", "text", "context", INDEX_COLUMN),
    "chat_filing": ("company",),
    # people's own documents, which they may read
    "chat_documentpassage": ("section", "text", "context", INDEX_COLUMN),
    DOCUMENTS: ("name", "title"),
    "chat_collection": ("name",),
    # derived from texts of the event table
    EVENTS: (TALK_COLUMN,),
    "chat_storedcard": ("answer_html", "render_version", "context_key"),
}
_RANDOM_FIELDS: Final = frozenset({("citations", "quote"), ("call_id", "call_id")})  # of events; no secrets
_SESSION_FIELDS: Final = frozenset({SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY})
_EVENT_FIELDS: Final = {field.name for kind in get_args(CanonicalEvent) for field in fields(kind)} | {"trace"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the database. ``key`` is the name of its primary key, ``key_field`` None where that is a text."""

    name: str
    columns: tuple[str, ...]
    key: str | None
    key_field: models.Field[Any, Any] | None
    json_columns: frozenset[str | None]


def scan_database(canaries: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield what shouldn't be in the database; ``canaries`` are texts that should be in no table."""
    connection = connections[DEFAULT_DB_ALIAS]
    for table in tables(connection):
        for row in rows_of(connection, table):
            for column, value in row.items():
                found = {
                    (place_of(table, column, leaf), kind): None
                    for leaf in cell_leaves(table, column, value)
                    for kind in kinds_in(leaf, sought_in(table, row, column, leaf), canaries)
                    if not is_echo(table, row, leaf, kind)
                }
                for place, kind in found:
                    yield Finding(table.name, row_name(table, row), place, kind)
    yield from scan_turns()


def tables(connection: BaseDatabaseWrapper) -> Iterator[Table]:
    """Describe every table, also those without a model."""
    known = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    for name in sorted(connection.introspection.table_names()):
        with connection.cursor() as cursor:
            # Django's description of a table parses its SQL on SQLite: 5 ms each.
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)} LIMIT 0")  # noqa: S608 - quoted
            columns = tuple(column[0] for column in cursor.description)
            key = connection.introspection.get_primary_key_column(cursor, name)
        model = known.get(name)
        concrete = model._meta.concrete_fields if model else ()
        json_columns = frozenset(field.column for field in concrete if isinstance(field, models.JSONField))
        field = model._meta.pk if model else None
        yield Table(name, columns, key, None if isinstance(field, models.CharField) else field, json_columns)


def rows_of(connection: BaseDatabaseWrapper, table: Table) -> Iterator[Mapping[str, Any]]:
    quote = connection.ops.quote_name
    columns = ", ".join(quote(column) for column in table.columns)
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {quote(table.name)}")  # noqa: S608 - names from the database, quoted
        while rows := cursor.fetchmany(FILE_ROWS if table.name in {ATTACHMENTS, DOCUMENTS, PICTURES} else BATCH_ROWS):
            for row in rows:
                yield dict(zip(table.columns, row, strict=True))


def cell_leaves(table: Table, column: str, value: Any) -> Iterator[Leaf]:
    """Yield the texts of a cell, decoded; nothing for a Fernet token."""
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        # what is encrypted can't be read; what only looks binary can
        return leaves(None if is_fernet_token(data) else data.decode("utf-8", "replace"))
    if isinstance(value, str):
        if (table.name, column) == (SESSIONS, "session_data"):
            return leaves(SessionStore().decode(value) or value)
        if column in table.json_columns:
            return leaves(json.loads(value))
    return leaves(value)


def sought_in(table: Table, row: Mapping[str, Any], column: str, leaf: Leaf) -> frozenset[FindingKind]:
    if table.name.startswith((*PASSAGE_TABLES, TALK_TABLE)):
        return _CANARIES_ONLY  # full-text indexes of columns that are scanned in their own tables
    if table.name == EVENTS and row.get("type") == UserMessage.type and leaf.top in ("text", "attachments"):
        return _CANARIES_ONLY
    if table.name == EVENTS and (leaf.top, leaf.key) in _RANDOM_FIELDS:
        return _NO_SECRETS
    if table.name == EVENTS and leaf.top in ("trace", "citations") and leaf.key in _FILING_FIELDS:
        return TEXT_KINDS - {FindingKind.DELIMITER, FindingKind.SCRATCHPAD}
    if table.name == SESSIONS and (leaf.key in _SESSION_FIELDS or column == "session_key"):
        return _NO_SECRETS
    if (table.name, column) == ("accounts_user", "password"):  # a hash
        return _NO_SECRETS
    return _CANARIES_ONLY if column in _EXEMPT.get(table.name, ()) else TEXT_KINDS


def is_echo(table: Table, row: Mapping[str, Any], leaf: Leaf, kind: FindingKind) -> bool:
    """Say whether delimiters in a title, a step or a summary only repeat what the user typed there."""
    # titles, steps and summaries repeat words of the question, so also its tags
    if kind not in (FindingKind.DELIMITER, FindingKind.SCRATCHPAD) or leaf.key.lower() == "scratchpad":
        return False
    if table.name == "chat_conversation":
        conversation = row["id"]
    elif table.name == EVENTS and leaf.top in ("trace", "summary"):
        conversation = row["conversation_id"]
    else:
        return False
    typed = Event.objects.filter(conversation=conversation, type=UserMessage.type).values_list("public", flat=True)
    typed_tags = {tag.raw for public in typed.iterator() for tag in tags_in(str(public.get("text", "")))}
    return {tag.raw for tag in tags_in(leaf.text)} <= typed_tags


def place_of(table: Table, column: str, leaf: Leaf) -> str:
    """Name the column, and in an event the field; other keys in JSON may be anybody's words."""
    return f"{column}.{leaf.top}" if table.name == EVENTS and leaf.top in _EVENT_FIELDS else column


def row_name(table: Table, row: Mapping[str, Any]) -> str:
    """Name a row by its key, or by a digest of it where it is a text, which may be a token."""
    # a text key may be a session key or a token
    key = row.get(table.key or "")
    if table.key_field and key is not None:
        return str(table.key_field.to_python(key))
    if isinstance(key, str):
        return f"sha256:{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return "?" if key is None else str(key)


def scan_file(path: Path, canaries: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield the delimiters and canaries in a file, and in an SQLite journal beside it. Raises OSError.

    A file doesn't say who typed what, so a delimiter in a database file may be a person's own.
    """
    # pages of the database may be in its journal only
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")):
        if file is path or file.exists():
            yield from scan_bytes(file, canaries)


def scan_bytes(path: Path, canaries: Sequence[str]) -> Iterator[Finding]:
    # a canary as UTF-8, and escaped as in JSON
    forms = {
        form.encode()
        for canary in canaries
        for form in (canary, json.dumps(canary)[1:-1], json.dumps(canary, ensure_ascii=False)[1:-1])
    }
    overlap = max((len(form) for form in forms), default=1) - 1
    scanner, position = TagScanner(), 0
    tail, read = b"", 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            for token in scanner.feed(chunk.decode("latin-1")):
                if isinstance(token, Tag):
                    kind = FindingKind.SCRATCHPAD if token.name == "scratchpad" else FindingKind.DELIMITER
                    yield Finding(str(path), f"byte {position}", "", kind)
                position += len(token.raw if isinstance(token, Tag) else token)
            for place in find_all(tail + chunk, forms, len(tail)):
                yield Finding(str(path), f"byte {read - len(tail) + place}", "", FindingKind.CANARY)
            read += len(chunk)
            tail = (tail + chunk)[-overlap:] if overlap else b""


def find_all(data: bytes, forms: set[bytes], seen: int) -> Iterator[int]:
    """Yield where a form begins in ``data``, unless all of it is in the first ``seen`` bytes."""
    for form in forms:
        place = data.find(form, max(seen - len(form) + 1, 0))
        while place >= 0:
            yield place
            place = data.find(form, place + len(form))
