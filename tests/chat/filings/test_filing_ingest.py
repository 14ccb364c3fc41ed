"""Files become filings: metadata, loading once however often, anchors that stay, the command and the demo."""

import datetime as dt
import gzip
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from chat.filings.ingest import DEMO_FOLDER, ingest, load_demo, read_document
from chat.filings.metadata import find_date
from chat.filings.models import Filing, Passage
from chat.filings.outline import SectionBlock
from chat.filings.passages import cut_passages
from chat.filings.submission import MAX_BYTES, MAX_TAGS_AND_LINES, DocumentError
from chat.search.passage_text import anchors
from tests.chat.filing_samples import SENTENCE, annual_report, submission
from tests.factories import make_user

ACME = ("Acme, Inc.", "10-K")


@pytest.mark.django_db
def test_cover_names_company_form_and_dates():
    filing = ingest(annual_report(), name="a.html")

    assert (filing.company, filing.form) == ("Acme Widgets, Inc.", "10-K")
    assert (filing.period_on, filing.signed_on) == (dt.date(2021, 6, 30), dt.date(2021, 9, 1))
    assert filing.filed_on is None  # never invented


@pytest.mark.django_db
def test_header_states_filing_date_and_wins_over_the_argument():
    filing = ingest(submission(annual_report()), name="a.txt", filed_on=dt.date(1999, 1, 1))

    assert filing.filed_on == dt.date(2021, 9, 3)
    assert (filing.accession, filing.cik) == ("0000123456-21-000007", "123456")


@pytest.mark.django_db
def test_inline_facts_win_over_the_cover():
    facts = (
        '<ix:header><ix:nonNumeric name="dei:EntityRegistrantName">Other Name Corp</ix:nonNumeric>'
        '<ix:nonNumeric name="dei:DocumentType">10-K/A</ix:nonNumeric>'
        '<ix:nonNumeric name="dei:DocumentPeriodEndDate">2020-12-31</ix:nonNumeric></ix:header>'
    )
    filing = ingest(annual_report(facts=facts), name="a.html")

    assert (filing.company, filing.form, filing.period_on) == ("Other Name Corp", "10-K/A", dt.date(2020, 12, 31))


@pytest.mark.django_db
def test_plain_text_cover_names_the_registrant():
    header = submission(b"").decode().split("<DOCUMENT>")[0].replace("ACME WIDGETS, INC.", "")
    cover = (
        "                SECURITIES AND EXCHANGE COMMISSION\n                     FORM 10-K\n"
        "For the fiscal year ended June 30, 1996\n\n                   ACME WIDGETS, INC.\n"
        "     (Exact name of registrant as specified in its charter)\n\n     Delaware                 13-2865787\n"
    )
    filing = ingest(f"{header}<DOCUMENT>\n<TYPE>10-K405\n<TEXT>\n{cover}\n</TEXT>".encode(), name="a.txt")

    assert (filing.company, filing.form, filing.period_on) == ("Acme Widgets, Inc.", "10-K405", dt.date(1996, 6, 30))


@pytest.mark.parametrize(
    ("cover", "company", "form", "period"),
    [
        ("FORM 10 – K|For the 52 weeks ended June 29, 2024|Acme, Inc.|(Exact name of registrant)", *ACME, "2024-06-29"),
        (
            "FORM 10‑K|For the fiscal year ended: 31 March 2024|Acme, Inc.|(Exact name of registrant)",
            *ACME,
            "2024-03-31",
        ),
        ("FORM 6-K|Nordic Quay ASA|(Translation of registrant’s name into English)", "Nordic Quay ASA", "6-K", "None"),
    ],
)
def test_cover_is_read_in_its_variants(cover, company, form, period):
    body = "".join(f"<p>{line}</p>" for line in cover.split("|"))

    found = read_document(f"<html><body>{body}<p>{SENTENCE * 6}</p></body></html>".encode(), name="a.htm").metadata

    assert (found.company, found.form, str(found.period_on)) == (company, form, period)


@pytest.mark.django_db
def test_same_bytes_are_one_filing():
    first = ingest(annual_report(), name="a.html")
    before = list(first.passages.values_list("pk", "anchor"))

    again = ingest(annual_report(), name="copy.html")

    assert again.pk == first.pk
    assert list(again.passages.values_list("pk", "anchor")) == before


@pytest.mark.django_db
def test_changed_filing_has_the_same_slug_and_anchors():
    first = ingest(annual_report(), name="a.html")
    before = dict(first.passages.values_list("text", "anchor"))
    changed = annual_report().replace(b"<b>On this</b></p>", b"<b>New</b></p><p>" + SENTENCE.encode() * 12 + b"</p>", 1)

    again = ingest(changed, name="b.html")

    after = dict(again.passages.values_list("text", "anchor"))
    assert again.slug == first.slug
    assert Filing.objects.count() == 1
    same = before.keys() & after.keys()
    assert len(same) >= len(before) - 2
    assert all(before[text] == after[text] for text in same)


@pytest.mark.django_db
def test_passage_has_an_anchor_and_a_context_that_questions_name():
    passage = ingest(annual_report(), name="a.html").passages.get(anchor="#item-1a-p1")

    assert passage.section == "Item 1A"
    for words in ("Acme Widgets, Inc.", "10-K", "June 30, 2021", "Item 1A", "Risk Factors"):
        assert words in passage.context


sections = st.sampled_from(["Item 1", "Item 1A", "Part I, Item 2", "Item 5.02"])
texts = st.lists(st.tuples(sections, st.text("abc", max_size=2)), max_size=12)


@given(texts, texts)
def test_anchors_are_unique_and_stable(before, after):
    first = anchors(before)
    known = [(section, anchor, text) for (section, text), anchor in zip(before, first, strict=True)]

    assert len(set(first)) == len(first)
    assert len(set(anchors(after, known))) == len(after)
    assert anchors(before, known) == first


blocks = st.lists(
    st.builds(
        SectionBlock,
        section=sections,
        section_title=st.just(""),
        heading=st.just(""),
        kind=st.sampled_from(["heading", "text", "table"]),
        text=st.text("ab. ", min_size=1, max_size=3000).map(lambda text: " ".join(f"x{text}x".split())),
    ),
    max_size=8,
)


@given(blocks)
def test_passages_lose_no_text_and_stay_short(found):
    passages = cut_passages(found)

    assert "".join("".join(one.text.split()) for one in passages) == "".join("".join(b.text.split()) for b in found)
    assert all(len(one.text) <= 4000 for one in passages)


def test_headings_without_text_are_cut_into_passages():
    headings = [SectionBlock("Item 1", "", "", "heading", f"STORM WARNING {number}") for number in range(500)]

    assert max(len(one.text) for one in cut_passages(headings)) < 2_000


def test_passage_never_ends_with_the_heads_of_columns():
    rows = [" | 2024", "Assets", *(f"Line {n} of the table | {n},000" for n in range(100))]
    blocks = [SectionBlock("Item 8", "", "", "table", text, table=1) for text in rows]
    found = cut_passages([SectionBlock("Item 8", "", "", "text", "a" * 1080), *blocks])

    assert found[0].text == "a" * 1080
    assert found[1].text.startswith(" | 2024\nAssets\nLine 0")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("for the year ended September 28 , 2024", dt.date(2024, 9, 28)),
        ("this 3rd day of March, 1999", dt.date(1999, 3, 3)),
        ("Dated: 8/2/18", dt.date(2018, 8, 2)),
        ("February 30, 2020", None),
    ],
)
def test_dates_are_read_as_filings_write_them(text, date):
    assert find_date(text) == date


@pytest.mark.django_db
def test_demo_corpus_is_loaded_once_and_labelled():
    load_demo()
    filings = load_demo()

    assert Filing.objects.count() == len(filings) == 3
    assert all(filing.is_demo and filing.filed_on for filing in filings)
    covers = Passage.objects.filter(section="Cover", text__icontains="invented for demonstration")
    assert covers.values("filing").distinct().count() == 3
    assert all(path.stat().st_size < 16_000 for path in DEMO_FOLDER.iterdir())


@pytest.mark.django_db
def test_command_names_what_fails_and_continues(tmp_path):
    (tmp_path / "a.html").write_bytes(annual_report())
    (tmp_path / "b.html").write_bytes(b"%PDF-1.7")
    (tmp_path / "notes.md").write_text("no filing")
    out, err = StringIO(), StringIO()

    with pytest.raises(SystemExit) as stopped:
        call_command("load_filings", str(tmp_path), "--filed", "2021-09-03", stdout=out, stderr=err)

    assert stopped.value.code == 1
    assert "a.html: Acme Widgets, Inc. 10-K, filed 2021-09-03" in out.getvalue()
    assert out.getvalue().endswith("1 filing loaded, 1 failed.\n")
    assert "b.html was skipped: not an HTML or text document" in err.getvalue()


# Files from a stranger: refused with the limit that they pass, or parsed in time, with nothing of this host.


HEAD = "<html><body><p>FORM 10-K</p><p>Item 1. Business</p><p>We make turbines.</p>"
TABLES = {
    "wide row": "<table><tr>" + "<td>1" * 40_000,
    "wide columns": "<table>" + "<tr><td colspan=3>1<td>2" * 6_000,
    "spans": "<table>" + "<tr><td rowspan=999999999 colspan=999999999>1<td>2" * 5_000,
    "nested tables": "<table><tr><td>x<td>y" * 3_000,
    "deep nesting": "<div>" * 100_000 + "x",
    "one word": "<p>" + "a" * 1_000_000,
    "short sentences": "<p>" + "A. " * 100_000,
    "Items": "<p>Item 1. Business" * 8_000,
    "links": "<a href='#i1'>Item 1</a><p id=i1>" * 10_000,
    "footers": "".join(f"<p>Acme report company {number}" for number in range(20_000)),
}


def passages_of(content: str) -> str:
    return "\n".join(passage.text for passage in cut_passages(read_document(content.encode(), name="a.htm").blocks))


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"x" * (2 * MAX_BYTES), r"larger than the limit of 25 MB \(50.0 MB\)"),
        (b"<p>" * (MAX_TAGS_AND_LINES + 1), f"more than the limit of {MAX_TAGS_AND_LINES} tags and lines"),
        (b"a\n" * (MAX_TAGS_AND_LINES + 1), f"more than the limit of {MAX_TAGS_AND_LINES} tags and lines"),
        (gzip.compress(annual_report()), "not an HTML or text document"),
    ],
    ids=["bytes", "tags", "lines", "gzip"],
)
def test_file_over_a_limit_is_refused_with_the_limit(content, names):
    with pytest.raises(DocumentError, match=names):
        read_document(content, name="a.htm")


def test_command_refuses_a_large_file_unread(tmp_path):
    path = tmp_path / "large.htm"
    with path.open("wb") as file:
        file.truncate(2 * MAX_BYTES)
    out = StringIO()

    with pytest.raises((SystemExit, CommandError)):
        call_command("load_filings", str(path), stdout=out, stderr=out)

    assert "larger than the limit of 25 MB (50.0 MB)" in out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("body", TABLES.values(), ids=TABLES)
def test_hostile_layout_is_parsed_in_time(body):
    assert "We make turbines." in passages_of(HEAD + body)


def test_entities_name_no_file_and_do_not_expand():
    declared = '<!ENTITY a0 "lollollol">' + "".join(
        f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 12)
    )
    for system in ("file:///etc/passwd", "http://127.0.0.1:9/x", "php://filter"):
        outside = f'<!ENTITY x SYSTEM "{system}"><!ENTITY % y SYSTEM "{system}"> %y;'
        found = passages_of(f'<?xml version="1.0"?><!DOCTYPE a [{declared}{outside}]>{HEAD}<p>See &x; and &a11;.</p>')

        assert "root:" not in found
        assert len(found) < 5_000
        assert "See &x; and &a11;." in found


@pytest.mark.django_db
def test_page_of_a_filing_with_scripts_shows_its_words_alone(client):
    hidden = (
        "<script>alert('zebra')</script><style>zebra{}</style><svg onload=alert(1)><text>zebra</text></svg>"
        "<template>zebra</template><p style='display:none'>zebra</p><!-- zebra --><iframe srcdoc='zebra'></iframe>"
    )
    shown = "<p onclick=alert(1)>Pressed <img src=x onerror=zebra> here &lt;script&gt;alert(1)&lt;/script&gt;.</p>"
    filing = ingest(f"{HEAD}{hidden}{shown}</body></html>".encode(), name="a.htm")
    client.force_login(make_user("carol"))

    page = client.get(filing.get_absolute_url()).content.decode()

    assert "zebra" not in page
    assert "Pressed here &lt;script&gt;alert(1)&lt;/script&gt;." in page
    assert "onclick" not in page
