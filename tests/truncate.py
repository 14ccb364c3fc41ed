"""Truncate the tables that a committing test wrote to, and only those.

Django flushes every table and recreates content types and permissions after each such test, which is most of its cost.
"""

from __future__ import annotations

from functools import cache

from django.db import connection, transaction

CREATED_BY_MIGRATE = ("django_migrations", "django_content_type", "auth_permission")


@transaction.atomic
def truncate_tables() -> None:
    """Delete all rows but those that ``migrate`` creates. Foreign keys are checked at the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_query_for_filled_tables())
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table of ours


@cache
def _query_for_filled_tables() -> str:
    tables = set(connection.introspection.django_table_names(only_existing=True)) - set(CREATED_BY_MIGRATE)
    each = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})" for table in tables)  # noqa: S608
    return " UNION ALL ".join(each)
