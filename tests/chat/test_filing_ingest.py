"""Files become filings: what they say about themselves, loaded once however often, with anchors that stay."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.filings.anchors import anchors
from chat.filings.dates import find_date
from chat.filings.demo import DEMO_FOLDER, load_demo
from chat.filings.ingest import ingest
from chat.filings.passages import cut_passages
from chat.filings.sections import Block
from chat.filings.submission import DocumentError
from chat.models import Filing, Passage

SENTENCE = "The company makes small things and sells them to people who like them. "


def annual_report(*, extra: str = "", facts: str = "", company: str = "Acme Widgets, Inc.") -> bytes:
    items = "".join(
        f"<p><b>Item {code}</b></p><p><b>On this</b></p>" + f"<p>{SENTENCE * 6}{code}</p>" * 4
        for code in ("1. Business", "1A. Risk Factors", "2. Properties", "3. Legal Proceedings")
    )
    return (
        f"<html><body>{facts}<p>FORM 10-K</p><p>For the fiscal year ended June 30, 2021</p><p><b>{company}</b></p>"
        f"<p>(Exact name of registrant as specified in its charter)</p>{items}{extra}"
        "<p><b>SIGNATURES</b></p><p>Date: September 1, 2021</p></body></html>"
    ).encode()


def submission(document: bytes, *, filed: str = "20210903") -> bytes:
    header = (
        f"<SEC-HEADER>\nACCESSION NUMBER:\t\t0000123456-21-000007\nFILED AS OF DATE:\t\t{filed}\n"
        "COMPANY CONFORMED NAME:\t\t\tACME WIDGETS, INC.\nCENTRAL INDEX KEY:\t\t\t0000123456\n</SEC-HEADER>\n"
    )
    return f"{header}<DOCUMENT>\n<TYPE>10-K\n<TEXT>\n{document.decode()}\n</TEXT>\n</DOCUMENT>".encode()


@pytest.mark.django_db
def test_cover_tells_company_form_and_dates() -> None:
    filing = ingest(annual_report(), name="a.html")

    assert (filing.company, filing.form) == ("Acme Widgets, Inc.", "10-K")
    assert (filing.period_on, filing.signed_on) == (dt.date(2021, 6, 30), dt.date(2021, 9, 1))


@pytest.mark.django_db
def test_filing_date_is_never_invented() -> None:
    assert ingest(annual_report(), name="a.html").filed_on is None


@pytest.mark.django_db
def test_header_states_filing_date_and_wins_over_the_argument() -> None:
    filing = ingest(submission(annual_report()), name="a.txt", filed_on=dt.date(1999, 1, 1))

    assert filing.filed_on == dt.date(2021, 9, 3)
    assert (filing.accession, filing.cik) == ("0000123456-21-000007", "123456")


@pytest.mark.django_db
def test_filing_date_can_be_told_later() -> None:
    ingest(annual_report(), name="a.html")

    assert ingest(annual_report(), name="a.html", filed_on=dt.date(2021, 9, 3)).filed_on == dt.date(2021, 9, 3)


@pytest.mark.django_db
def test_inline_facts_win_over_the_cover() -> None:
    facts = (
        '<ix:header><ix:nonNumeric name="dei:EntityRegistrantName">Other Name Corp</ix:nonNumeric>'
        '<ix:nonNumeric name="dei:DocumentType">10-K/A</ix:nonNumeric>'
        '<ix:nonNumeric name="dei:DocumentPeriodEndDate">2020-12-31</ix:nonNumeric></ix:header>'
    )
    filing = ingest(annual_report(facts=facts), name="a.html")

    assert (filing.company, filing.form, filing.period_on) == ("Other Name Corp", "10-K/A", dt.date(2020, 12, 31))


@pytest.mark.django_db
def test_name_in_capitals_is_written_as_the_text_writes_it() -> None:
    document = annual_report(company="ACME WIDGETS, INC.", extra="<p>So says Acme Widgets, Inc. of itself.</p>")

    assert ingest(document, name="a.html").company == "Acme Widgets, Inc."


@pytest.mark.django_db
def test_plain_text_cover_tells_the_registrant() -> None:
    header = submission(b"").decode().split("<DOCUMENT>")[0].replace("ACME WIDGETS, INC.", "")
    cover = (
        "                SECURITIES AND EXCHANGE COMMISSION\n                     FORM 10-K\n"
        "For the fiscal year ended June 30, 1996\n\n                   ACME WIDGETS, INC.\n"
        "     (Exact name of registrant as specified in its charter)\n\n     Delaware                 13-2865787\n"
    )
    filing = ingest(f"{header}<DOCUMENT>\n<TYPE>10-K405\n<TEXT>\n{cover}\n</TEXT>".encode(), name="a.txt")

    assert (filing.company, filing.form, filing.period_on) == ("Acme Widgets, Inc.", "10-K405", dt.date(1996, 6, 30))


@pytest.mark.django_db
def test_same_bytes_are_one_filing() -> None:
    first = ingest(annual_report(), name="a.html")
    before = list(first.passages.values_list("pk", "anchor"))

    again = ingest(annual_report(), name="copy.html")

    assert again.pk == first.pk
    assert list(again.passages.values_list("pk", "anchor")) == before


@pytest.mark.django_db
def test_changed_bytes_keep_slug_and_anchors_of_what_stays() -> None:
    first = ingest(annual_report(), name="a.html")
    before = dict(first.passages.values_list("text", "anchor"))
    changed = annual_report().replace(b"<b>On this</b></p>", b"<b>New</b></p><p>" + SENTENCE.encode() * 12 + b"</p>", 1)

    again = ingest(changed, name="b.html")

    after = dict(again.passages.values_list("text", "anchor"))
    assert again.slug == first.slug
    assert Filing.objects.count() == 1
    kept = before.keys() & after.keys()
    assert len(kept) >= len(before) - 2
    assert all(before[text] == after[text] for text in kept)


@pytest.mark.django_db
def test_other_year_is_another_filing_with_its_own_slug() -> None:
    first = ingest(annual_report(), name="a.html")
    second = ingest(annual_report().replace(b"2021", b"2022"), name="a.html")

    assert first.pk != second.pk
    assert first.slug != second.slug


@pytest.mark.django_db
def test_anchor_names_section_and_ordinal() -> None:
    filing = ingest(annual_report(), name="a.html")

    assert filing.passages.filter(section="Item 1A").order_by("ordinal").first().anchor == "#item-1a-p1"


@pytest.mark.django_db
def test_context_holds_what_questions_name() -> None:
    filing = ingest(annual_report(), name="a.html")
    context = filing.passages.get(anchor="#item-2-p1").context

    for words in ("Acme Widgets, Inc.", "10-K", "June 30, 2021", "Item 2", "Properties"):
        assert words in context


@pytest.mark.django_db
def test_failed_document_leaves_nothing() -> None:
    with pytest.raises(DocumentError):
        ingest(b"<html><body><p> - </p></body></html>", name="empty.html")

    assert not Filing.objects.exists()


def test_text_that_is_new_never_gets_a_used_anchor() -> None:
    known = [("Item 1", "#item-1-p1", "a"), ("Item 1", "#item-1-p2", "b")]

    assert anchors([("Item 1", "a"), ("Item 1", "new"), ("Item 1", "b")], known) == [
        "#item-1-p1",
        "#item-1-p3",
        "#item-1-p2",
    ]


def test_text_edited_in_place_keeps_its_anchor() -> None:
    known = [("Item 1", f"#item-1-p{n}", text) for n, text in enumerate("abc", start=1)]

    assert anchors([("Item 1", "a"), ("Item 1", "B"), ("Item 1", "c")], known)[1] == "#item-1-p2"


sections = st.sampled_from(["Item 1", "Item 1A", "Part I, Item 2", "Item 5.02"])
texts = st.lists(st.tuples(sections, st.text("abc", max_size=2)), max_size=12)


@given(texts, texts)
@settings(max_examples=150, deadline=None)
def test_anchors_are_unique_and_stay_for_the_same_text(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    first = anchors(before)
    known = [(section, anchor, text) for (section, text), anchor in zip(before, first, strict=True)]

    assert len(set(first)) == len(first)
    assert len(set(anchors(after, known))) == len(after)
    assert anchors(before, known) == first


blocks = st.lists(
    st.builds(
        Block,
        section=sections,
        section_title=st.just(""),
        heading=st.just(""),
        kind=st.sampled_from(["heading", "text", "table"]),
        text=st.text("ab. ", min_size=1, max_size=3000).map(lambda text: " ".join(f"x{text}x".split())),
    ),
    max_size=8,
)


@given(blocks)
@settings(max_examples=100, deadline=None)
def test_passages_lose_no_text_and_stay_short(found: list[Block]) -> None:
    passages = cut_passages(found)

    assert "".join("".join(one.text.split()) for one in passages) == "".join("".join(b.text.split()) for b in found)
    assert all(len(one.text) <= 4000 for one in passages)


def test_passage_never_ends_with_a_heading() -> None:
    section = [
        Block("Item 1", "", "", kind, text)
        for kind, text in [("text", "a" * 900), ("text", "b" * 100), ("heading", "On c"), ("text", "c" * 900)]
    ]

    assert [one.text.split("\n")[0][0] for one in cut_passages(section)] == ["a", "O"]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("for the year ended September 28 , 2024", dt.date(2024, 9, 28)),
        ("this 3rd day of March, 1999", dt.date(1999, 3, 3)),
        ("2023-12-31", dt.date(2023, 12, 31)),
        ("Dated: 8/2/18", dt.date(2018, 8, 2)),
        ("February 30, 2020", None),
        ("no date", None),
    ],
)
def test_dates_are_read_as_filings_write_them(text: str, date: dt.date | None) -> None:
    assert find_date(text) == date


@pytest.mark.django_db
def test_demo_corpus_is_loaded_once_and_labelled() -> None:
    load_demo()
    filings = load_demo()

    assert Filing.objects.count() == len(filings) == 3
    assert all(filing.is_demo and filing.filed_on for filing in filings)
    covers = Passage.objects.filter(section="Cover", text__icontains="invented for demonstration")
    assert covers.values("filing").distinct().count() == 3


def test_demo_filings_are_small() -> None:
    assert all(path.stat().st_size < 16_000 for path in DEMO_FOLDER.iterdir())
