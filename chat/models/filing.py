"""Filings, their passages, and full-text search as one queryset method: FTS5 on SQLite, ``tsvector`` on PostgreSQL.

``Passage.objects.filter(filing__form="10-K").search("risk factors")`` returns passages annotated with ``score``, best
first. Words are joined by OR and always quoted, so user input is never search syntax. The database engine ranks. The
index itself is created in ``chat.filings.search_index``.
"""

from __future__ import annotations

import re
from typing import cast

from django.db import connections, models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chat.fts5 import fts5_expression, match_fts5, match_vector, tsquery
from chat.search_text import MARKS, query_terms

INDEX_TABLE = "chat_passage_fts"
INDEX_COLUMN = "search_vector"

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


class PassageQuerySet(models.QuerySet["Passage"]):
    """Passages that can be searched."""

    def search(self, text: str) -> PassageQuerySet:
        """Return the passages that share a word with ``text``, best first, each with its ``score``."""
        terms = query_terms(search_terms(text))[:_MAX_TERMS]
        if not terms:
            return self.none()
        # each engine ranks in its own way; scores are compared within one search only
        found: models.QuerySet[Passage]
        if connections[self.db].vendor == "postgresql":
            # any word may match; the rank puts passages with several first
            weights = [1.0, 0.4, 0.7, 1.0]
            found = match_vector(self, INDEX_COLUMN, tsquery(terms, "OR"), weights=weights, then="pk")
        else:
            found = match_fts5(self, INDEX_TABLE, fts5_expression(terms, "OR"), weights=", 2.0, 1.0", then="pk")
        return cast("PassageQuerySet", found)


class Filing(models.Model):
    """One EDGAR document. Its ``slug`` stays the same when it is ingested again, so citations stay valid."""

    slug = models.SlugField(_("slug"), max_length=120, unique=True)
    company = models.CharField(_("company"), max_length=200)
    cik = models.CharField(_("CIK"), max_length=10, blank=True)
    form = models.CharField(_("form"), max_length=30)
    filed_on = models.DateField(_("filed on"), null=True, blank=True)
    period_on = models.DateField(_("period or event date"), null=True, blank=True)
    signed_on = models.DateField(_("signed on"), null=True, blank=True)
    accession = models.CharField(_("accession number"), max_length=30, blank=True)
    source_name = models.CharField(_("source file"), max_length=255, blank=True)
    # by which a file that is loaded again unchanged is recognised
    digest = models.CharField(_("content digest"), max_length=64)
    is_demo = models.BooleanField(_("demo data (fictional)"), default=False)
    loaded_at = models.DateTimeField(_("loaded at"), auto_now=True)

    class Meta:
        verbose_name = _("filing")
        verbose_name_plural = _("filings")
        ordering = ("company", "-period_on")

    def __str__(self) -> str:
        return f"{self.company} {self.form}"

    def get_absolute_url(self) -> str:
        return reverse("chat:filing", args=[self.slug])


class Passage(models.Model):
    """A run of blocks of one section, about 1,100 characters, with an anchor of our own."""

    filing = models.ForeignKey(Filing, on_delete=models.CASCADE, related_name="passages")
    ordinal = models.PositiveIntegerField(_("ordinal in the filing"))
    section = models.CharField(_("section"), max_length=80)
    section_title = models.CharField(_("section title"), max_length=300, blank=True)
    heading = models.CharField(_("heading"), max_length=300, blank=True)
    # "#item-7-p31": stored citations name it
    anchor = models.CharField(_("anchor"), max_length=80)
    kind = models.CharField(_("kind"), max_length=10, default="text")
    text = models.TextField(_("text"))
    context = models.CharField(_("search context"), max_length=1000)

    objects = PassageQuerySet.as_manager()

    class Meta:
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        ordering = ("filing", "ordinal")
        constraints = (
            models.UniqueConstraint(fields=["filing", "anchor"], name="passage_anchor_once"),
            models.UniqueConstraint(fields=["filing", "ordinal"], name="passage_ordinal_once"),
        )

    def __str__(self) -> str:
        return f"{self.filing_id}{self.anchor}"
