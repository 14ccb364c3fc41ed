"""Queries that every turn makes, compiled once.

Django writes the SQL of a queryset anew for each run of it, which takes some five times as long as running it. What
differs between runs stands in the filters as ``Given``, and is passed by name.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")


class Given(Expression):
    """A value that each run passes under this name; ``field`` says how the database takes it."""

    def __init__(self, name: str, field: Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        """Leave the place of the value open."""
        return "%s", [self]

    def value(self, given: Mapping[str, Any], connection: Any) -> Any:
        """Return the value as it goes into the statement."""
        return self.output_field.get_db_prep_value(given[self.name], connection)


class Prepared(Generic[Row]):
    """A queryset that is built and compiled at its first run. It must not depend on the time at which that is."""

    def __init__(self, build: Callable[[], QuerySet[Any, Row]]) -> None:
        self._build = build
        self._compiled: tuple[QuerySet[Any, Row], SQLCompiler, str, tuple[Any, ...]] | None = None

    def run(self, **given: Any) -> list[Row]:
        """Return the rows. Raises KeyError for a value that is not given."""
        queryset, compiler, sql, params = self._compiled = self._compiled or self._compile()
        connection = connections[DEFAULT_DB_ALIAS]  # each thread has its own
        values = _values(params, given, connection)
        running: Any = copy.copy(compiler)
        running.connection = connection
        running.as_sql = lambda *_args, **_named: (sql, values)
        queryset = queryset.all()
        queryset.query.get_compiler = lambda *_args, **_named: running  # type: ignore[method-assign]
        return list(queryset)

    def first(self, **given: Any) -> Row | None:
        """Return the first row; the queryset says how many to look for."""
        return next(iter(self.run(**given)), None)

    def _compile(self) -> tuple[QuerySet[Any, Row], SQLCompiler, str, tuple[Any, ...]]:
        queryset = self._build()
        compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        return queryset, compiler, sql, tuple(params)


class PreparedUpdate:
    """An update of the rows of a queryset, built and compiled at its first run, as ``Prepared`` is.

    ``build`` returns the rows, and their new values by field.
    """

    def __init__(self, build: Callable[[], tuple[QuerySet[Any, Any], Mapping[str, Any]]]) -> None:
        self._build = build
        self._compiled: tuple[str, tuple[Any, ...]] | None = None

    def run(self, **given: Any) -> int:
        """Change the rows; return how many there were. Raises KeyError for a value that is not given."""
        sql, params = self._compiled = self._compiled or self._compile()
        connection = connections[DEFAULT_DB_ALIAS]
        with connection.cursor() as cursor:
            cursor.execute(sql, _values(params, given, connection))
            return int(cursor.rowcount)

    def _compile(self) -> tuple[str, tuple[Any, ...]]:
        queryset, changes = self._build()
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        sql, params = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return sql, tuple(params)


def _values(params: tuple[Any, ...], given: Mapping[str, Any], connection: Any) -> tuple[Any, ...]:
    return tuple(one.value(given, connection) if isinstance(one, Given) else one for one in params)
