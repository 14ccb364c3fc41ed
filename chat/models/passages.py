"""Passages of documents that can be searched: FTS5 on SQLite, ``tsvector`` on PostgreSQL.

``Passage.objects.filter(filing__form="10-K").search("risk factors")`` returns passages annotated with ``score``, best
first. Words are joined by OR and always quoted, so user input is never search syntax. The database engine ranks.
``chat.search.fts5.passage_index`` describes the index.
"""

from __future__ import annotations

import re
from typing import TypeVar, cast

from django.db import connections, models

from chat.search.fts5 import INDEX_COLUMN, fts5_expression, index_table, match_fts5, match_vector, tsquery
from chat.search.search_text import MARKS, query_terms

P = TypeVar("P", bound=models.Model)

_MAX_TERMS = 40
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

    def search(self, text: str) -> PassageQuerySet[P]:
        """Return the passages that share a word with ``text``, best first, each with its ``score``."""
        terms = query_terms(search_terms(text))[:_MAX_TERMS]
        if not terms:
            return self.none()
        # each engine ranks in its own way; scores are compared within one search only
        found: models.QuerySet[P]
        if connections[self.db].vendor == "postgresql":
            # any word may match; the rank puts passages with several first
            weights = [1.0, 0.4, 0.7, 1.0]
            found = match_vector(self, INDEX_COLUMN, tsquery(terms, "OR"), weights=weights, then="pk")
        else:
            found = match_fts5(
                self,
                index_table(self.model._meta.db_table),
                fts5_expression(terms, "OR"),
                weights=", 2.0, 1.0",
                then="pk",
            )
        return cast("PassageQuerySet[P]", found)
