"""Tables of filings: every row has the columns of its table, and what is no row stays text."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.filings.grid import MAX_COLUMNS, Cell, aligned, joined
from chat.filings.passages import cut_passages
from chat.filings.sections import Block, sections
from chat.filings.snippets import snippet
from reasoning.citations import stands_in


def cell(text: str, span: int = 1, tag: str = "td", **attributes: int) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<{tag} colspan="{span}"{more}>{text}</{tag}>'


def table(*rows: str, around: str = "{}") -> str:
    return f"<body>{around.format('<table>' + ''.join(f'<tr>{row}</tr>' for row in rows) + '</table>')}</body>"


def read(source: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in sections(source, "10-K")]


GAP = cell("", 3)
SPACERS = cell("") * 30
# Fifteen narrow columns for three figures: a sign, a number and a bracket each, and spacers between.
FINE = table(
    SPACERS,
    GAP + cell("2024", 3) + GAP + cell("Change", 3) + GAP + cell("2023", 3),
    cell("Research", 3) + cell("$") + cell("31,370") + cell("") + GAP + cell("5", 2) + cell("%") + GAP
    + cell("$") + cell("29,915") + cell(""),
    cell("Percentage of sales", 3) + cell("8", 2) + cell("%") + GAP + GAP + GAP + cell("8", 2) + cell("%"),
    cell("Other", 3) + cell("(12", 2) + cell(")") + GAP + cell("(1", 2) + cell(")%") + GAP + cell("—", 2) + cell(""),
)  # fmt: skip


def test_figures_on_a_fine_grid_stand_under_their_heads() -> None:
    assert read(FINE) == [
        ("table", " | 2024 | Change | 2023"),
        ("table", "Research | $31,370 | 5% | $29,915"),
        ("table", "Percentage of sales | 8% |  | 8%"),
        ("table", "Other | (12) | (1)% | —"),
    ]


def test_head_over_several_columns_stands_in_the_first() -> None:
    source = table(
        cell("") + cell("Second quarter", 2) + cell("Six months", 2),
        cell("") + cell("2018") + cell("2017") + cell("2018") + cell("2017"),
        cell("Sales") + cell("4") + cell("3") + cell("2") + cell("1"),
    )

    assert read(source)[0] == ("table", " | Second quarter |  | Six months")


def test_one_head_over_all_columns_is_a_row_of_the_table() -> None:
    source = table(
        cell("") + cell("Year ended", 2), cell("") + cell("2024") + cell("2023"), cell("Sales") + cell("4") + cell("3")
    )

    assert read(source)[0] == ("table", " | Year ended")


def test_head_beside_its_figures_stands_above_them() -> None:
    source = table(
        cell("") + cell("2024") + cell("") + cell("2023") + cell(""),
        cell("Sales") + cell("") + cell("4") + cell("") + cell("3"),
        cell("Costs") + cell("") + cell("2") + cell("") + cell("1"),
    )

    assert read(source) == [("table", " | 2024 | 2023"), ("table", "Sales | 4 | 3"), ("table", "Costs | 2 | 1")]


def test_label_that_is_set_in_is_a_label() -> None:
    source = table(
        cell("Assets of") + cell("") + cell("1"), cell("") + cell("customers") + cell("2"), cell("Total", 2) + cell("3")
    )

    assert [text for _kind, text in read(source)] == ["Assets of | 1", "customers | 2", "Total | 3"]


def test_signs_that_name_columns_are_no_part_of_figures() -> None:
    source = table(
        cell("") + cell("2024") + cell("$ Change") + cell("%"), cell("Sales") + cell("4") + cell("1") + cell("33")
    )

    assert read(source)[0] == ("table", " | 2024 | $ Change | %")


def test_cell_from_above_holds_its_column() -> None:
    source = table(cell("Fund", rowspan=2) + cell("2024") + cell("9"), cell("2023") + cell("8"))

    assert [text for _kind, text in read(source)] == ["Fund | 2024 | 9", " | 2023 | 8"]


def test_line_inside_a_table_is_a_row_and_others_are_text() -> None:
    source = table(
        cell("<b>Balance sheets</b>", 3),
        cell("Cash") + cell("4") + cell("3"),
        cell("Liabilities:", 3),
        cell("Debt") + cell("2") + cell("1"),
        cell("") + cell("") + cell("7"),
        cell("Amounts may not add up.", 3),
    )

    assert read(source) == [
        ("heading", "Balance sheets"),
        ("table", "Cash | 4 | 3"),
        ("table", "Liabilities:"),
        ("table", "Debt | 2 | 1"),
        ("table", " |  | 7"),
        ("text", "Amounts may not add up."),
    ]


def test_sum_without_a_label_stands_in_its_column() -> None:
    source = table(cell("Cash") + cell("4"), cell("") + cell("5"), cell("Debt") + cell("2"))

    assert [text for _kind, text in read(source)] == ["Cash | 4", " | 5", "Debt | 2"]


@pytest.mark.parametrize("mark", ["(1)", "*", "•", "a.", "†", "☒", "[X]"])
def test_note_with_its_mark_is_text(mark: str) -> None:
    source = table(cell("Cash") + cell("4"), cell(mark) + cell("Held in trust."))

    assert read(source)[-1] == ("text", f"{mark} Held in trust.")


def test_dash_and_figure_are_no_note() -> None:
    assert read(table(cell("") + cell("-") + cell("3,195"))) == [("table", "- | 3,195")]


def test_prose_laid_out_as_a_table_is_text() -> None:
    prose = "We tested how the estimate was made. " * 15

    assert read(table(cell("How we addressed it") + cell(prose))) == [
        ("text", "How we addressed it"),
        ("text", prose.strip()),
    ]


def test_item_heading_inside_a_table_stays_a_heading() -> None:
    body = "<p>" + "Ordinary text of the section. " * 9 + "</p>"
    source = table(
        cell("Item 1.") + cell("Business"), cell(body, 2), cell("<b>Item 2. Properties</b>", 2), cell(body, 2),
        cell("Item 3.") + cell("Legal Proceedings"), cell(body, 2),
    )  # fmt: skip

    assert [block.section for block in sections(source, "10-K")][-1] == "Item 3"
    assert "Item 2" in {block.section for block in sections(source, "10-K")}


def test_plain_text_figures_stand_under_their_heads() -> None:
    source = (
        "                              1996        1995        1994\n"
        "                            ------      ------      ------\n"
        "Sales                       $1,200      $1,100      $   90\n"
        "Percentage of growth             9%                     11%\n"
        "Operating costs:\n"
        "  Wages                        (12)          5         (3)\n"
    )

    assert read(source) == [
        ("table", " | 1996 | 1995 | 1994"),
        ("table", "Sales | $1,200 | $1,100 | $90"),
        ("table", "Percentage of growth | 9% |  | 11%"),
        ("table", "Operating costs:"),
        ("table", "Wages | (12) | 5 | (3)"),
    ]


def test_passage_parts_tables_and_keeps_headings_on_what_they_head() -> None:
    rows = [("Cash", "4"), ("Debt", "2")]
    tables = "".join(
        "<table>" + "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows) + "</table>" for _ in "ab"
    )
    (passage,) = cut_passages(sections(f"<body><p><b>Liquidity</b></p><p>We have cash.</p>{tables}</body>", "10-K"))

    assert passage.text == "Liquidity\nWe have cash.\n\nCash | 4\nDebt | 2\n\nCash | 4\nDebt | 2"


def test_passage_never_ends_with_the_heads_of_columns() -> None:
    def row(text: str) -> Block:
        return Block("Item 8", "", "", "table", text, table=1)

    rows = [row(f"Line {n} of the table | {n},000") for n in range(100)]
    found = cut_passages([Block("Item 8", "", "", "text", "a" * 1080), row(" | 2024"), row("Assets"), *rows])

    assert found[0].text == "a" * 1080
    assert found[1].text.startswith(" | 2024\nAssets\nLine 0")


def test_last_rows_of_a_table_stay_with_it() -> None:
    rows = [Block("Item 8", "", "", "table", f"Line {n} of the table | {n},000", table=1) for n in range(45)]

    assert len(cut_passages(rows)) == 1


def test_row_is_quoted_verbatim_with_and_without_its_separators() -> None:
    passage = "\n".join(text for _kind, text in read(FINE))

    assert stands_in("Percentage of sales | 8% |  | 8%", passage)
    assert stands_in("Percentage of sales 8% 8%", passage)
    assert not stands_in("Percentage of sales 8% 5%", passage)


def test_snippet_shows_no_empty_fields() -> None:
    assert snippet(" | 2024 |  | 2023\nSales | 8% |  | 8%", []) == "2024 | 2023 · Sales | 8% | 8%"


def test_odd_spans_and_wide_tables_stay_quick_and_small() -> None:
    started = time.monotonic()
    odd = table(cell("a", 10**9) + '<td colspan="-3" rowspan="x">b</td>', cell("c", rowspan=10**6) * 50 + cell("d"))
    wide = table(*["".join(cell(str(n)) for n in range(300))] * 100)
    held = table(*[cell("x", rowspan=9999) + cell("y")] * 5000)

    assert next(text for _kind, text in read(odd)).startswith("a | b")
    assert len(read(wide)[0][1].split(" | ")) == 300
    assert len(read(held)) == 5000
    assert time.monotonic() - started < 10


words = st.sampled_from(["", "Sales", "4", "$", "(5", ")", "%", "2024"])
rows = st.lists(st.lists(st.tuples(words, st.integers(1, 4)), min_size=1, max_size=8), min_size=1, max_size=8)


def cells_of(row: list[tuple[str, int]]) -> list[Cell]:
    at, cells = 0, []
    for text, span in row:
        cells.append(Cell(text, at, at + span))
        at += span
    return joined(cells)


@given(rows)
@settings(max_examples=150, deadline=None)
def test_alignment_loses_nothing_and_keeps_the_order_of_cells(given_rows: list[list[tuple[str, int]]]) -> None:
    before = [cells_of(row) for row in given_rows]
    after = aligned(before)

    assert [" ".join(filter(None, row)) for row in after] == [" ".join(cell.text for cell in row) for row in before]
    assert max((len(row) for row in after), default=0) <= MAX_COLUMNS


@given(rows)
@settings(max_examples=100, deadline=None)
def test_cells_that_stand_above_one_another_are_in_one_column(given_rows: list[list[tuple[str, int]]]) -> None:
    same = [[Cell(f"w{place}", place * 3, place * 3 + 2) for place, _cell in enumerate(row)] for row in given_rows]

    for above, below in pairwise(aligned(same)):
        assert all(one == other for one, other in zip(above, below, strict=False))
