"""Search of documents: a person reads the passages of one's collections, in the order that all words give."""

import random
import re
import uuid

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.documents.access import Reader
from chat.documents.search import search_passages
from chat.models import Collection, Document, DocumentPassage
from chat.models.passages import search_terms
from chat.search.ranking import Relevance
from chat.search.search_text import query_terms
from chat.tools.base import SearchQuery

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
# The first ones are in most passages, the last ones in few.
WORDS = "harbour crane pallet silo ledger winch barge quay tugboat mooring ballast fender".split()


@pytest.fixture
def collections():
    chance = random.Random(1)  # noqa: S311 - the same texts in each run
    made = [Collection.objects.create(name=name) for name in ("large", "small")]
    for collection, count in zip(made, (60, 6), strict=True):
        document = Document.objects.create(
            collection=collection,
            name="a.txt",
            media_type="text/plain",
            size=1,
            status=Document.Status.READY,
            sealed_content=b"",
        )
        weights = [1 / (place + 1) for place in range(len(WORDS))]
        for ordinal in range(count):
            text = " ".join(chance.choices(WORDS, weights, k=chance.randint(4, 12)))
            text = f"dock {text}"
            DocumentPassage.objects.create(document=document, ordinal=ordinal, anchor=f"#p{ordinal}", text=text)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # PostgreSQL estimates how common a word is
    return made


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.parametrize("name", ["large", "small"])
def test_first_stage_changes_no_order(collections, monkeypatch, name, words):
    monkeypatch.setattr("chat.models.passages._MANY", 12)
    monkeypatch.setattr("chat.models.passages._ENOUGH", 5)
    collection = next(one for one in collections if one.name == name)
    passages = DocumentPassage.objects.filter(document__collection=collection)
    terms = query_terms(search_terms(" ".join(words)))

    found = {one.pk: one.score for one in passages.candidates(terms, [collection.pk.hex])}
    every = {one.pk: one.score for one in passages.matching(terms, "OR", terms, [collection.pk.hex])}

    assert list(found) == [pk for pk in every if pk in found]
    assert list(found.values()) == pytest.approx([every[pk] for pk in found])
    # A reader of few passages gets them ranked by the whole query.
    assert name == "large" or list(found)[:5] == list(every)[:5]


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_order_depends_on_the_texts_alone(collections, words):
    passages = DocumentPassage.objects.filter(document__collection=collections[0])
    relevance = Relevance(query_terms(search_terms(" ".join(words))))

    found = passages.best(" ".join(words), 5, [collections[0].pk])

    every = [one for one in passages if relevance.of(one.text, one.context)]
    assert found == sorted(every, key=lambda one: (-relevance.of(one.text, one.context), one.ordinal))[:5]


def test_only_the_given_collections_are_read(collections):
    large, small = collections

    def count(*pks):
        query = SearchQuery("dock harbour", limit=20)
        return len(search_passages(query, Reader(uuid.uuid4(), 1, pks)).passages)

    assert (count(large.pk), count(small.pk), count()) == (20, 6, 0)
    assert count(large.pk, small.pk) == 20
    pk = small.pk
    small.delete()
    assert (count(pk), count(large.pk)) == (0, 20)


@pytest.mark.sqlite  # PostgreSQL has no triggers for its index
def test_passage_is_indexed_without_a_look_at_the_contents_of_its_document():
    # ruling 45: while a large document was stored, nobody else could write.
    with connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'chat_documentpassage'")
        triggers = [sql for (sql,) in cursor.fetchall()]
        assert len(triggers) == 3
        for sql in triggers:
            scope = re.search(r"\(SELECT collection_id .*?\)", sql)[0]
            cursor.execute("EXPLAIN QUERY PLAN SELECT " + re.sub(r"(new|old)\.document_id", "'x'", scope))
            assert "COVERING INDEX" in str(cursor.fetchall())
