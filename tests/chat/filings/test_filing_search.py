"""Search finds the passage, of the company that was meant, on either database; its index keeps in step."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.filings.ingest import ingest, load_demo
from chat.filings.models import Passage
from chat.filings.search import (
    SNIPPET_MAX_CHARS,
    find_companies,
    match_company,
    read_passages,
    search_passages,
    snippet,
)
from chat.search.fts5 import PASSAGE_INDEXES, check_passage_indexes
from chat.tools.base import SearchQuery

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
COMPANIES = ["Apple Inc.", "The Home Depot, Inc.", "McDonald’s Corporation", "Commonwealth Income & Growth Fund V"]


@pytest.fixture
def demo():
    return load_demo()


def anchors_of(text: str, **narrowed: str) -> list[str]:
    return [found.anchor for found in search_passages(SearchQuery(text, **narrowed)).passages]


def test_best_passage_comes_first(demo):
    found = search_passages(SearchQuery("Which turbines were replaced at Skerry Sound?"))

    assert "numbers 3, 4, 7, 9, 10 and 13" in found.passages[0].text


@given(
    text=st.one_of(st.text(max_size=40), st.sampled_from(["", "the of and", 'a" OR b:*', "NEAR(", "\0", "!!! & | <->"]))
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_can_be_searched_for(text):
    search_passages(SearchQuery(text, company=text))


def test_form_includes_amendments_and_exhibits():
    ingest(b"<p>Exhibit 99.1</p><p>Acme Corp reports net income of zebras</p>", name="acme-8k-ex99.html")

    assert [found.title for found in search_passages(SearchQuery("zebras", form="8-K")).passages] == ["8-K EX-99.1"]
    assert not search_passages(SearchQuery("zebras", form="10-K")).passages


def test_company_named_in_the_question_narrows_the_search(demo):
    found = search_passages(SearchQuery("What is Calder Ridge’s interest rate risk?"))

    assert {passage.publisher for passage in found.passages} == {"Calder Ridge Cold Chain, Inc."}


def test_two_companies_named_are_both_answered(demo):
    found = search_passages(SearchQuery("Compare the interest rate risk of Northwind and Calder Ridge", limit=4))

    assert len({passage.publisher for passage in found.passages[:2]}) == 2


@pytest.mark.parametrize("many", [2, 3, 30])
def test_common_words_are_left_out_only_where_enough_is_found_without(demo, monkeypatch, many):
    monkeypatch.setattr("chat.models.passages._MANY", many)
    monkeypatch.setattr("chat.models.passages._ENOUGH", 2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # PostgreSQL estimates how common a word is

    assert "numbers 3, 4, 7, 9, 10 and 13" in search_passages(SearchQuery("turbines replaced Skerry")).passages[0].text
    assert len(search_passages(SearchQuery("turbines zyzzyva", limit=3)).passages) == 3
    assert len(search_passages(SearchQuery("company", limit=3)).passages) >= min(many, 2)


def test_unknown_company_gives_nothing(demo):
    found = search_passages(SearchQuery("interest rate risk", company="Tesla, Inc."))

    assert found.passages == ()
    assert found.documents == 0


def test_passage_is_read_by_its_address_with_neighbours(demo):
    url = search_passages(SearchQuery("seabed lease renewed", company="Northwind", limit=1)).passages[0].url
    alone, around = read_passages(url, 0), read_passages(f"http://host.example{url}", 1)

    assert [found.url for found in alone.passages] == [url]
    assert [found.url for found in around.passages][1] == url
    assert len(around.passages) == 3


@pytest.mark.parametrize("url", ["", "#item-1-p1", "/filings/none/#item-1-p1", "/filings/none/", "http://[", "\x00"])
def test_unknown_address_gives_nothing(demo, url):
    assert read_passages(url, 1).passages == ()


@pytest.mark.parametrize("form", ["/etc/{}", "/filings/../{}", "file:///filings/{}", "/chats/{}", "{}", "//x/{}"])
def test_address_that_is_none_of_ours_gives_nothing(demo, form):
    passage = Passage.objects.select_related("filing").first()
    assert passage is not None

    assert read_passages(form.replace("{}", f"{passage.filing.slug}/{passage.anchor}")).passages == ()


@pytest.mark.parametrize(
    ("text", "companies"),
    [
        ("How did Apple's sales do?", ["Apple Inc."]),
        ("Does Home Depot stock apple trees?", ["The Home Depot, Inc."]),
        ("Does home depot have stores in Ohio?", ["The Home Depot, Inc."]),
        ("mcdonalds restaurants", ["McDonald’s Corporation"]),
        ("Which lessee does the Commonwealth fund want?", ["Commonwealth Income & Growth Fund V"]),
        ("What was Tesla's revenue?", []),
    ],
)
def test_companies_are_known_by_their_distinctive_words(text, companies):
    assert find_companies(text, COMPANIES) == companies


@pytest.mark.parametrize(
    ("name", "companies"),
    [
        ("Apple", ["Apple Inc."]),
        ("HOME DEPOT INC", ["The Home Depot, Inc."]),
        ("Home", []),
        ("McDonald's Corp.", ["McDonald’s Corporation"]),
        ("Applebee Inc.", []),
        ("Inc.", []),
    ],
)
def test_given_company_is_matched_or_unknown(name, companies):
    assert match_company(name, COMPANIES) == companies


def test_snippet_shows_the_words_that_were_searched_for():
    text = "Filler words. " * 60 + "The ratio was 1.31 to 1.00. " + "More filler. " * 60
    shown = snippet(text, ["ratio", "1.31"])

    assert "ratio was 1.31" in shown
    assert len(shown) <= SNIPPET_MAX_CHARS
    assert shown.startswith("…")


@given(st.text(max_size=600), st.lists(st.text(max_size=8), max_size=4))
def test_snippet_is_short_whatever_the_text(text, terms):
    assert len(snippet(text, terms)) <= SNIPPET_MAX_CHARS


@pytest.mark.sqlite
def test_triggers_are_created_again_after_migrate(demo):
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER chat_passage_fts_insert")
    passage = Passage.objects.get(filing=demo[0], anchor="#item-1-p1")
    Passage.objects.create(filing=demo[0], ordinal=999, anchor="#x-p1", section="X", text="zebras", context="")

    assert [message.id for message in check_passage_indexes(None, ["default"])] == ["chat.W001"]
    PASSAGE_INDEXES[0].ensure()
    passage.text = "okapis"
    passage.save()

    assert check_passage_indexes(None, ["default"]) == []
    assert anchors_of("zebras") == ["#x-p1"]
    assert anchors_of("okapis") == [passage.anchor]


@pytest.mark.sqlite
def test_missing_rows_are_reported_and_reindexed(demo):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO chat_passage_fts(chat_passage_fts) VALUES ('delete-all')")
    assert [message.id for message in check_passage_indexes(None, ["default"])] == ["chat.W001"]

    call_command("reindex", stdout=StringIO())

    assert check_passage_indexes(None, ["default"]) == []
    assert anchors_of("Skerry Sound turbines")


def test_words_within_text_without_spaces_are_found_and_shown():
    lead, tail = "当社は多くの事業を営んでいます。" * 10, "その他の事項は次のとおりです。" * 10
    for number, sentence in enumerate(("契約書の第三条に違反した場合は返済します。", "修改youer服务端")):
        document = f"<html><body><p>FORM 10-K</p><p>{lead}{sentence}{tail}</p></body></html>"
        ingest(document.encode(), name=f"japan-{number}.html")

    for question, words in (("第三条について", "第三条に違反"), ("契約", "契約書"), ("youer", "修改youer服务端")):
        found = search_passages(SearchQuery(question)).passages[0]
        assert words in found.text
        assert words in found.snippet
