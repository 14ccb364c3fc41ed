"""Passages of documents that can be searched: FTS5 on SQLite, ``tsvector`` on PostgreSQL.

``Passage.objects.filter(filing__form="10-K").best("risk factors", 5)`` returns the passages that fit best, in the same
order on both. Words are joined by OR and always quoted, so user input is never search syntax.
``chat.search.fts5.passage_index`` describes the index.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from django.db import connections, models
from django.db.models.expressions import RawSQL

from chat.search.fts5 import (
    ANY_SCOPE,
    INDEX_COLUMN,
    Join,
    count_fts5,
    estimate_vector,
    fts5_expression,
    index_table,
    match_fts5,
    match_vector,
    scope_fts5,
    tsquery,
)
from chat.search.ranking import Relevance
from chat.search.search_text import MARKS, query_terms

P = TypeVar("P", bound=models.Model)

_MAX_TERMS = 40
_MANY = 2000  # passages; a term that more of them hold is common
_MOST = 10_000  # passages; so many are read in their order, fewer by the index
_ENOUGH = 20  # results, as many as a search returns at most
_CANDIDATES = 200  # passages that the database ranks best; nearly always, all of the best are among them
_WORD = re.compile(rf"[\w{MARKS}]+(?:[.,&/-][\w{MARKS}]+)*")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being between both but by can"
    " could did do does doing down during each few for from further had has have having he her here hers him his how i"
    " if in into is it its itself just let may me might more most much many must my no nor not now of off on once only"
    " or other our ours out over own per same shall she should so some such tell than that the their theirs them then"
    " there these they this those through to too under until up us very was we were what when where which while who"
    " whom whose why will with within would you your yours please give show find said say says according".split()
)


def search_terms(text: str) -> list[str]:
    """Return the words of a question that are worth searching for: once each, in order, without stop words."""
    return [word for word in words_of(text) if word not in _STOP_WORDS][:_MAX_TERMS]


def words_of(text: str) -> list[str]:
    """Return the words of a text, once each, in order."""
    words = _WORD.findall(_POSSESSIVE.sub("", text.lower().replace("’", "'")))
    return list(dict.fromkeys(words))


class PassageQuerySet(models.QuerySet[P]):
    """Passages that can be searched: rows with ``context`` and ``text``, and an index of both."""

    def best(self, text: str, limit: int, collections: Iterable[uuid.UUID] | None = None) -> list[P]:
        """Return the passages that fit a text best, best first; equal ones in the order of their places.

        ``collections`` are those that these rows are filtered by, where documents have any: SQLite's index needs them,
        to read nothing else.
        """
        terms = query_terms(search_terms(text))[:_MAX_TERMS]
        scopes = [ANY_SCOPE] if collections is None else [each.hex for each in collections]
        if not (terms and scopes):
            return []
        relevance = Relevance(terms)

        def place(passage: Any) -> tuple[float, int, str, str]:
            score = relevance.of(passage.text, passage.context)
            return -score, passage.ordinal, passage.context, passage.text

        return sorted(self.candidates(terms, scopes), key=place)[:limit]

    def candidates(self, terms: Sequence[str], scopes: Sequence[str]) -> list[P]:
        """Return the passages that the database ranks best, each with its ``score``.

        Each passage that is ranked costs time, so only those are that hold what ``chosen_terms`` chooses, unless they
        are too few; the score is the same.
        """
        chosen, join = self.chosen_terms(terms, scopes)
        found: models.QuerySet[P] = self.matching(chosen, join, terms, scopes)
        if join == "AND" and (count := self.about_how_many(chosen, scopes)) > _MANY:
            # Words that most passages hold say little about which is best: the first ones are as good as others.
            table = self.model._meta.db_table
            row = f"{table}.id" if self.is_postgresql else f"{index_table(table)}.rowid"
            if self.is_postgresql and count < _MOST:
                row += " + 0"  # so that it doesn't read nearly all passages, by the primary key, to find these
            in_order = found.order_by(RawSQL(row, ()))  # noqa: S611 - constant names
            for beyond in in_order.values_list("pk", flat=True)[_MANY : _MANY + 1]:
                found = found.extra(where=[f"{row} < %s"], params=[beyond])  # noqa: S610 - constant names
        best = list(found[:_CANDIDATES])
        if len(best) < _ENOUGH and (chosen, join) != (terms, "OR"):
            return list(self.matching(terms, "OR", terms, scopes)[:_CANDIDATES])
        return best

    def chosen_terms(self, terms: Sequence[str], scopes: Sequence[str]) -> tuple[Sequence[str], Join]:
        """Return of which terms a passage must hold any, or all: the rare ones, or common ones that are rare together.

        They are counted in the index alone, among the passages that may be read.
        """
        rare = [term for term in terms if self.about_how_many([term], scopes) <= _MANY]
        if rare:
            return rare, "OR"
        chosen, count = terms[:1], _MANY + 1
        for term in terms[1:]:
            more = self.about_how_many([*chosen, term], scopes) if count > _MANY else 0
            if more:
                chosen, count = [*chosen, term], more
        return chosen, "AND"

    def about_how_many(self, terms: Sequence[str], scopes: Sequence[str]) -> int:
        """Return how many passages hold all of these terms. Above ``_MANY`` it isn't exact."""
        if self.is_postgresql:
            return estimate_vector(self, INDEX_COLUMN, tsquery(terms, "AND"))
        expression = f"{scope_fts5(scopes)} AND ({fts5_expression(terms, 'AND')})"
        return count_fts5(index_table(self.model._meta.db_table), expression, _MANY + 1)

    def matching(
        self, chosen: Sequence[str], join: Join, terms: Sequence[str], scopes: Sequence[str]
    ) -> PassageQuerySet[P]:
        """Return the passages that hold any or all of the chosen terms, ranked by all ``terms``."""
        # each engine ranks in its own way; scores are compared within one search only
        found: models.QuerySet[P]
        if self.is_postgresql:
            # any word may match; the rank puts passages with several first
            weights = [1.0, 0.4, 0.7, 1.0]
            ranked = tsquery(terms, "OR")
            found = match_vector(self, INDEX_COLUMN, tsquery(chosen, join), ranked=ranked, weights=weights, then="pk")
        else:
            scope = scope_fts5(scopes)
            expression = f"{scope} AND ({fts5_expression(chosen, join)})"
            if others := [term for term in terms if term not in chosen]:
                # Each term once, for each counts in the score; the scope, which every passage has, counts nothing.
                expression += f" AND ({scope} OR {fts5_expression(others, 'OR')})"
            table = index_table(self.model._meta.db_table)
            found = match_fts5(self, table, expression, weights=", 2.0, 1.0, 0.0", then="pk")
        return cast("PassageQuerySet[P]", found)

    @property
    def is_postgresql(self) -> bool:
        return connections[self.db].vendor == "postgresql"
