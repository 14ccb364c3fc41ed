"""How documents fall into sections: the ways in which real ones are laid out, in miniature."""

from __future__ import annotations

import time

import pytest

from chat.filings.sections import Block, sections
from chat.filings.submission import MAX_BYTES, DocumentError

BODY = "<p>" + "Ordinary text of the section that goes on for a while. " * 6 + "</p>"


def in_order(blocks: list[Block]) -> list[str]:
    return list(dict.fromkeys(block.section for block in blocks))


def text_of(blocks: list[Block], section: str) -> str:
    return "\n".join(block.text for block in blocks if block.section == section)


def headed(*headings: str, body: str = BODY) -> str:
    return (
        "<html><body><p>Cover page</p>" + "".join(f"<p><b>{one}</b></p>{body}" for one in headings) + "</body></html>"
    )


def test_headings_alone_give_sections() -> None:
    blocks = sections(headed("Item 1. Business", "Item 1A. Risk Factors", "Item 7. Management’s Discussion"), "10-K")

    assert in_order(blocks) == ["Cover", "Item 1", "Item 1A", "Item 7"]


def test_title_and_heading_stand_beside_each_block() -> None:
    source = headed(
        "Item 1. Business", "Item 2. Properties", "Item 3. Legal Proceedings", body="<p><b>Our sites</b></p>" + BODY
    )
    block = next(one for one in sections(source, "10-K") if one.section == "Item 2" and one.kind == "text")

    assert (block.section_title, block.heading) == ("Properties", "Our sites")


def test_contents_links_win_over_mentions_of_items() -> None:
    source = (
        "<body><p>Cover</p><table>"
        + "".join(f'<tr><td><a href="#{i}">Item {n}.</a></td><td>{t}</td><td>{i + 3}</td></tr>' for i, n, t in ROWS)
        + "</table>"
        + "".join(
            f'<div id="{i}"></div><p>{t}</p>{BODY}<p>Item 7. is where more of this is told</p>' for i, _, t in ROWS
        )
        + "</body>"
    )

    assert in_order(sections(source, "10-K")) == ["Cover", "Item 1", "Item 1A", "Item 2", "Item 3"]


ROWS = [(1, "1", "Business"), (2, "1A", "Risk Factors"), (3, "2", "Properties"), (4, "3", "Legal Proceedings")]


def test_unlinked_contents_are_no_sections() -> None:
    titles = ["Item 1. Business", "Item 1A. Risk Factors", "Item 2. Properties", "Item 3. Legal Proceedings"]
    contents = "".join(f"<p>{title} .... {page}</p>" for page, title in enumerate(titles, start=3))
    blocks = sections(contents + headed(*titles), "10-K")

    assert in_order(blocks) == ["Cover", "Item 1", "Item 1A", "Item 2", "Item 3"]
    assert "Ordinary text" in text_of(blocks, "Item 1")


def test_heading_laid_out_as_table_is_a_heading() -> None:
    rows = "".join(f"<table><tr><td>Item {n}.</td><td>{t}</td></tr></table>{BODY}" for _, n, t in ROWS)

    assert in_order(sections(f"<body>{rows}</body>", "10-K")) == ["Item 1", "Item 1A", "Item 2", "Item 3"]


def test_heading_without_space_is_a_heading() -> None:
    source = headed("Item 1.Business", "Item 2.Properties", "Item 3.Legal Proceedings")

    assert in_order(sections(source, "10-K"))[1:] == ["Item 1", "Item 2", "Item 3"]


def test_number_split_by_markup_is_read_whole() -> None:
    source = "<body><p>FORM 8-K</p><p><b>Item 2</b> <b>.0</b> <b>2</b> Results of Operations</p>" + BODY + "</body>"

    assert in_order(sections(source, "8-K")) == ["Cover", "Item 2.02"]


def test_long_title_of_current_report_is_a_heading() -> None:
    title = (
        "Item 5.02 Departure of Directors or Certain Officers; Election of Directors; Appointment of Certain Officers;"
        " Compensatory Arrangements of Certain Officers and of Some Others Who Are Named Below."
    )

    assert in_order(sections(headed(title), "8-K")) == ["Cover", "Item 5.02"]


def test_quarterly_items_repeat_under_their_parts() -> None:
    source = headed(
        "PART I. FINANCIAL INFORMATION",
        "Item 1. Financial Statements",
        "Item 2. Management’s Discussion and Analysis",
        "PART II. OTHER INFORMATION",
        "Item 1. Legal Proceedings",
        "Item 1A. Risk Factors",
        "Item 2. Unregistered Sales of Equity Securities",
    )
    found = in_order(sections(source, "10-Q"))

    assert found[1:] == [
        "Part I, Item 1",
        "Part I, Item 2",
        "Part II, Item 1",
        "Part II, Item 1A",
        "Part II, Item 2",
    ]


def test_missing_part_headings_are_told_from_titles() -> None:
    source = headed(
        "Item 1. Financial Statements",
        "Item 2. Management’s Discussion and Analysis",
        "Item 4. Controls and Procedures",
        "Item 1. Legal Proceedings",
        "Item 6. Exhibits",
    )

    assert in_order(sections(source, "10-Q"))[-2:] == ["Part II, Item 1", "Part II, Item 6"]
    assert "Part I, Item 4" in in_order(sections(source, "10-Q"))


def test_cross_reference_index_by_link_places_items() -> None:
    order = ["7", "1A", "3", "8", "1"]
    titles = {
        "7": "Management’s discussion",
        "1A": "Risk factors",
        "3": "Legal",
        "8": "Financial statements",
        "1": "Us",
    }
    body = "".join(f'<div id="x{n}"></div><p><b>{titles[n]} at length</b></p>{BODY}' for n in order)
    index = "".join(
        f'<tr><td>Item {n}</td><td>{titles[n]}</td><td><a href="#x{n}">Page 9</a></td></tr>' for n in sorted(order)
    )
    found = in_order(sections(f"<body><p>Annual report</p>{body}<table>{index}</table></body>", "10-K"))

    assert found == ["Cover", "Item 7", "Item 1A", "Item 3", "Item 8", "Item 1"]


def test_cross_reference_index_by_page_number_places_items() -> None:
    order = ["7", "1A", "3", "8"]
    body = "".join(f"<p><b>Chapter on {n}</b></p>{BODY * 8}<p>{page}</p>" for page, n in enumerate(order, start=2))
    index = "".join(
        f"<tr><td>Item {n}.</td><td>A title</td><td>{order.index(n) + 2}</td></tr>" for n in ("1A", "3", "7", "8")
    )
    blocks = sections(f"<body><p>Report</p><p>1</p>{body}<table>{index}</table></body>", "10-K")

    assert in_order(blocks) == ["Cover", "Item 7", "Item 1A", "Item 3", "Item 8"]
    assert "Chapter on 3" in text_of(blocks, "Item 3")


def test_no_item_gives_one_section() -> None:
    assert in_order(sections("<p>A letter.</p>" + BODY, "10-K")) == ["Document"]


def test_signatures_end_the_last_item() -> None:
    found = in_order(sections(headed("Item 1. Business", "Item 2. Properties", "Item 3. Legal", "SIGNATURES"), "10-K"))

    assert found[-1] == "Signatures"


def test_statements_behind_signatures_belong_to_item_8() -> None:
    source = headed("Item 1. Business", "Item 8. Financial Statements", "Item 15. Exhibits", "SIGNATURES")
    tail = "<p><b>Index to Consolidated Financial Statements</b></p>" + BODY * 20
    blocks = sections(source.replace("</body>", tail + "</body>"), "10-K")

    assert blocks[-1].section == "Item 8"
    assert in_order(blocks).index("Signatures") > in_order(blocks).index("Item 15")


def test_exhibit_is_one_section() -> None:
    assert in_order(sections("<body><p>Exhibit 99.1</p>" + BODY + "</body>", "8-K EX-99.1")) == ["Exhibit 99.1"]


def test_ids_of_facts_never_split_a_sentence() -> None:
    source = (
        '<body><p>Sales were <ix:nonFraction id="f-1">12</ix:nonFraction> and <span id="f-2">more</span>.</p></body>'
    )

    assert [block.text for block in sections(source, "10-K")] == ["Sales were 12 and more."]


def test_hidden_content_is_dropped() -> None:
    source = (
        '<body><div style="display: none"><ix:header><ix:hidden>0000123</ix:hidden></ix:header></div>'
        "<script>let a;</script><ix:header>context</ix:header><p>Seen</p></body>"
    )

    assert [block.text for block in sections(source, "10-K")] == ["Seen"]


def test_table_row_keeps_its_cells() -> None:
    row = "<tr><td>Net income</td><td>$</td><td>44.2</td><td>(3</td><td>)%</td></tr>"
    blocks = sections(f"<body><table>{row}</table></body>", "10-K")

    assert [(block.kind, block.text) for block in blocks] == [("table", "Net income | $44.2 | (3)%")]


def test_page_numbers_and_running_footers_are_dropped() -> None:
    pages = "".join(
        f"<p>Text of page.</p><p>Acme Corporation 2023 Annual Report {n}</p><p>{n}</p>" for n in range(1, 9)
    )

    assert {block.text for block in sections(f"<body>{pages}</body>", "10-K")} == {"Text of page."}


def test_plain_text_gives_sections_and_rows() -> None:
    paragraph = "The company makes things and sells them to people. " * 5
    source = (
        f"ACME CORP\n\nItem 1.   Business\n\n{paragraph}\n\nItem 2.   Properties\n\n{paragraph}\n\n"
        f"Item 3.   Legal Proceedings\n\nNone.\n\nSales          1,200      1,100\n<PAGE>\n"
    )
    blocks = sections(source, "10-K")

    assert in_order(blocks) == ["Cover", "Item 1", "Item 2", "Item 3"]
    assert blocks[-1].text == "Sales | 1,200 | 1,100"


def test_full_submission_reads_main_document_and_press_release() -> None:
    source = (
        "<SEC-HEADER>\nFILED AS OF DATE: 20240105\n</SEC-HEADER>\n"
        f"<DOCUMENT>\n<TYPE>8-K\n<TEXT>\n{headed('Item 2.02 Results')}\n</TEXT>\n</DOCUMENT>\n"
        f"<DOCUMENT>\n<TYPE>EX-99.1\n<TEXT>\n<html><p>Record results</p></html>\n</TEXT>\n</DOCUMENT>\n"
        "<DOCUMENT>\n<TYPE>GRAPHIC\n<TEXT>\nbegin 644 logo.jpg\n</TEXT>\n</DOCUMENT>\n"
    )
    blocks = sections(source, "8-K")

    assert in_order(blocks) == ["Cover", "Item 2.02", "Exhibit 99.1"]
    assert "begin 644" not in " ".join(block.text for block in blocks)


def test_size_is_bounded_and_the_limit_named() -> None:
    with pytest.raises(DocumentError, match="25 MB"):
        sections(b"x" * (MAX_BYTES + 1), "10-K")


@pytest.mark.parametrize("content", [b"%PDF-1.7 ...", b"PK\x03\x04rest", b"", b"  \n ", b"a\x00b\x00c\x00d\x00"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(DocumentError):
        sections(content, "10-K")


def test_entities_are_never_loaded() -> None:
    source = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><p>a &e; b</p></html>'

    assert "root:" not in text_of(sections(source, "10-K"), "Document")


def test_deep_nesting_and_many_headings_stay_quick() -> None:
    started = time.monotonic()
    sections("<div>" * 20_000 + "<p>deep</p>", "10-K")
    sections("<body>" + "<p>Item 7. Management’s Discussion</p>" * 20_000 + "</body>", "10-Q")

    assert time.monotonic() - started < 10


def test_old_code_page_is_mended() -> None:
    assert sections(b"<p>It\x92s \x93quoted\x94 &#151; so</p>", "10-K")[0].text == "It’s “quoted” — so"
