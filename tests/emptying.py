"""Empty the tables that a test committed to, and those alone.

Django empties every table, and makes types and permissions anew, after each test that commits: most of what such a
test costs. The rows that it would make again are simply kept.
"""

from __future__ import annotations

from functools import cache

from django.db import connection, transaction

KEPT = ("django_migrations", "django_content_type", "auth_permission")


@transaction.atomic
def empty_tables() -> None:
    """Delete every row but those that migrating makes; references between tables are checked at the end only."""
    with connection.cursor() as cursor:
        cursor.execute(_looking())
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608 - a table of our own


@cache
def _looking() -> str:
    """Return the query that names the tables with anything in them."""
    tables = set(connection.introspection.django_table_names(only_existing=True)) - set(KEPT)
    each = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})" for table in tables)  # noqa: S608
    return " UNION ALL ".join(each)
