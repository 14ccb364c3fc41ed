# ruff: noqa: S608 - only constant names are put into statements
"""Full-text search indexes of tables: on SQLite an FTS5 table that triggers update, on PostgreSQL a generated column.

Migrations create the column. The FTS5 table and its triggers are created after every migrate, because Django drops
triggers silently when it rebuilds a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, cast

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVectorField
from django.core.checks import CheckMessage, Warning
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, FloatField, Model, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from chat.search.search_text import index_text, is_prefix, subterms

M = TypeVar("M", bound=Model)
Join = Literal["AND", "OR"]
INDEX_COLUMN: Final = "search_vector"  # of passages, on PostgreSQL


def fts5_expression(terms: Sequence[str], join: Join, *, is_typing: bool = False) -> str:
    """Return an FTS5 expression for terms of ``query_terms``; while a person types, the last one is a prefix."""
    prefixes = prefixes_of(terms, is_typing=is_typing)
    # quoted, so that no term is read as syntax
    return f" {join} ".join(f'"{term}"{" *" if term in prefixes else ""}' for term in terms)


def tsquery(terms: Sequence[str], join: Join, *, is_typing: bool = False) -> SearchQuery:
    """Return the same query for PostgreSQL."""
    prefixes = prefixes_of(terms, is_typing=is_typing)
    operator = {"AND": " & ", "OR": " | "}[join]
    written = []
    for term in terms:
        # a word holds neither quote nor backslash
        phrase = " <-> ".join(f"'{word}'" for word in subterms(term))
        written.append(f"({phrase}:*)" if term in prefixes else f"({phrase})")
    return SearchQuery(operator.join(written), config="english", search_type="raw")


def prefixes_of(terms: Sequence[str], *, is_typing: bool) -> set[str]:
    return {*filter(is_prefix, terms), *(terms[-1:] if is_typing else ())}


def match_fts5(rows: QuerySet[M], table: str, expression: str, *, weights: str = "", then: str = "-pk") -> QuerySet[M]:
    """Return the rows that an FTS5 expression matches, each with its ``score``, best first, ``then`` by this field."""
    # A join by extra(): a subquery for each row's rank is a hundred times slower.
    joined = rows.extra(  # noqa: S610 - constant names, the expression is a parameter
        tables=[table],
        where=[f"{table}.rowid = {rows.model._meta.db_table}.id", f"{table} MATCH %s"],
        params=[expression],
    )
    # bm25() is negative, and lower for better matches
    score = RawSQL(f"-bm25({table}{weights})", [], output_field=FloatField())  # noqa: S611 - constant names
    return cast("QuerySet[M]", joined.annotate(score=score).order_by(F("score").desc(), then))


def scope_fts5(scopes: Sequence[str]) -> str:
    """Return an FTS5 expression for the passages of these scopes."""
    return f"scope : ({fts5_expression(scopes, 'OR')})"


def count_fts5(table: str, expression: str, limit: int) -> int:
    """Return how many rows an FTS5 expression matches, at most ``limit``, without reading them."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        matching = f"SELECT 1 FROM {table} WHERE {table} MATCH %s LIMIT %s"
        cursor.execute(f"SELECT count(*) FROM ({matching})", [expression, limit])
        return int(cursor.fetchone()[0])


def match_vector(
    rows: QuerySet[M],
    column: str,
    query: SearchQuery,
    *,
    ranked: SearchQuery | None = None,
    weights: Sequence[float] | None = None,
    then: str = "-pk",
) -> QuerySet[M]:
    """Return the rows whose text-search ``column`` matches on PostgreSQL, in the same way.

    ``ranked`` is another query to rank them by.
    """
    # normalization 1 divides by the logarithm of the length: long texts mention everything
    rank = SearchRank(vector_of(rows, column), ranked or query, weights=weights, normalization=1)
    matching = rows.alias(vector=vector_of(rows, column)).filter(vector=query).annotate(score=rank)
    return cast("QuerySet[M]", matching.order_by(F("score").desc(), then))


def estimate_vector(rows: QuerySet[M], column: str, query: SearchQuery) -> int:
    """Return how many rows match on PostgreSQL, as its planner estimates: counting them would read the rows."""
    matching = rows.alias(vector=vector_of(rows, column)).filter(vector=query).order_by()
    plan = matching.explain(format="json")  # empty where a filter lets nothing through
    return int(json.loads(plan)[0]["Plan"]["Plan Rows"]) if plan else 0


def vector_of(rows: QuerySet[M], column: str) -> RawSQL:
    name = f'"{rows.model._meta.db_table}"."{column}"'
    return RawSQL(name, [], output_field=SearchVectorField())  # noqa: S611 - constant names


def add_index_function(connection: BaseDatabaseWrapper, **_more: Any) -> None:
    """Give SQLite the function that triggers call. Receiver of ``connection_created``."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("index_text", 1, index_text, deterministic=True)


# No slots: signals hold their receivers by weak references.
@dataclass(frozen=True)
class SearchIndex:
    """``name`` is the FTS5 table, ``source`` the table whose rows it indexes, those that ``where`` selects.

    ``fill`` are the statements that fill it from scratch, ``reindex`` those for PostgreSQL. ``needs`` makes the indexes
    that the triggers read.
    """

    name: str
    create: str
    triggers: Mapping[str, str]  # name to what follows CREATE TRIGGER and the name
    source: str
    where: str = "true"
    fill: Sequence[str] = ()
    reindex: Sequence[str] = ()
    needs: Sequence[str] = ()

    def ensure(self, sender: object = None, *, using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
        """Create and fill the FTS5 table and its triggers where they are missing. Receiver of ``post_migrate``."""
        connection = connections[using]
        if not self.belongs_to(connection):
            return
        # Checked before the table is made, since a new table is always empty.
        is_stale = self.missing(connection) or not self.is_in_step(connection)
        self.make(connection)
        if is_stale:
            self.rebuild(using)

    def rebuild(self, using: str = DEFAULT_DB_ALIAS) -> int:
        """Fill the index from scratch and return the number of rows."""
        connection = connections[using]
        with transaction.atomic(using), connection.cursor() as cursor:
            for statement in self.fill if connection.vendor == "sqlite" else self.reindex:
                cursor.execute(statement)
        return self.count(connection)

    def check(self, databases: Sequence[str] | None, text: str, check_id: str) -> list[CheckMessage]:
        """Return a warning of this text for each database where the index is incomplete."""
        ours = [
            connection for connection in map(connections.__getitem__, databases or ()) if self.belongs_to(connection)
        ]
        stale = [connection for connection in ours if self.missing(connection) or not self.is_in_step(connection)]
        return [Warning(text, hint=_("Run: python manage.py reindex"), id=check_id) for _each in stale]

    def drop_triggers(
        self, sender: object = None, *, using: str = DEFAULT_DB_ALIAS, plan: Any = (), **kwargs: Any
    ) -> None:
        """Drop the triggers while tables are migrated. Receiver of ``pre_migrate``."""
        connection = connections[using]
        if connection.vendor == "sqlite" and plan:
            with connection.cursor() as cursor:
                for name in self.triggers:
                    cursor.execute(f"DROP TRIGGER IF EXISTS {name}")

    def belongs_to(self, connection: BaseDatabaseWrapper) -> bool:
        """Say whether this database has the FTS5 table."""
        return connection.vendor == "sqlite" and self.source in connection.introspection.table_names()

    def make(self, connection: BaseDatabaseWrapper) -> None:
        """Create what is missing of the table and its triggers."""
        with connection.cursor() as cursor:
            for statement in (*self.needs, self.create):
                cursor.execute(statement)
            for name, body in self.triggers.items():
                cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {body}")

    def missing(self, connection: BaseDatabaseWrapper) -> list[str]:
        """Return which of the table and its triggers don't exist."""
        with connection.cursor() as cursor:
            # FTS5 has shadow tables with the same prefix; only the named ones count.
            cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE %s", [f"{self.name}%"])
            existing = {row[0] for row in cursor.fetchall()}
        return [name for name in (self.name, *self.triggers) if name not in existing]

    def is_in_step(self, connection: BaseDatabaseWrapper) -> bool:
        """Say whether the index has as many rows as there are to index."""
        return _count(connection, f"{self.name}_docsize") == self.count(connection)

    def count(self, connection: BaseDatabaseWrapper) -> int:
        """Return the number of rows to index, in any database."""
        return _count(connection, f"{self.source} WHERE {self.where}")


def _count(connection: BaseDatabaseWrapper, rows: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {rows}")
        return int(cursor.fetchone()[0])


def index_table(table: str) -> str:
    """Return the name of the FTS5 table of a table of passages."""
    return f"{table}_fts"


def passage_index(table: str, scope: str, *needs: str) -> SearchIndex:
    """Return the index of a table of passages: of their ``context`` and ``text``, without a copy of these.

    ``scope`` is an SQL expression for a word that a search can be narrowed to, so that it reads nothing else. ``needs``
    as of ``SearchIndex``.
    """
    name = index_table(table)
    indexed = f"{{0}}id, index_text({{0}}context), index_text({{0}}text), {scope}"
    insert = f"INSERT INTO {name}(rowid, context, text, scope)"
    add = f"{insert} VALUES ({indexed.format('new.')});"
    remove = f"INSERT INTO {name}({name}, rowid, context, text, scope) VALUES ('delete', {indexed.format('old.')});"
    return SearchIndex(
        name,
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING"
        " fts5(context, text, scope, content='', tokenize='porter unicode61')",
        {
            f"{name}_insert": f"AFTER INSERT ON {table} BEGIN {add} END",
            f"{name}_delete": f"AFTER DELETE ON {table} BEGIN {remove} END",
            f"{name}_update": f"AFTER UPDATE OF id, context, text ON {table} BEGIN {remove} {add} END",
        },
        source=table,
        fill=(
            f"INSERT INTO {name}({name}) VALUES ('delete-all')",
            f"{insert} SELECT {indexed.format('')} FROM {table}",
        ),
        reindex=(f"REINDEX INDEX {table}_search", f"ANALYZE {table}"),
        needs=needs,
    )


ANY_SCOPE: Final = "all"  # of passages that everybody may read; a stop word of queries
# In a row of a document its collection comes behind its contents: for each passage SQLite would read all of these, and
# nobody else could write for minutes. It prefers the primary key unless the index is named.
COLLECTION_INDEX: Final = "chat_document_with_collection"
COLLECTION_OF_DOCUMENT: Final = (
    f"(SELECT collection_id FROM chat_document INDEXED BY {COLLECTION_INDEX} WHERE id = {{0}}document_id)"
)
PASSAGE_INDEXES: Final = (
    passage_index("chat_passage", f"'{ANY_SCOPE}'"),
    passage_index(
        "chat_documentpassage",
        COLLECTION_OF_DOCUMENT,
        f"CREATE INDEX IF NOT EXISTS {COLLECTION_INDEX} ON chat_document (id, collection_id)",
    ),
)


def ensure_passage_indexes(sender: object = None, *, using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Create and fill the indexes of passages where they are missing. Receiver of ``post_migrate``."""
    for index in PASSAGE_INDEXES:
        index.ensure(using=using)


def check_passage_indexes(
    app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn where an index of passages lacks its triggers or does not hold every passage."""
    text = _("The search index does not hold every passage.")
    return [warning for index in PASSAGE_INDEXES for warning in index.check(databases, text, "chat.W001")]
