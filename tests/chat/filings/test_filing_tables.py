"""Tables of filings: every row has the columns of its table, and what is no row stays text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.filings.tables import MAX_COLUMNS, Cell, align, join_figures
from tests.chat.filing_samples import sections


def cell(text: str, span: int = 1, **attributes: int) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<td colspan="{span}"{more}>{text}</td>'


def table(*rows: str) -> str:
    return "<body><table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table></body>"


def row(*texts: str) -> str:
    return "".join(map(cell, texts))


def read(source: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in sections(source)]


GAP = cell("", 3)
# Fifteen narrow columns for three figures: a sign, a number and a bracket each, and spacers between.
FINE = table(
    cell("") * 30,
    GAP + cell("2024", 3) + GAP + cell("Change", 3) + GAP + cell("2023", 3),
    cell("Research", 3) + row("$", "31,370", "") + GAP + cell("5", 2) + cell("%") + GAP + row("$", "29,915", ""),
    cell("Percentage of sales", 3) + cell("8", 2) + cell("%") + GAP * 3 + cell("8", 2) + cell("%"),
    cell("Other", 3) + cell("(12", 2) + cell(")") + GAP + cell("(1", 2) + cell(")%") + GAP + cell("—", 2) + cell(""),
)
PLAIN = (
    "                              1996        1995        1994\n"
    "                            ------      ------      ------\n"
    "Sales                       $1,200      $1,100      $   90\n"
    "Percentage of growth             9%                     11%\n"
    "Operating costs:\n"
    "  Wages                        (12)          5         (3)\n"
)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        pytest.param(
            FINE,
            [
                " | 2024 | Change | 2023",
                "Research | $31,370 | 5% | $29,915",
                "Percentage of sales | 8% |  | 8%",
                "Other | (12) | (1)% | —",
            ],
            id="fine grid",
        ),
        pytest.param(
            table(
                cell("") + cell("Second quarter", 2) + cell("Six months", 2),
                row("", "2018", "2017", "2018", "2017"),
                row("Sales", "4", "3", "2", "1"),
            ),
            [" | Second quarter |  | Six months", " | 2018 | 2017 | 2018 | 2017", "Sales | 4 | 3 | 2 | 1"],
            id="head over several columns",
        ),
        pytest.param(
            table(cell("") + cell("Year ended", 2), row("", "2024", "2023"), row("Sales", "4", "3")),
            [" | Year ended", " | 2024 | 2023", "Sales | 4 | 3"],
            id="one head over all columns",
        ),
        pytest.param(
            table(row("", "2024", "$ Change", "%"), row("Sales", "4", "1", "33")),
            [" | 2024 | $ Change | %", "Sales | 4 | 1 | 33"],
            id="signs that name columns",
        ),
        pytest.param(
            table(cell("Fund", rowspan=2) + row("2024", "9"), row("2023", "8")),
            ["Fund | 2024 | 9", " | 2023 | 8"],
            id="cell that spans rows",
        ),
        pytest.param(
            PLAIN,
            [
                " | 1996 | 1995 | 1994",
                "Sales | $1,200 | $1,100 | $90",
                "Percentage of growth | 9% |  | 11%",
                "Operating costs:",
                "Wages | (12) | 5 | (3)",
            ],
            id="plain text",
        ),
    ],
)
def test_rows_of_a_table(source, rows):
    assert read(source) == [("table", text) for text in rows]


def test_line_inside_a_table_is_a_row_and_others_are_text():
    source = table(
        cell("<b>Balance sheets</b>", 3),
        row("Cash", "4", "3"),
        cell("Liabilities:", 3),
        row("Debt", "2", "1"),
        row("", "", "7"),
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


@pytest.mark.parametrize("mark", ["(1)", "*", "•", "a.", "†", "☒", "[X]"])
def test_note_with_its_mark_is_text(mark):
    assert read(table(row("Cash", "4"), row(mark, "Held in trust.")))[-1] == ("text", f"{mark} Held in trust.")


def test_prose_laid_out_as_a_table_is_text():
    prose = "We tested how the estimate was made. " * 15

    assert read(table(row("How we addressed it", prose))) == [("text", "How we addressed it"), ("text", prose.strip())]


def test_odd_spans_and_wide_tables_are_bounded():
    odd = table(cell("a", 10**9) + '<td colspan="-3" rowspan="x">b</td>', cell("c", rowspan=10**6) * 50 + cell("d"))
    wide = table(*[row(*map(str, range(300)))] * 100)
    spanned = table(*[cell("x", rowspan=9999) + cell("y")] * 5000)

    assert next(text for _kind, text in read(odd)).startswith("a | b")
    assert len(read(wide)[0][1].split(" | ")) == 300
    assert len(read(spanned)) == 5000


words = st.sampled_from(["", "Sales", "4", "$", "(5", ")", "%", "2024"])
tables = st.lists(st.lists(st.tuples(words, st.integers(1, 4)), min_size=1, max_size=8), min_size=1, max_size=8)


def cells_of(fields: list[tuple[str, int]]) -> list[Cell]:
    at, cells = 0, []
    for text, span in fields:
        cells.append(Cell(text, at, at + span))
        at += span
    return join_figures(cells)


@given(tables)
def test_alignment_loses_nothing_and_preserves_the_order_of_cells(rows):
    before = [cells_of(fields) for fields in rows]
    after = align(before)

    assert [" ".join(filter(None, fields)) for fields in after] == [
        " ".join(cell.text for cell in cells) for cells in before
    ]
    assert max((len(fields) for fields in after), default=0) <= MAX_COLUMNS
