"""How documents are divided into sections: the layouts of real ones, in miniature."""

import pytest

from chat.filings.ingest import read_document
from chat.filings.outline import SectionBlock
from chat.filings.submission import MAX_BYTES, DocumentError
from tests.chat.filing_samples import BODY, headed, sections

ROWS = [(1, "1", "Business"), (2, "1A", "Risk Factors"), (3, "2", "Properties"), (4, "3", "Legal Proceedings")]
TITLES = [f"Item {number}. {title}" for _id, number, title in ROWS]
LINKED = (
    "<body><p>Cover</p><table>"
    + "".join(f'<tr><td><a href="#{i}">Item {n}.</a></td><td>{t}</td><td>{i + 3}</td></tr>' for i, n, t in ROWS)
    + "</table>"
    + "".join(f'<div id="{i}"></div><p>{t}</p>{BODY}<p>Item 7. is where more is explained</p>' for i, _, t in ROWS)
    + "</body>"
)
INDEX_TITLES = {"7": "Management’s discussion", "1A": "Risk factors", "3": "Legal", "8": "Statements", "1": "Us"}
INDEX_BY_LINK = (
    "<body><p>Annual report</p>"
    + "".join(f'<div id="x{n}"></div><p><b>{title} at length</b></p>{BODY}' for n, title in INDEX_TITLES.items())
    + "<table>"
    + "".join(
        f'<tr><td>Item {n}</td><td>{INDEX_TITLES[n]}</td><td><a href="#x{n}">Page 9</a></td></tr>'
        for n in sorted(INDEX_TITLES)
    )
    + "</table></body>"
)
STATEMENTS = headed(
    "Item 1. Business",
    "Item 8. Financial Statements",
    "Item 15. Exhibits",
    "SIGNATURES",
    tail=f"<p><b>Report of Independent Accountants</b></p>{BODY * 20}",
)
PROSE = "The company makes things and sells them to people. " * 5
PLAIN = (
    f"ACME CORP\n\nItem 1.   Business\n\n{PROSE}\n\nItem 2.   Properties\n\n{PROSE}\n\n"
    "Item 3.   Legal Proceedings\n\nNone.\n\nSales          1,200      1,100\n<PAGE>\n"
)
QUARTERLY = [
    "Item 1. Financial Statements",
    "Item 2. Management’s Discussion and Analysis",
    "Item 4. Controls and Procedures",
    "Item 1. Legal Proceedings",
    "Item 1A. Risk Factors",
    "Item 2. Unregistered Sales of Equity Securities",
    "Item 6. Exhibits",
]
QUARTERLY_SECTIONS = (
    "Cover; Part I, Item 1; Part I, Item 2; Part I, Item 4; Part II, Item 1; Part II, Item 1A; Part II, Item 2;"
    " Part II, Item 6"
)


def in_order(blocks: list[SectionBlock]) -> list[str]:
    return list(dict.fromkeys(block.section for block in blocks))


@pytest.mark.parametrize(
    ("source", "form", "expected"),
    [
        pytest.param(headed(*TITLES), "10-K", "Cover; Item 1; Item 1A; Item 2; Item 3", id="headings"),
        pytest.param(LINKED, "10-K", "Cover; Item 1; Item 1A; Item 2; Item 3", id="contents links"),
        pytest.param(
            "".join(f"<p>{title} .... {page}</p>" for page, title in enumerate(TITLES, start=3)) + headed(*TITLES),
            "10-K",
            "Cover; Item 1; Item 1A; Item 2; Item 3",
            id="contents without links",
        ),
        pytest.param(
            headed("Item 1.Business", "Item 2.Properties", "Item 3.Legal Proceedings", "SIGNATURES"),
            "10-K",
            "Cover; Item 1; Item 2; Item 3; Signatures",
            id="no space, signatures",
        ),
        pytest.param(
            f"<p>FORM 8-K</p><p><b>Item 2</b> <b>.0</b> <b>2</b> Results of Operations</p>{BODY}",
            "8-K",
            "Cover; Item 2.02",
            id="number split by markup",
        ),
        pytest.param(
            headed("PART I. FINANCIAL INFORMATION", *QUARTERLY[:3], "PART II. OTHER INFORMATION", *QUARTERLY[3:]),
            "10-Q",
            QUARTERLY_SECTIONS,
            id="parts",
        ),
        pytest.param(headed(*QUARTERLY), "10-Q", QUARTERLY_SECTIONS, id="parts without headings"),
        pytest.param(
            INDEX_BY_LINK, "10-K", "Cover; Item 7; Item 1A; Item 3; Item 8; Item 1", id="cross-reference by link"
        ),
        pytest.param(
            STATEMENTS, "10-K", "Cover; Item 1; Item 8; Item 15; Signatures", id="statements behind the signatures"
        ),
        pytest.param(
            STATEMENTS.replace("<b>", "").replace("</b>", ""),
            "10-K",
            "Cover; Item 1; Item 8; Item 15; Signatures",
            id="statements without bold",
        ),
        pytest.param(
            headed("Item No. 1. Business", "It&shy;em #2. Properties", "ITEM 3 – LEGAL PROCEEDINGS"),
            "10-K",
            "Cover; Item 1; Item 2; Item 3",
            id="odd spellings",
        ),
        pytest.param(
            headed("Item 2.02: Results", "Item 9.01 (d) Exhibits", body=f"{BODY}<p>Item 2.02 (d) of it</p>"),
            "8-K",
            "Cover; Item 2.02; Item 9.01",
            id="paragraph of an Item",
        ),
        pytest.param(f"<p>Exhibit 99.1</p>{BODY}", "8-K EX-99.1", "Exhibit 99.1", id="exhibit"),
        pytest.param(PLAIN, "10-K", "Cover; Item 1; Item 2; Item 3", id="plain text"),
    ],
)
def test_sections_of_a_document(source, form, expected):
    assert in_order(sections(source, form)) == expected.split("; ")


def test_block_has_the_title_and_the_heading_above_it():
    source = headed(*TITLES, body="<p><b>Our sites</b></p>" + BODY)
    block = next(one for one in sections(source) if one.section == "Item 2" and one.kind == "text")

    assert (block.section_title, block.heading) == ("Properties", "Our sites")


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (
            '<p>Sales were <ix:nonFraction id="f-1">12</ix:nonFraction> and <span id="f-2">more</span>.</p>',
            ["Sales were 12 and more."],
        ),
        (
            '<div style="display: none"><ix:header><ix:hidden>0000123</ix:hidden></ix:header></div>'
            "<script>let a;</script><ix:header>context</ix:header><p>Seen</p>",
            ["Seen"],
        ),
        (
            "".join(f"<p>Page {n}.</p><p>Acme Corporation 2023 Annual Report {n}</p><p>{n}</p>" for n in range(1, 9)),
            [f"Page {n}." for n in range(1, 9)],
        ),
        ("<p>It\x92s \x93quoted\x94 &#151; so</p>", ["It’s “quoted” — so"]),
        ("<p>First<br><br>Second<br>line<br>Item 7. Results</p>", ["First", "Second line", "Item 7. Results"]),
        ("<pre>Total          1,200      1,100\n\nA line.</pre>", ["Total | 1,200 | 1,100", "A line."]),
    ],
)
def test_text_of_a_document(source, texts):
    assert [block.text for block in sections(source)] == texts


def test_full_submission_reads_main_document_and_press_release():
    source = (
        "<SEC-HEADER>\nFILED AS OF DATE: 20240105\n</SEC-HEADER>\n"
        f"<DOCUMENT>\n<TYPE>8-K\n<TEXT>\n{headed('Item 2.02 Results')}\n</TEXT>\n</DOCUMENT>\n"
        "<DOCUMENT>\n<TYPE>EX-99.1\n<TEXT>\n<html><p>Record results</p></html>\n</TEXT>\n</DOCUMENT>\n"
        "<DOCUMENT>\n<TYPE>GRAPHIC\n<TEXT>\nbegin 644 logo.jpg\n</TEXT>\n</DOCUMENT>\n"
    )
    blocks = list(read_document(source.encode(), name="a.txt").blocks)

    assert in_order(blocks) == ["Cover", "Item 2.02", "Exhibit 99.1"]
    assert "begin 644" not in " ".join(block.text for block in blocks)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x" * (MAX_BYTES + 1), "25 MB"),
        (b"%PDF-1.7 ...", "not an HTML or text document"),
        (b"PK\x03\x04rest", "not an HTML or text document"),
        (b"a\x00b\x00c\x00d\x00", "not an HTML or text document"),
        (b"  \n ", "empty"),
        (b"<html><body><p> - </p></body></html>", "no text"),
        (b"Shopping list\n\nBread, milk and a new pen for the office.\n", "not a filing"),
    ],
)
def test_unreadable_document_is_refused_with_the_reason(content, reason):
    with pytest.raises(DocumentError, match=reason):
        read_document(content, name="note.txt")
